"""Commands to command controllers that are being switched to."""

from __future__ import annotations

import numpy as np
import pytest
from fake_hardware import two_joint_body

from cnoid_control.body import StateFlag
from cnoid_control.ros.robot.switch_hold import FADE_TIME, SwitchHold
from cnoid_control.runtime.safety.hold import Hold
from cnoid_control.runtime.safety.joint_limits import model_limits

DT = 0.01
EFFORTS = dict.fromkeys(('arm0', 'arm1'), StateFlag.JOINT_EFFORT)
GAINS = dict.fromkeys(('arm0', 'arm1'), StateFlag.JOINT_PID)


class Channel:
    """A publisher to a command controller that keeps what it is sent."""

    joint_ids = np.array([1, 0])

    def __init__(self, interface='effort'):
        """Begin with nothing."""
        self.name, self.interface = f'{interface}_controller', interface
        self.sent = []

    def send_values(self, values, stamp):
        """Keep them."""
        self.sent.append(values.copy())


@pytest.fixture
def body():
    """Return an arm that has been moved away and moves on, held with 10 N m at the most."""
    made = two_joint_body()
    made.u_lower[:], made.u_upper[:] = -10.0, 10.0
    for joint in made.joints:
        joint.actuation_mode = StateFlag.JOINT_EFFORT
    return made


@pytest.fixture
def channel():
    """Return a publisher."""
    return Channel()


@pytest.fixture
def switch_hold(body, channel):
    """Return what commands it."""
    made = SwitchHold(body, DT)
    made.begin([channel], EFFORTS)
    body.q[:] = 0.5, -0.5
    body.dq[:] = 1.0, -1.0
    return made


def test_efforts_keep_to_the_limits_in_force(body, switch_hold, channel):
    """Those of the configuration, not only the model's; in the controller's own joint order."""
    limits = model_limits(body)
    limits.u_lower[:], limits.u_upper[:] = -3.0, 3.0
    switch_hold.begin([channel], EFFORTS, limits=limits)
    body.q[:] = 1.0, -1.0
    switch_hold.send(0, fresh=True, stopped=False)
    assert channel.sent[-1] == pytest.approx([3.0, -3.0])


def test_efforts_fade_when_states_are_no_longer_known(switch_hold, channel):
    """What was computed last falls to zero in the time for it, in a straight line."""
    switch_hold.send(0, fresh=True, stopped=False)
    first = channel.sent[-1]
    for _ in range(round(FADE_TIME / DT / 2)):
        switch_hold.send(0, fresh=False, stopped=False)
    assert channel.sent[-1] == pytest.approx(first / 2.0)
    for _ in range(round(FADE_TIME / DT / 2)):
        switch_hold.send(0, fresh=False, stopped=False)
    assert channel.sent[-1] == pytest.approx([0.0, 0.0])


def test_an_emergency_stop_leaves_no_effort(switch_hold, channel):
    """At once."""
    switch_hold.send(0, fresh=True, stopped=False)
    switch_hold.send(0, fresh=True, stopped=True)
    assert channel.sent[-1] == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize('before', [StateFlag.JOINT_DISPLACEMENT, StateFlag.JOINT_EFFORT])
def test_gains_begin_with_what_holds_alone(body, before):
    """Where efforts go on there is nothing to add; a joint that was a servo must not go limp."""
    channels = [Channel(name) for name in ('effort', 'damping', 'stiffness')]
    made = SwitchHold(body, DT)
    made.begin(channels, GAINS, dict.fromkeys(GAINS, before))
    made.send(0, fresh=True, stopped=False)
    effort, damping, stiffness = (channel.sent[-1] for channel in channels)
    hold = Hold(body, DT)
    hold.capture(list(GAINS.values()))
    assert not effort.any()
    share = 0.0 if before == StateFlag.JOINT_EFFORT else 1.0
    np.testing.assert_allclose(stiffness, share * hold.kp[::-1])
    np.testing.assert_allclose(damping, share * hold.kd[::-1])
    made.send(0, fresh=True, stopped=True)
    assert not np.any([channel.sent[-1] for channel in channels])
