"""The rate of the joint states: measured, refused where it is not the agreed one, or followed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from robot_rig import DT, RobotRig, effort_request

from cnoid_control.parameters import ParameterError, parse_parameters
from cnoid_control.ros.exceptions import RobotError
from cnoid_control.ros.robot.parameters import Ros2ControlParameters
from cnoid_control.ros.robot.state_rate import StateRate, is_agreed, tell_wrong_rate
from cnoid_control.runtime.safety.watchdog import Watchdog, WatchdogParameters

MILLISECOND = 1_000_000


@pytest.mark.parametrize(('step', 'skipped'), [(4, 0), (16, 3), (4, 9)])
def test_the_median_counts_and_lost_messages_do_not(step: int, skipped: int) -> None:
    """Every fourth message, all, and one of ten that are the same: 250 Hz, with a jump too."""
    rate = StateRate(250.0)
    stamp, lost = 1_000_000_000, 0
    rate.note(stamp, lost)
    found = []
    for k in range(25):
        lost += skipped
        stamp += step * MILLISECOND + (k == 5) * 10**9
        found.append(rate.note(stamp, lost))
    assert found == [*[False] * 24, True]
    assert rate.measured == pytest.approx(250.0)
    for _ in range(25):
        stamp += 2 * step * MILLISECOND
        rate.note(stamp, lost)
    assert not is_agreed(rate.measured, 250.0)


def test_few_states_tell_no_rate():
    """The early rate needs some intervals, and a tenth of a second of them; a restart forgets."""
    rate = StateRate(1000.0)
    for k in range(21):
        assert math.isnan(rate.early())
        rate.note((k + 1) * 5 * MILLISECOND, 0)
    rate.note(22 * 5 * MILLISECOND, 0)
    assert rate.early() == pytest.approx(200.0)
    rate.restart()
    assert math.isnan(rate.early())


def test_what_is_another_rate_and_how_it_is_told():
    """Ten per cent are allowed; the sentence says by how much the time step is wrong."""
    assert is_agreed(1009.0, 1000.0)
    assert is_agreed(math.nan, 1000.0)
    assert not is_agreed(890.0, 1000.0)
    assert not is_agreed(1110.0, 1000.0)
    assert '200 Hz instead of the agreed 1000 Hz' in tell_wrong_rate(200.0, 1000.0)
    assert 'io.time_step is 5 times too small' in tell_wrong_rate(200.0, 1000.0)
    assert 'io.time_step is 2 times too large' in tell_wrong_rate(1000.0, 500.0)


def test_a_robot_of_another_rate_is_refused(rig: RobotRig) -> None:
    """The start fails with both rates and with what to do; five times too slow."""
    rig.repeat(lambda: rig.publish(dt=5 * DT))
    with pytest.raises(RobotError, match='come at 100 Hz instead of the agreed 500 Hz') as caught:
        rig.hardware().connect()
    assert 'set rate: 100, or hardware.ros2_control.rate_check: follow' in str(caught.value)
    # With a tick per five states of it, ten times as many are agreed.
    with pytest.raises(RobotError, match=r'instead of the agreed 2500 Hz: .* set rate: 20,'):
        rig.hardware(decimation=5).connect()


@pytest.mark.parametrize('options', [{'rate_check': 'ignore'}, {'trigger': 'timer'}])
def test_a_rate_that_does_not_matter_is_not_looked_at(rig: RobotRig, options: dict) -> None:
    """Whoever wants it, or ticks by a timer, may have any."""
    rig.repeat(lambda: rig.publish(dt=5 * DT))
    rig.hardware(**options).connect()


def test_a_robot_that_waits_for_its_first_command_is_measured_in_the_ticks(rig: RobotRig) -> None:
    """It can be opened while its time stands still; then half the rate trips the watchdog."""
    hardware = rig.hardware()
    rig.open(hardware, effort_request(hardware.body), dt=0.0)
    watchdog = hardware.watchdog = Watchdog(WatchdogParameters())
    for _ in range(50):
        rig.publish(dt=2 * DT)
        rig.wait(hardware.read)
        assert hardware.is_fresh
        assert watchdog.check() is None
    rig.publish(dt=2 * DT)
    assert hardware.read()
    trip = watchdog.check()
    assert trip is not None
    assert (trip.watch, trip.action) == ('rate', 'safe')
    assert 'joint states come at 250 Hz instead of the agreed 500 Hz' in trip.message
    for _ in range(50):
        rig.publish()
        assert hardware.read()
    assert not watchdog.finds('rate')


def test_the_node_follows_the_rate_where_it_is_told_to(rig: RobotRig, tmp_path: Path) -> None:
    """Controllers get the measured period, and the parameter says so, also for a swap."""
    pytest.importorskip('control_msgs.msg', reason='interfaces are not built')
    from served_node import ServedNode

    served = ServedNode(
        rig,
        tmp_path,
        'ros_controllers:Hold',
        rate=2000.0,
        hardware__ros2_control__rate_check='follow',
    )
    try:
        served.activate()
        assert served.node.get_parameter('rate').value == pytest.approx(1.0 / DT, rel=1e-2)
        io = served.session.loop.host.controllers[0].io
        assert io.time_step == pytest.approx(DT, rel=1e-2)
        assert served.session.hardware.time_step == io.time_step
        task = served.set('controller', 'ros_controllers:Other')
        rig.wait(task.done)
        assert task.result().successful, task.result().reason
        rig.wait(lambda: served.controller.__class__.__name__ == 'Other')
        assert served.session.loop.host.controllers[0].io.time_step == io.time_step
    finally:
        served.close()


def test_only_the_node_follows_a_rate(rig: RobotRig) -> None:
    """A run without the node refuses it by name."""
    from cnoid_control.ros.robot.standalone import StandaloneHardware

    given = parse_parameters(Ros2ControlParameters, {'rate_check': 'follow'})
    with pytest.raises(ParameterError, match=r"rate_check.*'follow'"):
        StandaloneHardware(rig.body(), given, DT)
