"""What keeps a robot safe, whatever its controllers do."""

from cnoid_control.lazy import lazy_names

_MODULES = {
    'CommandLimiter': 'limits',
    'Commands': 'commands',
    'Fallback': 'fallback',
    'HangMonitor': 'hang_monitor',
    'Hold': 'hold',
    'LimitsParameters': 'limits',
    'SafeCommand': 'safe_command',
    'SafeState': 'safe_state',
    'SafeStateParameters': 'safe_state',
    'Trip': 'watchdog',
    'Watchdog': 'watchdog',
    'WatchdogParameters': 'watchdog',
}
__all__ = [
    'CommandLimiter',
    'Commands',
    'Fallback',
    'HangMonitor',
    'Hold',
    'LimitsParameters',
    'SafeCommand',
    'SafeState',
    'SafeStateParameters',
    'Trip',
    'Watchdog',
    'WatchdogParameters',
]

__getattr__ = lazy_names(__name__, _MODULES)
