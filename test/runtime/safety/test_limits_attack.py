"""Commands and configurations that try to get past the limiter."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cnoid_control.body import Body, StateFlag
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.parameters import ParameterError, parse_parameters
from cnoid_control.runtime.safety.limits import CommandLimiter, LimitsParameters
from cnoid_control.runtime.safety.safe_state import SafeStateParameters
from cnoid_control.runtime.safety.watchdog import WatchdogParameters

DT = 0.001
MODES = {
    StateFlag.JOINT_DISPLACEMENT: 'q_target',
    StateFlag.JOINT_VELOCITY: 'dq_target',
    StateFlag.JOINT_EFFORT: 'u',
}
LINK = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
MODEL = f"""
<robot name="arm">{LINK.format('base')}</link>{LINK.format('upper')}</link>
  {LINK.format('lower')}</link>
  <joint name="free" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="1 0 0"/></joint>
  <joint name="limited" type="revolute"><parent link="upper"/><child link="lower"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="2" effort="10"/></joint>
</robot>
"""


def make_body(mode: StateFlag) -> Body:
    """Arm with a joint that has no limits at all and one that has."""
    body = Body(parse_urdf(MODEL, 'arm'))
    for joint in body.joints:
        joint.actuation_mode = mode
    return body


@pytest.mark.parametrize('bad', [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize('enabled', [True, False])
@pytest.mark.parametrize(('mode', 'array'), MODES.items())
def test_no_limit_is_no_door_for_infinity(mode, array, enabled, bad) -> None:
    """Where a joint has no limit, a command that is no finite number is replaced all the same."""
    body = make_body(mode)
    limiter = CommandLimiter(body, LimitsParameters(enabled=enabled), DT)
    commands = getattr(body, array)
    for joint in range(2):
        commands[:] = 0.001
        assert limiter.apply(DT)
        commands[joint] = bad
        assert limiter.apply(DT)
        assert commands.tolist() == [0.001, 0.001]


@pytest.mark.parametrize(('mode', 'array'), MODES.items())
def test_the_last_command_is_not_repeated_for_ever(mode, array) -> None:
    """After too many bad commands efforts and velocities vanish, positions stay."""
    body = make_body(mode)
    limiter = CommandLimiter(body, LimitsParameters(max_bad_commands=3), DT)
    commands = getattr(body, array)
    commands[:] = 0.001
    assert limiter.apply(DT)
    seen = []
    for _ in range(4):
        commands[:] = 1e30
        commands[0] = math.nan
        seen.append((limiter.apply(DT), commands[1]))
    last = 0.001 if array == 'q_target' else 0.0
    assert seen == [(True, 0.001), (True, 0.001), (False, last), (False, last)]


@pytest.mark.parametrize(
    'given',
    [
        {'max_effort': 0.0},
        {'max_velocity': 0.0},
        {'max_acceleration': 0.0},
        {'min_position': 2.0},
        {'min_position': 0.5, 'max_position': 0.5},
        {'max_effort': math.nan},
    ],
)
def test_a_limit_that_is_given_is_never_left_out(given: dict[str, float]) -> None:
    """What cannot be obeyed is refused; it does not let the joint go free."""
    body = make_body(StateFlag.JOINT_EFFORT)
    with pytest.raises(ParameterError, match=r'limits\.joints\.limited'):
        CommandLimiter(
            body,
            parse_parameters(LimitsParameters, {'joints': {'limited': given}}, 'limits'),
            DT,
        )


@pytest.mark.parametrize(
    ('schema', 'key'),
    [
        *[
            (WatchdogParameters, key)
            for key in ('grace', 'state_timeout', 'device_timeout', 'time_jump')
        ],
        *[(WatchdogParameters, key) for key in ('control_timeout', 'subscriber_timeout')],
        *[(SafeStateParameters, key) for key in ('kp', 'kd', 'frequency', 'ramp', 'takeover')],
    ],
)
@pytest.mark.parametrize('value', [math.inf, math.nan, -1.0])
def test_no_number_switches_a_guard_off(schema: type, key: str, value: float) -> None:
    """Times and gains that are infinite or no number are refused."""
    with pytest.raises(ParameterError, match=key):
        parse_parameters(schema, {key: value}, 'section')


def test_the_largest_number_is_limited_where_there_is_a_limit() -> None:
    """Huge finite commands do not overflow on their way."""
    body = make_body(StateFlag.JOINT_EFFORT)
    limiter = CommandLimiter(body, LimitsParameters(implausible_factor=math.inf), DT)
    body.u[:] = np.finfo(float).max
    assert limiter.apply(DT)
    assert body.u[1] == 10.0


@pytest.mark.parametrize(('mode', 'array'), MODES.items())
def test_what_was_never_measured_is_not_commanded(mode, array) -> None:
    """A bad first command on a robot that knows nothing of itself commands no end of the range."""
    body = make_body(mode)
    body.q[:] = body.dq[:] = math.nan
    getattr(body, array)[:] = [0.1, 0.2]
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    getattr(body, array)[:] = math.nan
    limiter.apply(DT)
    expected = [0.1, 0.2] if array == 'q_target' else [0.0, 0.0]
    assert getattr(body, array).tolist() == expected
