"""What is asked of the control node while its ticks are measured."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from cnoid_control.bench.ros_loop import rig
from cnoid_control.bench.ros_loop.compiled import why_not
from cnoid_control.bench.ros_loop.disturb import Repeated, disturb, largest
from cnoid_control.bench.ros_loop.rig import WATCHDOG, Drive
from cnoid_control.exceptions import CnoidControlError


@pytest.mark.skipif(bool(why_not()), reason=why_not() or 'a compiler is there')
@pytest.mark.timeout(240)
@pytest.mark.parametrize('what', ['swap', 'reset', 'set_gain'])
def test_requests_are_answered_while_the_robot_is_driven(monkeypatch, what):
    """At least one in each stretch, and the ticks of both are there."""
    # A busy machine is no fault here.
    monkeypatch.setattr(rig, 'STANDSTILL', np.inf)
    for age in ('state_timeout', 'device_timeout', 'control_timeout'):
        monkeypatch.setitem(WATCHDOG, age, 10.0)
    (stretch,) = disturb(what, 0, rounds=1, ticks=300)
    assert stretch.requests >= 1
    assert stretch.quiet.waits.shape == stretch.disturbed.waits.shape == (300,)
    assert np.isfinite(stretch.disturbed.waits).any()


def test_the_largest_tick_is_the_longest_wait():
    """States that no command came after do not hide it."""
    quiet = Drive(np.zeros(3), np.array([1e-4, 2e-4, np.nan]), 0.0, 1.0, 0.0)
    assert largest(quiet) == 2e-4


def test_a_request_that_fails_is_told():
    """What it raises ends the stretch."""

    def refuse():
        raise CnoidControlError('not now')

    repeated = Repeated(refuse)
    with pytest.raises(CnoidControlError, match='not now'), repeated.running():
        pass
    assert repeated.count == 0
