"""The command limiter against ros2_control's rules, written here for one joint at a time."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.parameters import ParameterError, parse_parameters
from cnoid_control.runtime.safety.joint_limits import JointLimitParameters
from cnoid_control.runtime.safety.limits import CommandLimiter, LimitsParameters

DT = 0.002
ARRAY = {
    StateFlag.JOINT_DISPLACEMENT: 'q_target',
    StateFlag.JOINT_VELOCITY: 'dq_target',
    StateFlag.JOINT_EFFORT: 'u',
}


@dataclass
class Joint:
    """Limits of one joint as numbers."""

    lower: float = -math.inf
    upper: float = math.inf
    speed: float = math.inf
    acceleration: float = math.inf
    effort: float = math.inf
    soft_lower: float = -math.inf
    soft_upper: float = math.inf
    k_position: float = 0.0
    k_velocity: float = 0.0


def clamp(value: float, lower: float, upper: float) -> float:
    """Value in an interval; the upper end wins where the interval is turned around."""
    return min(max(value, lower), upper)


def soft_speeds(joint: Joint, position: float) -> tuple[float, float]:
    """Speeds allowed by the soft limits."""
    if joint.k_position == 0.0:
        return -joint.speed, joint.speed
    low = clamp(-joint.k_position * (position - joint.soft_lower), -joint.speed, joint.speed)
    high = clamp(-joint.k_position * (position - joint.soft_upper), -joint.speed, joint.speed)
    return low, high


def position_rule(joint: Joint, command: float, last: float, dq: float, recovery: float) -> float:
    """Position command that a joint may get."""
    if last > joint.upper:
        return max(joint.upper, last - min(recovery, joint.speed) * DT)
    if last < joint.lower:
        return min(joint.lower, last + min(recovery, joint.speed) * DT)
    speed = min(joint.speed, abs(dq) + joint.acceleration * DT)
    low = max(joint.lower, last - speed * DT)
    high = min(joint.upper, last + speed * DT)
    slow, fast = soft_speeds(joint, last)
    low, high = clamp(last + slow * DT, low, high), clamp(last + fast * DT, low, high)
    return clamp(command, low, high)


def velocity_rule(joint: Joint, command: float, last: float, q: float, recovery: float) -> float:
    """Velocity command that a joint may get."""
    if q > joint.upper:
        return max((joint.upper - q) / DT, -min(recovery, joint.speed))
    if q < joint.lower:
        return min((joint.lower - q) / DT, min(recovery, joint.speed))
    low = max(-joint.speed, (joint.lower - q) / DT)
    high = min(joint.speed, (joint.upper - q) / DT)
    slow, fast = soft_speeds(joint, q)
    low, high = clamp(slow, low, high), clamp(fast, low, high)
    change = joint.acceleration * DT
    low, high = clamp(last - change, low, high), clamp(last + change, low, high)
    return clamp(command, low, high)


def effort_rule(joint: Joint, command: float, q: float, dq: float) -> float:
    """Effort command that a joint may get."""
    low, high = -joint.effort, joint.effort
    if (q <= joint.lower and dq <= 0.0) or dq < -joint.speed:
        low = 0.0
    if (q >= joint.upper and dq >= 0.0) or dq > joint.speed:
        high = 0.0
    if joint.k_position > 0.0 and joint.k_velocity > 0.0:
        slow, fast = soft_speeds(joint, q)
        least = -joint.k_velocity * (dq - slow)
        most = -joint.k_velocity * (dq - fast)
        low, high = clamp(least, low, high), clamp(most, low, high)
    return clamp(command, low, high)


def make_body(joints: list[Joint], mode: StateFlag) -> Body:
    """Star of revolute joints with the given limits."""
    parts = ['<robot name="star"><link name="base"/>']
    for i, joint in enumerate(joints):
        limit = ''
        attributes = ''
        if math.isfinite(joint.lower):
            attributes += f' lower="{joint.lower!r}" upper="{joint.upper!r}"'
        if math.isfinite(joint.speed):
            attributes += f' velocity="{joint.speed!r}"'
        if math.isfinite(joint.effort):
            attributes += f' effort="{joint.effort!r}"'
        if attributes:
            limit = f'<limit{attributes}/>'
        if joint.k_position > 0.0:
            limit += (
                f'<safety_controller soft_lower_limit="{joint.soft_lower!r}" '
                f'soft_upper_limit="{joint.soft_upper!r}" k_position="{joint.k_position!r}" '
                f'k_velocity="{joint.k_velocity!r}"/>'
            )
        kind = 'revolute' if math.isfinite(joint.lower) else 'continuous'
        parts.append(
            f'<link name="l{i}"/><joint name="j{i}" type="{kind}"><parent link="base"/>'
            f'<child link="l{i}"/><axis xyz="0 0 1"/>{limit}</joint>'
        )
    body = Body(parse_urdf(''.join(parts) + '</robot>', 'star'))
    for joint in body.joints:
        joint.actuation_mode = mode
    return body


def random_joint(rng: np.random.Generator, soft: bool, acceleration: bool) -> Joint:
    """Joint that has each limit or not."""
    joint = Joint()
    if rng.random() < 0.8 or soft:
        joint.lower, joint.upper = -rng.uniform(0.1, 2.0), rng.uniform(0.1, 2.0)
    if rng.random() < 0.8 or soft:
        joint.speed = rng.uniform(0.5, 5.0)
    if rng.random() < 0.8:
        joint.effort = rng.uniform(1.0, 50.0)
    if acceleration:
        joint.acceleration = rng.uniform(1.0, 500.0)
    if soft and rng.random() < 0.8:
        joint.soft_lower, joint.soft_upper = 0.8 * joint.lower, 0.8 * joint.upper
        joint.k_position, joint.k_velocity = rng.uniform(1.0, 30.0), rng.uniform(1.0, 30.0)
    return joint


def parameters_of(joints: list[Joint], **values: float) -> LimitsParameters:
    """Configuration with the accelerations, which URDF does not know."""
    by_name = {
        f'j{i}': {'max_acceleration': joint.acceleration}
        for i, joint in enumerate(joints)
        if math.isfinite(joint.acceleration)
    }
    return parse_parameters(LimitsParameters, {'joints': by_name, **values}, 'limits')


@pytest.mark.parametrize('mode', list(ARRAY))
@pytest.mark.parametrize('soft', [False, True])
@pytest.mark.parametrize('acceleration', [False, True])
def test_commands_follow_the_rules_of_each_joint(
    mode: StateFlag, soft: bool, acceleration: bool
) -> None:
    """Random commands and states over many ticks come out as the rules for one joint say."""
    rng = np.random.default_rng(7)
    joints = [random_joint(rng, soft, acceleration) for _ in range(12)]
    body = make_body(joints, mode)
    body.q[:] = [
        rng.uniform(1.1 * j.lower, 1.1 * j.upper) if j.lower > -9 else 0.0 for j in joints
    ]
    limiter = CommandLimiter(
        body, parameters_of(joints, recovery_velocity=0.4, implausible_factor=1e9), DT
    )
    command = getattr(body, ARRAY[mode])
    last = {StateFlag.JOINT_DISPLACEMENT: body.q, StateFlag.JOINT_VELOCITY: body.dq}.get(
        mode, np.zeros(12)
    ).copy()
    clamps = 0
    for tick in range(400):
        wide = 3.0 if tick % 4 else 0.01
        body.q[:] += rng.normal(0.0, 0.02, 12)
        body.dq[:] = rng.normal(0.0, 2.0, 12)
        if mode == StateFlag.JOINT_DISPLACEMENT:
            command[:] = last + rng.normal(0.0, 0.01 * wide, 12)
        elif mode == StateFlag.JOINT_VELOCITY:
            command[:] = last + rng.normal(0.0, wide, 12)
        else:
            command[:] = rng.normal(0.0, 10.0 * wide, 12)
        expected = []
        for joint, value, before, q, dq in zip(
            joints, command, last, body.q, body.dq, strict=True
        ):
            if mode == StateFlag.JOINT_DISPLACEMENT:
                expected.append(position_rule(joint, value, before, dq, 0.4))
            elif mode == StateFlag.JOINT_VELOCITY:
                expected.append(velocity_rule(joint, value, before, q, 0.4))
            else:
                expected.append(effort_rule(joint, value, q, dq))
        clamps += int(np.sum(np.abs(command - expected) > 1e-12))
        assert limiter.apply(DT)
        np.testing.assert_allclose(command, expected, rtol=1e-12, atol=1e-12)
        last = command.copy()
    counted = sum(int(count.sum()) for count in limiter.counts.values())
    assert clamps > 100
    assert counted == pytest.approx(clamps, abs=0.001 * clamps)


def test_nothing_is_touched_within_limits() -> None:
    """Commands within all limits pass bit by bit and are not counted."""
    joints = [Joint(-1.0, 1.0, 2.0, effort=10.0) for _ in range(3)]
    body = make_body(joints, StateFlag.JOINT_EFFORT)
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    body.u[:] = [9.99, -9.99, 0.1]
    assert limiter.apply(DT)
    assert body.u.tolist() == [9.99, -9.99, 0.1]
    assert limiter.report() == {}


def test_efforts_at_their_limits_pass_and_are_counted_once() -> None:
    """Whoever has clamped them; a controller that counts its clamp itself changes nothing."""
    joints = [Joint(-1.0, 1.0, 2.0, effort=10.0) for _ in range(4)]
    body = make_body(joints, StateFlag.JOINT_EFFORT)
    given = {'j3': JointLimitParameters(max_effort=0.0)}
    limiter = CommandLimiter(body, LimitsParameters(joints=given), DT)
    body.u[:] = [10.0, -10.0, 0.1, 0.0]
    limiter.counts.add('effort', np.array([0]))
    limiter.counts.add('integral', np.array([2]))
    assert limiter.apply(DT)
    assert body.u.tolist() == [10.0, -10.0, 0.1, 0.0]
    assert limiter.report() == {'effort': {'j0': 1, 'j1': 1}, 'integral': {'j2': 1}}


def test_a_controllers_own_clamp_is_counted_where_the_gate_has_wider_limits() -> None:
    """Nobody else could know of it then."""
    joints = [Joint(-1.0, 1.0, 2.0, effort=10.0) for _ in range(2)]
    body = make_body(joints, StateFlag.JOINT_EFFORT)
    limiter = CommandLimiter(body, LimitsParameters(enabled=False), DT)
    body.u[:] = [10.0, 0.0]
    limiter.counts.add('effort', np.array([0]))
    assert limiter.apply(DT)
    assert limiter.report() == {'effort': {'j0': 1}}


@pytest.mark.parametrize('mode', list(ARRAY))
@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf])
def test_bad_numbers_repeat_the_last_command(mode: StateFlag, bad: float) -> None:
    """A command with one value that is no number is replaced as a whole, and counted."""
    body = make_body([Joint(-1.0, 1.0, 2.0, effort=10.0)] * 3, mode)
    limiter = CommandLimiter(body, LimitsParameters(max_bad_commands=2), DT)
    command = getattr(body, ARRAY[mode])
    command[:] = [0.001, -0.001, 0.002]
    assert limiter.apply(DT)
    command[:] = [0.003, bad, 0.0]
    assert limiter.apply(DT)
    assert command.tolist() == [0.001, -0.001, 0.002]
    assert limiter.bad_commands == 1
    command[:] = [0.003, bad, 0.0]
    assert not limiter.apply(DT)
    assert np.isfinite(command).all()
    command[:] = 0.001
    assert limiter.apply(DT)
    assert limiter.bad_commands == 2
    assert limiter.bad_commands_in_a_row == 0


@pytest.mark.parametrize(
    ('mode', 'far', 'near'),
    [
        (StateFlag.JOINT_EFFORT, 101.0, 99.0),
        (StateFlag.JOINT_VELOCITY, -20.1, -19.9),
        (StateFlag.JOINT_DISPLACEMENT, 13.1, 12.9),
    ],
)
def test_commands_far_beyond_a_limit_cannot_be_meant(
    mode: StateFlag, far: float, near: float
) -> None:
    """Ten times the limit is no command; a little less is one, and is limited."""
    body = make_body([Joint(-0.75, 1.75, 2.0, effort=10.0)] * 2, mode)
    body.q[:] = 0.5
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    command = getattr(body, ARRAY[mode])
    command[:] = [0.5, far]
    limiter.apply(DT)
    assert limiter.bad_commands == 1
    command[:] = [0.5, near]
    limiter.apply(DT)
    assert limiter.bad_commands == 1
    assert abs(command[1]) < abs(near)


def test_bad_first_command_holds_the_measured_state() -> None:
    """Before any good command, the replacement is to stay."""
    body = make_body([Joint(-1.0, 1.0, 2.0)] * 2, StateFlag.JOINT_DISPLACEMENT)
    body.q[:] = [0.5, -0.25]
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    body.q_target[:] = math.nan
    limiter.apply(DT)
    assert body.q_target.tolist() == [0.5, -0.25]


def test_limits_that_cannot_be_meant_are_reported_and_not_obeyed() -> None:
    """Speed or effort of zero and an empty range limit nothing, and notes name the joints."""
    links = [LinkDescription('base', joint_type=JointType.FIXED)]
    for i, limits in enumerate(
        (
            {'q_lower': -1.0, 'q_upper': 1.0, 'dq_lower': 0.0, 'dq_upper': 0.0},
            {'q_lower': 0.0, 'q_upper': 0.0, 'u_lower': 0.0, 'u_upper': 0.0},
            {'u_lower': 2.0, 'u_upper': 5.0},
        )
    ):
        links.append(
            LinkDescription(
                f'l{i}', 'base', f'j{i}', joint_type=JointType.REVOLUTE, joint_id=i, **limits
            )
        )
    body = Body(BodyDescription('star', links))
    for joint in body.joints:
        joint.actuation_mode = StateFlag.JOINT_VELOCITY
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    notes = '\n'.join(limiter.limits.notes)
    assert "velocity limit 0 of joint 'j0'" in notes
    assert "position limit [0, 0] of joint 'j1'" in notes
    assert "effort limit 0 of joint 'j1'" in notes
    assert "effort limit 5 of joint 'j2'" in notes, 'one that pushes one way only'
    assert 'no velocity limit is known for: j1, j2' in notes
    body.dq_target[:] = [50.0, 2.5, 1000.0]
    limiter.apply(DT)
    assert body.dq_target.tolist() == [50.0, 2.5, 1000.0]


def test_configuration_takes_the_place_of_the_model() -> None:
    """A joint's own entry replaces the model's limits; limits for all only tighten."""
    body = make_body([Joint(-1.0, 1.0, 0.0, effort=10.0)] * 3, StateFlag.JOINT_VELOCITY)
    values = {'joints': {'j0': {'max_velocity': 4.0}, 'j2': {'enabled': False}}}
    parameters = parse_parameters(LimitsParameters, {**values, 'max_velocity': 8.0}, 'limits')
    limiter = CommandLimiter(body, parameters, DT)
    body.dq_target[:] = 20.0
    limiter.apply(DT)
    assert body.dq_target.tolist() == [4.0, 8.0, 20.0]
    assert limiter.report() == {'velocity': {'j0': 1, 'j1': 1}}


def test_joint_outside_its_range_moves_back_in() -> None:
    """A start outside the position limits is left slowly and without a jump."""
    body = make_body([Joint(-1.0, 1.0, 10.0)], StateFlag.JOINT_DISPLACEMENT)
    body.q[:] = 1.05
    limiter = CommandLimiter(body, LimitsParameters(recovery_velocity=0.5), DT)
    track = [1.05]
    for _ in range(80):
        body.q_target[:] = 0.0 if track[-1] > 1.0 else 1.0
        limiter.apply(DT)
        track.append(body.q_target.item())
    steps = -np.diff(track)
    assert np.all(steps[:49] == pytest.approx(0.001))
    assert track[-1] == pytest.approx(1.0)
    assert limiter.counts['position'].item() == pytest.approx(50, abs=1)


def test_disabled_limits_still_refuse_bad_numbers() -> None:
    """With limits off, large commands pass and NaN does not."""
    body = make_body([Joint(-1.0, 1.0, 10.0, effort=5.0)], StateFlag.JOINT_EFFORT)
    limiter = CommandLimiter(body, LimitsParameters(enabled=False), DT)
    body.u[:] = 1e9
    limiter.apply(DT)
    assert body.u.item() == 1e9
    body.u[:] = math.nan
    limiter.apply(DT)
    assert body.u.item() == 1e9


def test_modes_may_differ_between_joints() -> None:
    """Each joint is limited on the channel that it is commanded by, and on no other."""
    body = make_body([Joint(-1.0, 1.0, 10.0, effort=5.0)] * 3, StateFlag.NONE)
    for joint, mode in zip(body.joints, ARRAY, strict=True):
        joint.actuation_mode = mode
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    for name in ('q_target', 'dq_target', 'u'):
        getattr(body, name)[:] = 40.0 if name != 'q_target' else 4.0
    limiter.apply(DT)
    assert body.q_target.tolist() == [0.02, 4.0, 4.0]
    assert body.dq_target.tolist() == [40.0, 10.0, 40.0]
    assert body.u.tolist() == [40.0, 40.0, 5.0]


def test_restart_goes_on_from_the_measured_state() -> None:
    """After a change of mode, the first command is near the measured position."""
    body = make_body([Joint(-3.0, 3.0, 1.0)], StateFlag.JOINT_EFFORT)
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    body.q[:] = 2.0
    body.joints[0].actuation_mode = StateFlag.JOINT_DISPLACEMENT
    limiter.restart()
    body.q_target[:] = -2.0
    limiter.apply(DT)
    assert body.q_target.item() == pytest.approx(2.0 - DT)


@pytest.mark.parametrize('dt', [0.0, -0.1, math.nan])
def test_unknown_period_is_the_nominal_one(dt: float) -> None:
    """A period that is not positive does not freeze or free the commands."""
    body = make_body([Joint(-3.0, 3.0, 1.0)], StateFlag.JOINT_DISPLACEMENT)
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    body.q_target[:] = 1.0
    limiter.apply(dt)
    assert body.q_target.item() == pytest.approx(DT)


def test_unknown_joint_in_the_configuration_is_refused() -> None:
    """The message names the joint and those that exist."""
    body = make_body([Joint()] * 2, StateFlag.JOINT_EFFORT)
    parameters = parse_parameters(LimitsParameters, {'joints': {'knee': {}}}, 'limits')
    with pytest.raises(ParameterError, match=r'limits\.joints\.knee.*j0, j1'):
        CommandLimiter(body, parameters, DT)
    with pytest.raises(ParameterError, match=r'limits\.max_effort'):
        parse_parameters(LimitsParameters, {'max_effort': -1.0}, 'limits')


def test_change_of_modes_keeps_what_goes_on() -> None:
    """Joints that stay in their mode go on from their last command, others from the state."""
    body = make_body([Joint(-3.0, 3.0, 1.0)] * 2, StateFlag.JOINT_DISPLACEMENT)
    body.joints[1].actuation_mode = StateFlag.JOINT_EFFORT
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    body.q_target[:] = DT
    limiter.apply(DT)
    body.q[:] = 0.5
    body.joints[1].actuation_mode = StateFlag.JOINT_DISPLACEMENT
    limiter.change_modes()
    body.q_target[:] = 1.0
    limiter.apply(DT)
    assert body.q_target.tolist() == pytest.approx([2 * DT, 0.5 + DT])


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_velocity_that_leaves_the_range_within_a_period_is_lowered(side: float) -> None:
    """Though it is no faster than it may be, and the joint is inside: it stops at the limit."""
    body = make_body([Joint(-1.0, 1.0, 10.0)] * 2, StateFlag.JOINT_VELOCITY)
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    body.q[:] = [0.0, 0.999 * side]
    for _ in range(3):
        body.dq_target[:] = [2.0, 2.0 * side]
        assert limiter.apply(DT)
        assert body.dq_target.tolist() == pytest.approx([2.0, 0.5 * side])
    assert limiter.report() == {'position': {'j1': 3}}


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_joint_outside_comes_back_at_the_recovery_speed(side: float) -> None:
    """Though a faster command would bring it back within one period."""
    body = make_body([Joint(-1.0, 1.0, 10.0)], StateFlag.JOINT_VELOCITY)
    limiter = CommandLimiter(body, LimitsParameters(recovery_velocity=0.5), DT)
    body.q[:] = 1.0015 * side
    body.dq_target[:] = -0.9 * side
    assert limiter.apply(DT)
    assert body.dq_target.item() == pytest.approx(-0.5 * side)
    body.q[:] = 1.0004 * side
    body.dq_target[:] = -0.9 * side
    assert limiter.apply(DT)
    assert body.dq_target.item() == pytest.approx(-0.2 * side), 'to the limit and no further'


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_the_way_back_in_is_slow_until_it_ends(side: float) -> None:
    """A position inside that one period could reach is not commanded before the joint is there."""
    body = make_body([Joint(-1.0, 1.0, 10.0)], StateFlag.JOINT_DISPLACEMENT)
    body.q[:] = 1.0035 * side
    limiter = CommandLimiter(body, LimitsParameters(recovery_velocity=0.5), DT)
    track = []
    for _ in range(6):
        body.q_target[:] = 0.99 * side
        assert limiter.apply(DT)
        track.append(side * body.q_target.item())
    assert track == pytest.approx([1.0025, 1.0015, 1.0005, 1.0, 0.99, 0.99])


def test_the_reasons_of_efforts_are_told_apart() -> None:
    """Too much effort counts as effort, too fast a joint as velocity, on either side."""
    for sign in (1.0, -1.0):
        body = make_body([Joint(-1.0, 1.0, 2.0, effort=5.0)] * 2, StateFlag.JOINT_EFFORT)
        limiter = CommandLimiter(body, LimitsParameters(), DT)
        body.u[:] = sign * 6.0, sign * 4.0
        body.dq[:] = 0.0, sign * 3.0
        limiter.apply(DT)
        assert limiter.report() == {'effort': {'j0': 1}, 'velocity': {'j1': 1}}, sign


def test_the_reasons_of_positions_are_told_apart() -> None:
    """A target outside counts as position, one that is too far for a period as velocity."""
    for sign in (1.0, -1.0):
        body = make_body([Joint(-1.0, 1.0, 2.0)] * 2, StateFlag.JOINT_DISPLACEMENT)
        body.q[:] = sign * 0.999, 0.0
        limiter = CommandLimiter(body, LimitsParameters(), DT)
        body.q_target[:] = sign * 1.001, sign * 0.5
        limiter.apply(DT)
        assert limiter.report() == {'position': {'j0': 1}, 'velocity': {'j1': 1}}, sign


def test_the_reasons_of_velocities_are_told_apart() -> None:
    """Outside of its range a joint is limited for its position, whatever its speed."""
    for sign in (1.0, -1.0):
        body = make_body([Joint(-1.0, 1.0, 2.0)] * 3, StateFlag.JOINT_VELOCITY)
        body.q[:] = sign * 1.1, 0.0, sign * 0.9999
        limiter = CommandLimiter(body, LimitsParameters(), DT)
        body.dq_target[:] = -sign * 1.9, sign * 3.0, sign * 1.0
        limiter.apply(DT)
        assert limiter.report() == {'position': {'j0': 1, 'j2': 1}, 'velocity': {'j1': 1}}, sign


@pytest.mark.parametrize('given', [{'max_velocity': 3.0}, {'min_position': -0.5}])
def test_a_locked_joint_of_the_model_may_have_limits(given: dict[str, float]) -> None:
    """Only position limits that were given are held against each other."""
    body = make_body([Joint(0.0, 0.0, 1.0)], StateFlag.JOINT_VELOCITY)
    values = {'joints': {'j0': given}}
    parameters = parse_parameters(LimitsParameters, values, 'limits')
    assert CommandLimiter(body, parameters, DT).limits.q_upper.size == 1


def test_limits_of_joints_beside_virtual_ones() -> None:
    """A joint without an id is not commanded, and the others are limited all the same."""
    links = [LinkDescription('base', joint_type=JointType.FIXED)]
    for name, joint_id in (('a', 0), ('free', -1), ('b', 1)):
        links.append(
            LinkDescription(
                name,
                'base',
                joint_type=JointType.REVOLUTE,
                joint_id=joint_id,
                u_lower=-5.0,
                u_upper=5.0,
            )
        )
    body = Body(BodyDescription('x', links))
    for joint in body.joints:
        joint.actuation_mode = StateFlag.JOINT_EFFORT
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    body.u[:] = 4.0, -4.0
    assert limiter.apply(DT)
    assert body.u.tolist() == [4.0, -4.0]
    for given, limited in (((4.0, -6.0), [4.0, -5.0]), ((6.0, -4.0), [5.0, -4.0])):
        body.u[:] = given
        assert limiter.apply(DT)
        assert body.u.tolist() == limited


def test_soft_limits_without_a_velocity_gain_brake_no_effort() -> None:
    """A joint beside them that has one is braked."""
    soft = {'soft_lower': -0.5, 'soft_upper': 0.5, 'k_position': 10.0}
    joints = [
        Joint(-1.0, 1.0, 3.0, effort=50.0, **soft, k_velocity=0.0),
        Joint(-1.0, 1.0, 3.0, effort=50.0, **soft, k_velocity=20.0),
    ]
    body = make_body(joints, StateFlag.JOINT_EFFORT)
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    body.q[:] = 0.5
    body.u[:] = 40.0
    limiter.apply(DT)
    assert body.u.tolist() == [40.0, 0.0]
    body = make_body(joints[:1], StateFlag.JOINT_EFFORT)
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    body.q[:], body.u[:] = 0.5, 40.0
    limiter.apply(DT)
    assert body.u.tolist() == [40.0]


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_efforts_of_some_joints_are_limited_on_either_side(side: float) -> None:
    """Also where others are commanded in another way."""
    body = make_body([Joint(-1.0, 1.0, 10.0, effort=5.0)] * 2, StateFlag.JOINT_EFFORT)
    body.joints[0].actuation_mode = StateFlag.JOINT_VELOCITY
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    body.u[:] = side * 6.0
    limiter.apply(DT)
    assert body.u.tolist() == [side * 6.0, side * 5.0]
    body.u[:] = side * 4.0
    limiter.apply(DT)
    assert body.u.tolist() == [side * 4.0, side * 4.0]


SOFT = {'soft_lower': -0.5, 'soft_upper': 0.5, 'k_position': 10.0}


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize(
    ('mode', 'soft', 'acceleration', 'q', 'dq', 'command', 'kind'),
    [
        (StateFlag.JOINT_VELOCITY, False, 10.0, 0.0, 0.0, 1.0, 'acceleration'),
        (StateFlag.JOINT_VELOCITY, False, 10.0, 0.0, 1.0, -1.0, 'acceleration'),
        (StateFlag.JOINT_VELOCITY, False, 10.0, 1.1, 0.0, -1.9, 'position'),
        (StateFlag.JOINT_VELOCITY, False, 10.0, 1.001, 0.0, -1.9, 'position'),
        (StateFlag.JOINT_VELOCITY, False, 10.0, 0.9999, 0.0, 1.0, 'position'),
        (StateFlag.JOINT_VELOCITY, False, 10.0, 0.0, 0.0, 2.5, 'velocity'),
        (StateFlag.JOINT_VELOCITY, True, math.inf, 0.49, 0.0, 1.0, 'soft'),
        (StateFlag.JOINT_DISPLACEMENT, False, math.inf, -0.3, 0.0, 0.3, 'velocity'),
        (StateFlag.JOINT_DISPLACEMENT, False, 10.0, 0.0, 0.0, 0.003, 'acceleration'),
        (StateFlag.JOINT_DISPLACEMENT, False, math.inf, 1.1, 0.0, 1.0, 'position'),
        (StateFlag.JOINT_DISPLACEMENT, True, math.inf, 0.499, 0.0, 0.4995, 'soft'),
        (StateFlag.JOINT_EFFORT, True, math.inf, 0.499, 0.0, 4.0, 'soft'),
        (StateFlag.JOINT_EFFORT, False, math.inf, 1.0, 0.1, 4.0, 'position'),
    ],
)
def test_each_limit_counts_under_its_own_kind(
    side: float,
    mode: StateFlag,
    soft: bool,
    acceleration: float,
    q: float,
    dq: float,
    command: float,
    kind: str,
) -> None:
    """The first rule that the command breaks is named, on either side of the range."""
    extra = {**SOFT, 'k_velocity': 20.0} if soft else {}
    body = make_body([Joint(-1.0, 1.0, 2.0, effort=5.0, **extra)], mode)
    body.q[:], body.dq[:] = side * q, side * dq
    parameters = LimitsParameters(max_acceleration=acceleration, recovery_velocity=0.1)
    limiter = CommandLimiter(body, parameters, DT)
    getattr(body, ARRAY[mode])[:] = side * command
    assert limiter.apply(DT)
    assert limiter.report() == {kind: {'j0': 1}}


def test_holes_in_the_joint_ids_have_no_limits() -> None:
    """They are neither named in notes nor refused, with limits and without."""
    links = [LinkDescription('base', joint_type=JointType.FIXED)]
    for name, joint_id in (('a', 0), ('b', 2)):
        links.append(
            LinkDescription(
                name,
                'base',
                joint_type=JointType.REVOLUTE,
                joint_id=joint_id,
                q_lower=-1.0,
                q_upper=1.0,
                dq_lower=-1.0,
                dq_upper=1.0,
                u_lower=-5.0,
                u_upper=5.0,
            )
        )
    body = Body(BodyDescription('x', links))
    assert body.num_joints == 3
    assert CommandLimiter(body, LimitsParameters(), DT).limits.notes == []
    notes = CommandLimiter(body, LimitsParameters(enabled=False), DT).limits.notes
    assert notes == ['commands are not limited: limits.enabled is false']


def test_soft_limits_that_are_no_range_are_left_out() -> None:
    """So are those without a position gain; the hard limits count."""
    ends = {'soft_lower': 0.5, 'soft_upper': -0.5, 'k_position': 10.0}
    joints = [
        Joint(-1.0, 1.0, 2.0, **ends),
        Joint(-1.0, 1.0, 2.0, soft_lower=-0.5, soft_upper=0.5, k_position=10.0),
    ]
    body = make_body(joints, StateFlag.JOINT_VELOCITY)
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    assert limiter.limits.k_position.tolist() == [0.0, 10.0]


def test_what_may_be_blended_is_far_more_than_what_may_be_sent() -> None:
    """A command that is taken in by a small share may be far away, but not anywhere."""
    body = make_body([Joint(-1.0, 1.0, 10.0, effort=5.0)], StateFlag.JOINT_EFFORT)
    limiter = CommandLimiter(body, LimitsParameters(implausible_factor=10.0), DT)
    for effort, blends in ((5.0 * 60.0, True), (5.0 * 1000.0, False), (math.nan, False)):
        body.u[:] = effort
        assert limiter.can_blend() == blends, effort


def test_a_limit_on_one_side_is_one() -> None:
    """Nothing is missing where a joint has one; commands are plausible up to it."""
    links = [LinkDescription('base', joint_type=JointType.FIXED)]
    for i, limits in enumerate(({'q_lower': -1.0}, {'q_upper': 1.0})):
        links.append(
            LinkDescription(
                f'l{i}',
                'base',
                f'j{i}',
                joint_type=JointType.REVOLUTE,
                joint_id=i,
                dq_lower=-1.0,
                dq_upper=1.0,
                u_lower=-5.0,
                u_upper=5.0,
                **limits,
            )
        )
    body = Body(BodyDescription('x', links))
    for joint in body.joints:
        joint.actuation_mode = StateFlag.JOINT_DISPLACEMENT
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    assert limiter.limits.notes == []
    body.q_target[:] = 1e6, -1e6
    assert limiter.apply(DT)
    assert limiter.bad_commands == 0
    assert body.q_target.tolist() == [DT, -DT]


@pytest.mark.parametrize('mode', list(ARRAY))
@pytest.mark.parametrize('some', [False, True])
def test_commands_within_limits_take_the_short_way(mode: StateFlag, some: bool) -> None:
    """From the second tick on, for all joints and for some of them; what is beyond does not."""
    body = make_body([Joint(-1.0, 1.0, 2.0, effort=10.0)] * 3, mode)
    if some:
        body.joints[0].actuation_mode = StateFlag.NONE
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    command = getattr(body, ARRAY[mode])
    command[:] = 0.001
    assert limiter.apply(DT)
    passes = short_way(limiter)
    for sign in (1.0, -1.0):
        command[:] = sign * 0.002
        assert passes(DT)
        for joint in (1, 2):
            command[:] = 0.002
            command[joint] = sign * 20.0
            assert not passes(DT)
            command[joint] = math.nan
            assert not passes(DT)


def short_way(limiter: CommandLimiter) -> Callable[[float], bool]:
    """Whether a limiter finds, for a period, that nothing is to be done; it does nothing else."""
    limiter._limit = lambda dt: False  # type: ignore[method-assign]
    return limiter.apply


@pytest.mark.parametrize('size', [1, 3])
def test_commands_of_all_kinds_are_compared_at_once(size: int) -> None:
    """Efforts, targets and gains of the same joints, beside others: each has its own bounds."""
    joints = [Joint(-1.0, 1.0, 2.0, effort=10.0)] * 4
    body = make_body(joints, StateFlag.JOINT_PID)
    for joint in body.joints[size:]:
        joint.actuation_mode = StateFlag.JOINT_EFFORT
    limiter = CommandLimiter(body, LimitsParameters(max_stiffness=50.0, max_damping=5.0), DT)
    assert limiter.apply(DT)
    passes = short_way(limiter)
    assert passes(DT)
    beyond = {'q_target': 1.1, 'dq_target': 2.1, 'u': 10.1, 'kp': 50.1, 'kd': 5.1, 'ki': -0.1}
    for array, value in beyond.items():
        for wrong in (value, -value, math.nan, math.inf, -math.inf):
            if array == 'ki' and wrong in (-value, math.inf):
                continue
            getattr(body, array)[0] = wrong
            assert not passes(DT), (array, wrong)
            getattr(body, array)[0] = 0.0
            assert passes(DT), array


def test_the_largest_numbers_are_compared_exactly() -> None:
    """Without limits any number passes, and infinity and what is no number do not."""
    body = make_body([Joint()] * 2, StateFlag.JOINT_EFFORT)
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    largest = float(np.finfo(float).max)
    for value in (largest, -largest):
        body.u[:] = 0.0, value
        assert limiter.apply(DT)
        assert body.u.tolist() == [0.0, value]
    assert limiter.bad_commands == 0
    body.u[1] = math.inf
    limiter.apply(DT)
    assert limiter.bad_commands == 1


@pytest.mark.parametrize(
    ('mode', 'wrong', 'right'),
    [(StateFlag.JOINT_DISPLACEMENT, 0.7, 0.8), (StateFlag.JOINT_VELOCITY, 0.8, 0.7)],
)
def test_the_short_way_knows_the_period(mode: StateFlag, wrong: float, right: float) -> None:
    """How far a command may go, and goes, depends on it: it may be another one in every tick."""
    body = make_body([Joint(-1.0, 1.0, 2.0)] * 2, mode)
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    assert limiter.apply(DT)
    # A way of 1.5 DT at a speed of up to 2, and one to the upper limit at a speed of 1.5.
    body.q[:] = 1.0 - 1.5 * 0.75 * DT
    body.q_target[:] = 1.5 * DT
    body.dq_target[:] = 1.5
    passes = short_way(limiter)
    for _ in range(2):
        assert not passes(wrong * DT)
    assert passes(right * DT)


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_the_first_implausible_command_is_told(side: float) -> None:
    """Its joint, its value and the limits; nothing where all are well."""
    body = make_body([Joint(-1.0, 1.0, 2.0)] * 3, StateFlag.JOINT_DISPLACEMENT)
    limiter = CommandLimiter(body, LimitsParameters(), DT)
    body.q_target[:] = 0.0, side * 50.0, side * 60.0
    assert str(limiter.first_implausible()) == (
        f"position {side * 50.0:g} of joint 'j1', whose limits are -1 to 1"
    )
    body.q_target[:] = side * 5.0
    assert limiter.first_implausible() is None


def test_gains_of_soft_limits_by_configuration() -> None:
    """Those that are given take the place of the model's, which else stay."""
    soft = {'soft_lower': -0.5, 'soft_upper': 0.5, 'k_position': 10.0, 'k_velocity': 20.0}
    body = make_body([Joint(-1.0, 1.0, 3.0, effort=50.0, **soft)] * 3, StateFlag.JOINT_EFFORT)
    values = {
        'joints': {
            'j0': {'max_effort': 40.0},
            'j1': {'k_position': 4.0},
            'j2': {'k_velocity': 6.0},
        }
    }
    limits = CommandLimiter(body, parse_parameters(LimitsParameters, values, 'limits'), DT).limits
    assert limits.k_position.tolist() == [10.0, 4.0, 10.0]
    assert limits.k_velocity.tolist() == [20.0, 20.0, 6.0]
