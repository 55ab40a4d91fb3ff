"""The loop: its host of controllers, its watchdog and limits, recording and replay."""

from cnoid_control.lazy import lazy_names

_MODULES = {
    'ControlLoop': 'loop',
    'ControllerHost': 'controller_host',
    'HotSwap': 'hot_swap',
    'LoopThread': 'loop_thread',
    'ManagedController': 'managed_controller',
    'Recorder': 'recorder',
    'RunConfig': 'config',
    'RunMonitor': 'summary',
    'RunOutcome': 'loop',
    'load_config': 'config',
    'load_run': 'defaults',
    'make_controllers': 'build',
    'make_loop': 'build',
    'make_robot': 'defaults',
    'wire_loop': 'build',
}
__all__ = [
    'ControlLoop',
    'ControllerHost',
    'HotSwap',
    'LoopThread',
    'ManagedController',
    'Recorder',
    'RunConfig',
    'RunMonitor',
    'RunOutcome',
    'load_config',
    'load_run',
    'make_controllers',
    'make_loop',
    'make_robot',
    'wire_loop',
]

__getattr__ = lazy_names(__name__, _MODULES)
