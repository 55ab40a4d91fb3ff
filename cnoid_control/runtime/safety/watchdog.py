"""Watchdog: time-outs on joint states, devices and control(), on the monotonic clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from cnoid_control.hardware.hardware import Hardware
from cnoid_control.parameters import not_allowed, parameter

ACTIONS = ('ignore', 'warn', 'safe', 'estop')
# Longest time that makes sense [s]; what is not to be watched has an action that says so.
MAX_TIME = 3600.0
# Time limit of control() where none is given, where the robot moves on and where its time stands
# still meanwhile, and the shortest that makes sense [s].
CONTROL_TIME = 0.02
PATIENT_CONTROL_TIME = 10.0
SHORTEST_CONTROL_TIME = 0.001
# Where no time-out is given it is the longer one of a time [s] and of so many periods.
LATE_PERIODS = 3.5
STATE_TIME, DEVICE_TIME, JUMP_TIME = 0.05, 0.2, 0.5
# What is watched, from which age on it is too old [s], and what follows.
WatchedAge = tuple[str, float, str]


def default_timeout(least: float, period: float) -> float:
    """Time-out where none is given [s]: at least so long, and longer where the period [s] is."""
    return max(least, LATE_PERIODS * period)


@dataclass
class WatchdogParameters:
    """The `watchdog` section of a configuration: what is watched, how closely, and then what.

    Actions: `ignore` does not watch, `warn` reports, `safe` enters the safe state, `estop` stops
    as the emergency stop does.
    """

    grace: float = parameter(
        1.0,
        'time after the start in which nothing is too old',
        unit='s',
        minimum=0.0,
        maximum=MAX_TIME,
    )
    state_timeout: float = parameter(
        0.0,
        'age of the joint states; 0 for 0.05 s, or 3.5 periods where that is longer',
        unit='s',
        minimum=0.0,
        maximum=MAX_TIME,
    )
    state_action: str = parameter('safe', 'when joint states are too old', choices=ACTIONS)
    device_timeout: float = parameter(
        0.0,
        'age of a device in use; 0 for 0.2 s, or 3.5 periods where that is longer',
        unit='s',
        minimum=0.0,
        maximum=MAX_TIME,
    )
    device_timeouts: dict[str, float] = parameter(
        {}, 'ages of devices by name, instead', minimum=0.0, maximum=MAX_TIME
    )
    device_action: str = parameter('safe', 'when a device is too old', choices=ACTIONS)
    late_ticks: int = parameter(20, 'ticks in a row that took longer than a period', minimum=1)
    late_action: str = parameter('warn', 'when ticks are late', choices=ACTIONS)
    control_timeout: float = parameter(
        0.0,
        'time limit of control(); 0 for 0.02 s, or the period where that is longer, where the '
        'robot goes on meanwhile, and 10 s where its time stands still: simulated without '
        '--real-time, or in lock-step',
        unit='s',
        minimum=0.0,
        maximum=MAX_TIME,
    )
    control_action: str = parameter('safe', 'when control() hangs', choices=ACTIONS)
    time_jump: float = parameter(
        0.0,
        'change of time between two states, any step back counts; 0 for 0.5 s, or 3.5 periods '
        'where that is longer',
        unit='s',
        minimum=0.0,
        maximum=MAX_TIME,
    )
    time_jump_action: str = parameter('safe', 'when time jumps', choices=ACTIONS)
    rate_action: str = parameter(
        'safe', 'when joint states do not come at the agreed rate', choices=ACTIONS
    )
    subscriber_timeout: float = parameter(
        0.5,
        'time without anybody who receives the commands',
        unit='s',
        minimum=0.0,
        maximum=MAX_TIME,
    )
    subscriber_action: str = parameter('safe', 'when nobody receives commands', choices=ACTIONS)
    clock_timeout: float = parameter(
        0.0,
        'time without a message on /clock, which a simulator publishes also while it is paused; '
        '0 does not watch it',
        unit='s',
        minimum=0.0,
        maximum=MAX_TIME,
    )
    clock_action: str = parameter('safe', 'when the simulator has no clock', choices=ACTIONS)
    deactivated_action: str = parameter(
        'safe', 'when someone deactivates the command controller', choices=ACTIONS
    )

    def __post_init__(self) -> None:
        """Refuse a time limit that no controller can keep.

        Raises:
            ParameterError: it is shorter than a millisecond.
        """
        if 0.0 < self.control_timeout < SHORTEST_CONTROL_TIME:
            raise not_allowed(
                'watchdog.control_timeout',
                self.control_timeout,
                f'it must be 0, or at least {SHORTEST_CONTROL_TIME:g}',
            )

    def control_limit(self, stands_still: bool, period: float) -> float:
        """Time that control() may take [s].

        Args:
            stands_still: whether the robot's time stands still meanwhile.
            period: period of the ticks [s].
        """
        if self.control_timeout:
            return self.control_timeout
        return PATIENT_CONTROL_TIME if stands_still else max(CONTROL_TIME, period)

    def state_limit(self, period: float) -> float:
        """Age from which on joint states are too old [s], where ticks have a period [s]."""
        return self.state_timeout or default_timeout(STATE_TIME, period)

    def device_limit(self, device: str, period: float) -> float:
        """Age from which on a device is too old [s], where ticks have a period [s]."""
        given = self.device_timeouts.get(device, self.device_timeout)
        return given or default_timeout(DEVICE_TIME, period)

    def jump_limit(self, period: float) -> float:
        """Step between the stamps of two states that is a jump [s]."""
        return self.time_jump or default_timeout(JUMP_TIME, period)


# Watches that are requests of somebody: to stop, and to stop at once.
REQUESTS = STOP, ESTOP = 'stop', 'estop'


@dataclass(frozen=True)
class Trip:
    """A watch that found something wrong.

    Attributes:
        watch: name of the watch: `state_timeout`, `device_timeout:GYRO`, `control_timeout`, ...
        action: what follows: `warn`, `safe` or `estop`.
        message: one sentence with the value and the threshold.
        time: when, on the steady clock [s].
    """

    watch: str
    action: str
    message: str
    time: float


class Watchdog:
    """Watches ages, ticks and time; what it finds is reported once until it is well again.

    `feed` and `trip` may be called from any thread; `check` belongs to the loop.

    Attributes:
        parameters: the configuration.
        period: period of the ticks [s]; 0 where it is not known.
        trips: everything found so far, the latest last, at most `kept`.
    """

    kept = 100

    def __init__(
        self,
        parameters: WatchdogParameters,
        report: Callable[[Trip], None] = lambda trip: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a watchdog that watches nothing yet.

        Args:
            parameters: the configuration.
            report: called with each trip, in the thread that found it.
            clock: steady time [s].
        """
        self.parameters = parameters
        self.period = 0.0
        self._jump_limit = parameters.jump_limit(0.0)
        self.trips: list[Trip] = []
        self._report = report
        self._clock = clock
        self._fed: dict[str, float] = {}
        # When what is looked for now and then was looked for last.
        self._looked: dict[str, float] = {}
        # Replaced, never changed: one thread goes through it while another one has it otherwise.
        self._ages: dict[str, WatchedAge] = {}
        self._bad: set[str] = set()
        self._pending: list[Trip] = []
        self._late_ticks = 0
        self._last_stamp = math.nan
        self._grace_end = math.inf

    def watch_age(self, name: str, what: str, threshold: float, action: str) -> None:
        """Watch that `feed(name)` is called often enough.

        Args:
            name: name of the watch.
            what: what it is, for messages: 'joint states'.
            threshold: age from which on it is too old [s].
            action: `ignore`, `warn`, `safe` or `estop`.
        """
        if action != 'ignore':
            self._fed.setdefault(name, self._clock())
            self._ages = {**self._ages, name: (what, threshold, action)}

    def forget_watches(self) -> None:
        """Watch no ages any more."""
        self._ages, self._fed, self._looked = {}, {}, {}

    def arm(self, hardware: Hardware, subscribers: bool, clock: bool = False) -> None:
        """Watch the ages that make sense for a robot, but for its devices.

        Args:
            hardware: the robot. What a simulation in this process computes cannot be late. In
                lock-step its time stands still while it waits: only a dead one is late, and one
                that does not receive the commands sends no next state.
            subscribers: whether `subscribers_found` is told who receives the commands.
            clock: whether `clock_found` is told of the simulator's clock.
        """
        self.forget_watches()
        self.period = hardware.time_step
        self._jump_limit = self.parameters.jump_limit(self.period)
        if not hardware.feeds_watchdog:
            return
        if hardware.waits_for_commands and not hardware.is_simulated:
            patience, action = hardware.state_timeout, self.parameters.state_action
            self.watch_age('state_timeout', 'joint states', patience, action)
            return
        self.watch_states()
        if subscribers:
            self.watch_subscribers()
        if clock:
            self.watch_clock()

    def watch_states(self) -> None:
        """Watch the age of joint states as configured; feed 'state_timeout'."""
        given = self.parameters
        limit = given.state_limit(self.period)
        self.watch_age('state_timeout', 'joint states', limit, given.state_action)

    def watch_devices(self, devices: Collection[str]) -> None:
        """Watch these devices as configured, and no others; feed 'device_timeout:NAME'.

        From any thread; a device that was not watched before counts as fresh.
        """
        given = self.parameters
        wanted = {f'device_timeout:{device}': device for device in sorted(devices)}
        for watch in [name for name in self._ages if name.startswith('device_timeout:')]:
            if watch not in wanted:
                self._ages = {name: age for name, age in self._ages.items() if name != watch}
                self._bad.discard(watch)
        for watch, device in wanted.items():
            if watch not in self._ages:
                self._fed[watch] = self._clock()
                threshold = given.device_limit(device, self.period)
                self.watch_age(watch, f'device {device!r}', threshold, given.device_action)

    def watch_subscribers(self) -> None:
        """Watch that somebody receives the commands, as told by `subscribers_found`."""
        given = self.parameters
        self.watch_age(
            'subscriber_timeout',
            'subscription to commands',
            given.subscriber_timeout,
            given.subscriber_action,
        )

    def watch_clock(self) -> None:
        """Watch that the simulator is there, as told by `clock_found`, where configured."""
        given = self.parameters
        if given.clock_timeout:
            what = 'clock of the simulator, which has ended or hangs,'
            self.watch_age('clock_timeout', what, given.clock_timeout, given.clock_action)

    def start(self) -> None:
        """Begin (again): every age counts from now, and nothing is too old during the grace."""
        now = self._clock()
        self._grace_end = now + self.parameters.grace
        self._fed = dict.fromkeys(self._ages, now)
        self._looked = {}
        # A request that no tick has acted on yet is not forgotten.
        for trip in self._pending.copy():
            if trip.watch not in REQUESTS:
                self._pending.remove(trip)
        self._bad.clear()
        self._late_ticks = 0
        self._last_stamp = math.nan

    def stop(self) -> None:
        """Watch no more until the next start; requests that came too late are dropped."""
        self._grace_end = math.inf
        self._pending.clear()
        self._bad.clear()

    def feed(self, name: str, now: float | None = None) -> None:
        """Say that what the watch waits for has come; too late is found even if nobody looked.

        Args:
            name: name of the watch.
            now: when it has come, by the watchdog's clock [s]; at this moment where None.
        """
        if now is None:
            now = self._clock()
        watched = self._ages.get(name)
        # Who looked before now saw no greater age: mostly this is all.
        if watched is not None and now - self._fed.get(name, now) > watched[1]:
            self._check_age(name, watched, now)
        self._fed[name] = now

    def is_fresh(self, name: str) -> bool:
        """Whether the watch does not find it too old at this moment."""
        watched = self._ages.get(name)
        if watched is None:
            return True
        now = self._looked.get(name, self._clock())
        return now - self._fed.get(name, -math.inf) <= watched[1]

    def trip(self, name: str, action: str, message: str) -> None:
        """Say that something happened; `check` gives it to the loop."""
        if action != 'ignore' and name not in self._bad:
            self._bad.add(name)
            self._found(Trip(name, action, message, self._clock()))

    def finds(self, *names: str) -> bool:
        """Whether one of these watches has found something that is not well again."""
        return not self._bad.isdisjoint(names)

    def subscribers_found(self, receive: bool) -> None:
        """Say whether somebody receives the commands.

        Who has not looked for a while does not know that nobody did: only what was seen counts.
        """
        self._saw('subscriber_timeout', receive)

    def clock_found(self, ticks: bool) -> None:
        """Say whether the simulator's clock has told its time since the last look."""
        self._saw('clock_timeout', ticks)

    def _saw(self, name: str, is_there: bool) -> None:
        now = self._clock()
        self._looked[name] = now
        if is_there:
            self._fed[name] = now

    def publishers_found(self, topic: str, count: int) -> None:
        """Say how many publish the joint states."""
        if count > 1:
            self.trip(
                'publishers', 'safe', f'topic {topic!r} has {count} publishers: one is needed'
            )

    def rate_found(self, problem: str) -> None:
        """Say what is wrong with the rate of the joint states; nothing where it is empty."""
        if problem:
            self.trip('rate', self.parameters.rate_action, problem)
        else:
            self._bad.discard('rate')

    def slow_device_found(self, problem: str) -> None:
        """Say that a device is slower than the joint states that wait for it."""
        self.trip('device_rate', self.parameters.rate_action, problem)

    def command_controller_lost(self, name: str) -> None:
        """Say that the controller that passes the commands on was deactivated by someone."""
        self.trip(
            'deactivated',
            self.parameters.deactivated_action,
            f'command controller {name!r} was deactivated by someone else',
        )

    def tick_took(self, duration: float, period: float) -> None:
        """Tell how long a tick took, and how long it may [s]."""
        if duration <= period:
            self._late_ticks = 0
            self._bad.discard('late_ticks')
            return
        self._late_ticks += 1
        if self._late_ticks >= self.parameters.late_ticks:
            self.trip(
                'late_ticks',
                self.parameters.late_action,
                f'{self._late_ticks} ticks in a row took longer than the period of '
                f'{1e3 * period:g} ms, the last one {1e3 * duration:.3g} ms',
            )

    def state_stamped(self, stamp: float) -> None:
        """Tell the time of a new state by the clock that stamps it [s]."""
        change = stamp - self._last_stamp
        self._last_stamp = stamp
        if change < 0.0 or change > self._jump_limit:
            self.trip(
                'time_jump',
                self.parameters.time_jump_action,
                f'time of the joint states jumped by {change:.6g} s',
            )
        else:
            self._bad.discard('time_jump')

    def check(self) -> Trip | None:
        """Look at everything; the gravest thing newly found, None where all is well."""
        if self._ages:
            now, fed, bad = self._clock(), self._fed, self._bad
            for name, watched in self._ages.items():
                is_well = now - fed.get(name, now) <= watched[1]
                if (is_well or self._check_age(name, watched, now)) and bad:
                    bad.discard(name)
        if not self._pending:
            return None
        found = self._pending.copy()
        del self._pending[: len(found)]
        return max(found, key=lambda trip: ACTIONS.index(trip.action))

    def too_old(self) -> list[str]:
        """Everything that is too old at this moment, in words; grace does not count."""
        now = self._clock()
        return [
            _say(watched, age)
            for name, watched in self._ages.items()
            if (age := self._age(name, now)) > watched[1]
        ]

    def _check_age(self, name: str, watched: WatchedAge, now: float) -> bool:
        _, threshold, action = watched
        age = self._age(name, now)
        if age <= threshold or now < self._grace_end:
            return True
        self.trip(name, action, _say(watched, age))
        return False

    def _age(self, name: str, now: float) -> float:
        return self._looked.get(name, now) - self._fed.get(name, now)

    def _found(self, trip: Trip) -> None:
        self.trips.append(trip)
        del self.trips[: -self.kept]
        self._pending.append(trip)
        self._report(trip)


def _say(watched: WatchedAge, age: float) -> str:
    what, threshold, _ = watched
    return f'no {what} for {_time(age)} (limit {_time(threshold)})'


def _time(seconds: float) -> str:
    return f'{1e3 * seconds:.3g} ms' if seconds < 1.0 else f'{seconds:.3g} s'
