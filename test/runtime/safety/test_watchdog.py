"""The watchdog, with a clock that the tests move."""

import pytest
from fake_hardware import FakeHardware, two_joint_body

from cnoid_control.parameters import ParameterError, parse_parameters
from cnoid_control.runtime.safety.watchdog import Trip, Watchdog, WatchdogParameters


class Clock:
    """Time that stands still until it is moved."""

    def __init__(self) -> None:
        """Begin at an arbitrary time."""
        self.now = 1000.0

    def __call__(self) -> float:
        """Time [s]."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return a clock."""
    return Clock()


def make(clock: Clock, **values: object) -> tuple[Watchdog, list[Trip]]:
    """Watchdog without grace, and the list of what it reports."""
    reported: list[Trip] = []
    parameters = parse_parameters(WatchdogParameters, {'grace': 0.0, **values}, 'watchdog')
    return Watchdog(parameters, reported.append, clock), reported


def test_old_joint_states_trip_once_until_they_are_well_again(clock: Clock) -> None:
    """An age above the threshold is reported once; after recovery it is found anew."""
    dog, reported = make(clock, state_timeout=0.01)
    dog.watch_states()
    dog.start()
    clock.now += 0.0099
    assert dog.check() is None
    assert dog.is_fresh('state_timeout')
    clock.now += 0.001
    trip = dog.check()
    assert trip is not None
    assert (trip.watch, trip.action) == ('state_timeout', 'safe')
    assert trip.message == 'no joint states for 10.9 ms (limit 10 ms)'
    assert not dog.is_fresh('state_timeout')
    assert dog.check() is None
    dog.feed('state_timeout')
    assert dog.check() is None
    clock.now += 0.02
    assert dog.check() is not None
    assert len(reported) == 2


def test_grace_covers_the_start(clock: Clock) -> None:
    """Nothing is too old before the grace is over."""
    dog, _ = make(clock, state_timeout=0.01, grace=1.0)
    dog.watch_states()
    dog.start()
    clock.now += 0.99
    assert dog.check() is None
    clock.now += 0.02
    assert dog.check() is not None


def test_devices_have_thresholds_of_their_own(clock: Clock) -> None:
    """Each device is watched by itself, by its own threshold where given."""
    dog, _ = make(clock, device_timeout=0.1, device_timeouts={'GYRO': 0.01}, device_action='warn')
    dog.watch_devices({'GYRO', 'FORCE'})
    dog.start()
    clock.now += 0.05
    trip = dog.check()
    assert trip is not None
    assert (trip.watch, trip.action) == ('device_timeout:GYRO', 'warn')
    clock.now += 0.06
    trip = dog.check()
    assert trip is not None
    assert trip.watch == 'device_timeout:FORCE'


def test_nobody_receives_only_where_that_was_seen(clock: Clock) -> None:
    """Who could not look for a while has seen nothing; looks in vain for too long are enough."""
    dog, _ = make(clock, subscriber_timeout=0.5)
    dog.watch_subscribers()
    dog.start()
    dog.subscribers_found(True)
    clock.now += 3.0
    assert dog.check() is None
    assert dog.too_old() == []
    dog.subscribers_found(True)
    assert dog.check() is None
    for _ in range(4):
        clock.now += 0.12
        dog.subscribers_found(False)
        assert dog.check() is None
    clock.now += 0.12
    dog.subscribers_found(False)
    trip = dog.check()
    assert trip is not None
    assert trip.message == 'no subscription to commands for 600 ms (limit 500 ms)'
    dog.subscribers_found(True)
    assert dog.too_old() == []


def test_a_simulator_without_a_clock_is_found(clock: Clock) -> None:
    """One that is paused goes on to tell its time; nothing is watched unless a time is given."""
    hardware = FakeHardware(two_joint_body())
    hardware.feeds_watchdog, hardware.is_simulated = True, False
    hardware.waits_for_commands = False
    dog, _ = make(clock, clock_timeout=3.0, state_timeout=3600.0)
    dog.arm(hardware, subscribers=False, clock=True)
    dog.start()
    for _ in range(100):
        clock.now += 0.1
        dog.clock_found(True)
        assert dog.check() is None
    # Who could not look for a while has seen nothing.
    clock.now += 5.0
    assert dog.check() is None
    dog.clock_found(True)
    clock.now += 2.9
    dog.clock_found(False)
    assert dog.check() is None
    clock.now += 0.2
    dog.clock_found(False)
    trip = dog.check()
    assert trip is not None
    assert (trip.watch, trip.action) == ('clock_timeout', 'safe')
    assert trip.message == (
        'no clock of the simulator, which has ended or hangs, for 3.1 s (limit 3 s)'
    )
    assert dog.too_old() == [trip.message]
    unwatched, _ = make(clock)
    unwatched.arm(hardware, subscribers=False, clock=True)
    assert 'clock_timeout' not in unwatched._ages


def test_the_gravest_finding_is_returned(clock: Clock) -> None:
    """Of several findings in a tick the one with the gravest action counts; all are kept."""
    dog, reported = make(clock, device_action='warn', deactivated_action='estop')
    dog.watch_devices({'GYRO'})
    dog.watch_states()
    dog.start()
    clock.now += 1.0
    dog.command_controller_lost('effort_controller')
    trip = dog.check()
    assert trip is not None
    assert trip.action == 'estop'
    assert "'effort_controller'" in trip.message
    assert {found.watch for found in reported} == {
        'device_timeout:GYRO',
        'state_timeout',
        'deactivated',
    }
    assert [found.watch for found in dog.trips] == [found.watch for found in reported]


def test_what_is_ignored_is_not_watched(clock: Clock) -> None:
    """A watch that is ignored finds nothing."""
    dog, reported = make(
        clock, state_action='ignore', deactivated_action='ignore', late_action='ignore'
    )
    dog.watch_states()
    dog.start()
    clock.now += 100.0
    dog.command_controller_lost('x')
    for _ in range(100):
        dog.tick_took(2.0, 1.0)
    assert dog.check() is None
    assert reported == []


def test_late_ticks_count_in_a_row(clock: Clock) -> None:
    """A good tick between late ones starts the count again."""
    dog, _ = make(clock, late_ticks=3)
    dog.start()
    for duration in (2.0, 2.0, 1.0, 2.0, 2.0):
        dog.tick_took(duration, 1.0)
    assert dog.check() is None
    dog.tick_took(2.0, 1.0)
    trip = dog.check()
    assert trip is not None
    assert trip.action == 'warn'
    assert '3 ticks in a row' in trip.message


@pytest.mark.parametrize(('stamps', 'found'), [
    ((1.0, 1.001, 1.002), False),
    ((1.0, 1.0), False),
    ((1.0, 0.999), True),
    ((1.0, 1.4), False),
    ((1.0, 1.6), True),
    ((5.0, 0.0), True),
])  # fmt: skip
def test_time_jumps(clock: Clock, stamps: tuple[float, ...], found: bool) -> None:
    """Any step back and a large step on are jumps; a repeated stamp is none."""
    dog, _ = make(clock, time_jump=0.5)
    dog.start()
    for stamp in stamps:
        dog.state_stamped(stamp)
    trip = dog.check()
    assert (trip is not None) == found


def test_stop_and_start(clock: Clock) -> None:
    """Nothing is found while stopped; ages begin anew with the start."""
    dog, _ = make(clock)
    dog.watch_states()
    dog.start()
    dog.stop()
    clock.now += 10.0
    assert dog.check() is None
    dog.start()
    assert dog.check() is None


def test_wrong_actions_are_refused() -> None:
    """The message names the key and the actions that exist."""
    with pytest.raises(ParameterError, match=r'watchdog\.state_action.*ignore, warn, safe, estop'):
        parse_parameters(WatchdogParameters, {'state_action': 'panic'}, 'watchdog')


def test_a_state_that_comes_too_late_is_found_though_nobody_looked(clock: Clock) -> None:
    """A loop that was stopped itself finds a fresh state when it goes on, and still knows."""
    dog, _ = make(clock, state_timeout=0.01)
    dog.watch_states()
    dog.start()
    clock.now += 0.3
    dog.feed('state_timeout')
    trip = dog.check()
    assert trip is not None
    assert trip.message == 'no joint states for 300 ms (limit 10 ms)'
    dog.feed('state_timeout')
    assert dog.check() is None


def test_what_is_too_old_now_can_be_asked_for(clock: Clock) -> None:
    """Whatever was found before, and in the grace too."""
    dog, _ = make(clock, state_timeout=0.01, device_timeout=0.02, grace=5.0)
    dog.watch_states()
    dog.watch_devices({'GYRO'})
    dog.start()
    clock.now += 0.015
    assert dog.too_old() == ['no joint states for 15 ms (limit 10 ms)']
    dog.feed('state_timeout')
    assert dog.too_old() == []


def test_the_watched_devices_can_be_exchanged(clock: Clock) -> None:
    """A device that is watched anew counts as fresh, one that is not watched any more is not."""
    dog, _ = make(clock, device_timeout=0.01)
    dog.watch_states()
    dog.watch_devices({'GYRO', 'FORCE'})
    dog.start()
    clock.now += 0.008
    dog.feed('state_timeout')
    dog.feed('device_timeout:GYRO')
    dog.watch_devices({'GYRO', 'CAMERA'})
    clock.now += 0.008
    assert dog.check() is None
    dog.feed('device_timeout:GYRO')
    clock.now += 0.003
    trip = dog.check()
    assert trip is not None
    assert trip.watch == 'device_timeout:CAMERA'


def test_watches_may_change_while_they_are_gone_through(clock: Clock) -> None:
    """Another thread may exchange the devices at any moment: the loop does not trip over it."""
    guard = Watchdog(
        WatchdogParameters(grace=0.0), lambda trip: guard.watch_devices(()), clock=clock
    )
    guard.watch_states()
    guard.watch_devices(('GYRO', 'IMU'))
    guard.start()
    clock.now += 10.0
    found = guard.check()
    assert found is not None
    assert found.watch == 'state_timeout'


@pytest.mark.parametrize('request_', ['stop', 'estop'])
def test_a_request_that_no_tick_has_seen_outlives_a_start(clock: Clock, request_: str) -> None:
    """A restart forgets what was found before it, but not that somebody wants a stop."""
    watchdog = Watchdog(WatchdogParameters(), clock=clock)
    watchdog.trip('time_jump', 'safe', 'found before')
    watchdog.trip(request_, 'safe', 'the button')
    watchdog.start()
    trip = watchdog.check()
    assert trip is not None
    assert trip.message == 'the button'
    assert watchdog.check() is None


def test_a_request_after_the_end_is_not_kept_for_the_next_start(clock: Clock) -> None:
    """Nobody runs whom it could be meant for."""
    watchdog = Watchdog(WatchdogParameters(), clock=clock)
    watchdog.trip('stop', 'safe', 'the button')
    watchdog.stop()
    watchdog.start()
    assert watchdog.check() is None
    watchdog.trip('stop', 'safe', 'the button again')
    assert watchdog.check() is not None


def test_arming_again_forgets_what_was_watched_before(clock: Clock) -> None:
    """A robot that feeds nothing is not asked for what another one fed."""
    watchdog, _ = make(clock)
    watchdog.watch_age('state_timeout', 'joint states', 0.1, 'safe')
    watchdog.arm(FakeHardware(two_joint_body()), subscribers=True)
    watchdog.start()
    clock.now += 10.0
    assert watchdog.check() is None


def test_a_second_publisher_trips(clock: Clock) -> None:
    """One is fine, none is not its business."""
    watchdog, reported = make(clock)
    watchdog.publishers_found('/joint_states', 0)
    watchdog.publishers_found('/joint_states', 1)
    assert reported == []
    watchdog.publishers_found('/joint_states', 2)
    assert [trip.message for trip in reported] == [
        "topic '/joint_states' has 2 publishers: one is needed"
    ]


def test_what_is_well_again_is_found_again(clock: Clock) -> None:
    """Late ticks and jumps of the time, each after a good one."""
    watchdog, reported = make(clock, late_ticks=2)
    for duration in (2.0, 2.0, 2.0, 0.5, 2.0, 2.0):
        watchdog.tick_took(duration, 1.0)
    for stamp in (1.0, 5.0, 5.1, 9.0):
        watchdog.state_stamped(stamp)
    assert [trip.watch for trip in reported] == ['late_ticks'] * 2 + ['time_jump'] * 2
    assert not watchdog.finds('time_jump', 'late_ticks') or watchdog.finds('time_jump')


def test_a_start_forgets_what_was_found(clock: Clock) -> None:
    """It is found again where it is still so."""
    watchdog, reported = make(clock)
    watchdog.watch_states()
    watchdog.start()
    clock.now += 1.0
    assert watchdog.check() is not None
    watchdog.start()
    assert not watchdog.finds('state_timeout')
    clock.now += 1.0
    assert watchdog.check() is not None
    assert len(reported) == 2


def test_a_watch_counts_from_when_it_was_made(clock: Clock) -> None:
    """Though nothing has started it."""
    watchdog, _ = make(clock)
    watchdog.start()
    watchdog.watch_age('x', 'x', 0.5, 'safe')
    assert watchdog.too_old() == []
    clock.now += 1.0
    assert watchdog.too_old() == ['no x for 1 s (limit 500 ms)']
    assert not watchdog.is_fresh('x')


def test_a_device_that_is_not_watched_any_more_is_not_found_bad(clock: Clock) -> None:
    """When it is watched again it begins anew."""
    watchdog, reported = make(clock, device_timeout=0.1)
    watchdog.watch_devices(['imu'])
    watchdog.start()
    clock.now += 1.0
    watchdog.check()
    assert watchdog.finds('device_timeout:imu')
    watchdog.watch_devices([])
    assert not watchdog.finds('device_timeout:imu')
    watchdog.watch_devices(['imu'])
    clock.now += 1.0
    watchdog.check()
    assert len(reported) == 2


def test_a_request_before_a_start_is_not_taken_for_an_old_one(clock: Clock) -> None:
    """Though the same one had been made, and answered, before the end."""
    watchdog = Watchdog(WatchdogParameters(), clock=clock)
    watchdog.trip('stop', 'safe', 'the button')
    assert watchdog.check() is not None
    watchdog.stop()
    watchdog.trip('stop', 'safe', 'the button, while it starts')
    watchdog.start()
    trip = watchdog.check()
    assert trip is not None
    assert trip.message == 'the button, while it starts'


@pytest.mark.parametrize('told', [True, False])
def test_receivers_are_watched_where_somebody_tells_of_them(clock: Clock, told: bool) -> None:
    """On a robot whose states can fail to arrive."""
    watchdog, _ = make(clock)
    hardware = FakeHardware(two_joint_body())
    hardware.feeds_watchdog, hardware.is_simulated = True, False
    hardware.waits_for_commands = False
    watchdog.arm(hardware, subscribers=told)
    assert ('subscriber_timeout' in watchdog._ages) == told
    assert 'state_timeout' in watchdog._ages


@pytest.mark.parametrize(
    ('waits', 'simulated', 'threshold', 'receivers'),
    [
        (True, False, 7.0, False),
        (True, True, 0.03, True),
        (False, True, 0.03, True),
        (False, False, 0.03, True),
    ],
)
def test_what_is_watched_of_a_robot(
    clock: Clock, waits: bool, simulated: bool, threshold: float, receivers: bool
) -> None:
    """In lock-step only a dead one is late, and who receives nothing sends no next state."""
    watchdog, _ = make(clock, state_timeout=0.03)
    hardware = FakeHardware(two_joint_body())
    hardware.feeds_watchdog, hardware.state_timeout = True, 7.0
    hardware.waits_for_commands, hardware.is_simulated = waits, simulated
    watchdog.arm(hardware, subscribers=True)
    assert watchdog._ages['state_timeout'][1] == threshold
    assert ('subscriber_timeout' in watchdog._ages) == receivers


@pytest.mark.parametrize(('limit', 'accepted'), [(0.0, True), (0.0005, False), (0.001, True)])
def test_a_time_limit_that_no_controller_can_keep_is_refused(limit: float, accepted: bool) -> None:
    """By its name; 0 stands for the usual one."""
    if accepted:
        assert WatchdogParameters(control_timeout=limit).control_timeout == limit
    else:
        with pytest.raises(ParameterError, match=r'watchdog\.control_timeout: .*at least 0\.001'):
            WatchdogParameters(control_timeout=limit)


def test_time_outs_are_periods_where_those_are_long() -> None:
    """At 1 kHz they are as shipped, at 10 Hz 3.5 periods; what was given is taken."""
    shipped = WatchdogParameters()
    for period, states, devices, jump in ((1e-3, 0.05, 0.2, 0.5), (0.1, 0.35, 0.35, 0.5)):
        assert shipped.state_limit(period) == pytest.approx(states)
        assert shipped.device_limit('IMU', period) == pytest.approx(devices)
        assert shipped.jump_limit(period) == pytest.approx(jump)
    assert shipped.jump_limit(1.0) == pytest.approx(3.5)
    given = WatchdogParameters(
        state_timeout=0.01, device_timeout=0.02, device_timeouts={'IMU': 0.03}, time_jump=0.04
    )
    assert (given.state_limit(0.1), given.jump_limit(0.1)) == (0.01, 0.04)
    assert (given.device_limit('IMU', 0.1), given.device_limit('FORCE', 0.1)) == (0.03, 0.02)


def test_a_robot_of_a_low_rate_is_not_stopped_between_its_states(clock: Clock) -> None:
    """States every 100 ms, as at 10 Hz, are never too old; after 3.5 periods they are."""
    dog, _ = make(clock)
    hardware = FakeHardware(two_joint_body())
    hardware.feeds_watchdog, hardware.is_simulated = True, False
    hardware.waits_for_commands, hardware.time_step = False, 0.1
    dog.arm(hardware, subscribers=False)
    dog.start()
    stamp = 0.0
    for _ in range(20):
        for _ in range(10):
            clock.now += 0.01
            assert dog.check() is None
        stamp += 0.1
        dog.feed('state_timeout')
        dog.state_stamped(stamp)
    clock.now += 0.34
    assert dog.check() is None
    clock.now += 0.02
    trip = dog.check()
    assert trip is not None
    assert 'limit 350 ms' in trip.message
