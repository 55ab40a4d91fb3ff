"""A robot of a low rate, with the watchdog as it is shipped."""

from __future__ import annotations

from pathlib import Path

import pytest
from robot_rig import RobotRig

pytest.importorskip('control_msgs.msg', reason='interfaces are not built')

from served_node import ServedNode

# So long that a machine which is busy for a second loses no state of three and a half.
PERIOD = 1.0


def test_a_robot_of_a_low_rate_runs(rig: RobotRig, tmp_path: Path) -> None:
    """States every second are not too old, though that is more than 50 ms."""
    served = ServedNode(
        rig,
        tmp_path,
        'ros_controllers:Hold',
        rate=1.0 / PERIOD,
        watchdog__grace=0.0,
        watchdog__state_action='safe',
    )
    rig.silence()
    rig.repeat(lambda: rig.publish(dt=PERIOD), PERIOD)
    try:
        served.activate()
        session = served.session
        ticks = session.loop.tick
        rig.wait(lambda: session.loop.tick > ticks + 4 or session.safe_state.is_engaged)
        assert not session.safe_state.is_engaged, session.safe_state.reason
        assert session.watchdog.trips == []
        assert session.hardware.state_timeout == pytest.approx(3.5 * PERIOD)
    finally:
        served.close()
