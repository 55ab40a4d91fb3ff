"""The safe state and the commands that hold a robot."""

import math

import numpy as np
import pinocchio as pin
import pytest

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.runtime.safety.commands import Commands
from cnoid_control.runtime.safety.hold import Hold
from cnoid_control.runtime.safety.safe_command import final_values, write_final_command
from cnoid_control.runtime.safety.safe_state import SafeState, SafeStateParameters

DT = 0.001
ARM = """
<robot name="arm">
  <link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
  <link name="upper"><inertial><origin xyz="0 0 0.5"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 0.25"/><mass value="1"/>
    <inertia ixx="0.05" iyy="0.05" izz="0.05"/></inertial></link>
  <link name="slide"><inertial><mass value="0.5"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="1 0 0"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 1"/><axis xyz="1 0 0"/></joint>
  <joint name="tool" type="prismatic"><parent link="lower"/><child link="slide"/>
    <origin xyz="0 0 0.5"/><axis xyz="0 0 1"/></joint>
</robot>
"""


def make_body(mode: StateFlag, root: JointType = JointType.FREE) -> Body:
    """Arm of three joints, all commanded alike, somewhere in motion."""
    body = Body(parse_urdf(ARM, 'arm', root))
    for joint in body.joints:
        joint.actuation_mode = mode
    body.q[:] = [0.3, -0.2, 0.05]
    body.dq[:] = [0.1, 0.2, -0.1]
    return body


@pytest.mark.parametrize('root', [JointType.FREE, JointType.FIXED])
def test_gains_come_from_the_inertia(root: JointType) -> None:
    """Each joint becomes a critically damped spring against the inertia that its effort moves."""
    body = make_body(StateFlag.JOINT_EFFORT, root)
    hold = Hold(body, DT, frequency=20.0)
    hold.capture()
    model = body.model.copy()
    if root is JointType.FIXED:
        mass = [model.inertias[1].mass + 1e9, model.inertias[1].lever, np.eye(3) * 1e9]
        model.inertias[1] = pin.Inertia(*mass)
    for joint in body.joints:
        effort, zero = np.zeros(model.nv), np.zeros(model.nv)
        effort[6 + joint.joint_id] = 1.0
        still = pin.aba(model, model.createData(), body.pin_q(), zero, zero).copy()
        moved = pin.aba(model, model.createData(), body.pin_q(), zero, effort)
        inertia = 1.0 / (moved - still)[6 + joint.joint_id]
        assert hold.kp[joint.joint_id] == pytest.approx(400.0 * inertia, rel=1e-6)
        assert hold.kd[joint.joint_id] == pytest.approx(40.0 * inertia, rel=1e-6)


def test_slow_loops_hold_softly() -> None:
    """The frequency is lowered where the period is too long for it; given gains stay."""
    body = make_body(StateFlag.JOINT_EFFORT)
    hold = Hold(body, 0.01, kp=[0.0, 5.0, 0.0], frequency=30.0)
    fast = Hold(body, 0.001, frequency=10.0)
    hold.capture()
    fast.capture()
    np.testing.assert_allclose(hold.kd, fast.kd)
    assert hold.kp[1] == 5.0


@pytest.mark.parametrize('mode', [StateFlag.JOINT_DISPLACEMENT, StateFlag.JOINT_VELOCITY])
def test_position_holds_and_velocity_is_zero(mode: StateFlag) -> None:
    """Positions stay at what was measured on entry, velocities are zero, whatever comes in."""
    body = make_body(mode)
    safe = SafeState(body, SafeStateParameters(), DT)
    safe.enter('because')
    for fresh in (True, False):
        body.q[:] += 0.1
        body.q_target[:] = body.dq_target[:] = body.u[:] = math.nan
        safe.apply(DT, fresh)
        np.testing.assert_allclose(body.q_target, [0.3, -0.2, 0.05])
        assert body.dq_target.tolist() == [0.0, 0.0, 0.0]
        assert body.u.tolist() == [0.0, 0.0, 0.0]


def test_effort_holds_then_fades() -> None:
    """Efforts are a spring and a damper on fresh states, and fade linearly on old ones."""
    body = make_body(StateFlag.JOINT_EFFORT)
    parameters = SafeStateParameters(kp=100.0, kd=[1.0, 2.0, 3.0], effort_fade_time=0.1)
    safe = SafeState(body, parameters, DT)
    safe.enter('because')
    body.q[:] += [0.01, 0.02, 0.0]
    safe.apply(DT)
    expected = np.array([-1.0 - 0.1, -2.0 - 0.4, 0.3])
    np.testing.assert_allclose(body.u, expected)
    for tick in range(1, 120):
        body.u[:] = 777.0
        safe.apply(DT, fresh=False)
        np.testing.assert_allclose(body.u, expected * max(0.0, 1.0 - tick * DT / 0.1), atol=1e-12)


@pytest.mark.parametrize(('effort', 'estop', 'expected'), [
    ('damping', False, [-0.1, -0.2, 0.1]),
    ('zero', False, [0.0, 0.0, 0.0]),
    ('hold', True, [0.0, 0.0, 0.0]),
])  # fmt: skip
def test_effort_choices(effort: str, estop: bool, expected: list[float]) -> None:
    """Damping damps, zero and the emergency stop command nothing."""
    body = make_body(StateFlag.JOINT_EFFORT)
    safe = SafeState(body, SafeStateParameters(effort=effort, kp=100.0, kd=1.0), DT)
    safe.enter('because', estop=estop)
    body.q[:] += 0.5
    safe.apply(DT)
    np.testing.assert_allclose(body.u, expected, atol=1e-12)


def test_it_is_latched_and_keeps_its_first_reason() -> None:
    """Only a reset ends it; an emergency stop overrules, other reasons do not."""
    body = make_body(StateFlag.JOINT_DISPLACEMENT)
    safe = SafeState(body, SafeStateParameters(), DT)
    assert not safe.is_engaged
    assert not safe.reset()
    safe.enter('first')
    safe.enter('second')
    assert safe.reason == 'first'
    safe.enter('button', estop=True)
    safe.enter('third')
    assert (safe.reason, safe.is_estop, safe.entries) == ('button', True, 2)
    assert safe.reset()
    assert not safe.is_engaged
    assert not safe.is_estop


def test_reset_takes_over_with_a_ramp_from_the_measured_state() -> None:
    """After a reset the commands go from the measured posture to the controller's, smoothly."""
    body = make_body(StateFlag.JOINT_DISPLACEMENT)
    safe = SafeState(body, SafeStateParameters(resume_blend_time=0.1), DT)
    safe.enter('because')
    body.q[:] = [1.0, 1.0, 1.0]
    safe.reset()
    track = []
    for _ in range(120):
        body.q_target[:] = 2.0
        safe.apply(DT)
        track.append(body.q_target[0])
    assert track[0] == pytest.approx(1.0, abs=1e-3)
    assert np.all(np.diff(track) >= 0.0)
    assert np.max(np.diff(track)) <= 1.5 * DT / 0.1 + 1e-12
    assert track[99] == pytest.approx(2.0)
    assert not safe.is_handing_over


def test_unknown_states_hold_the_last_command() -> None:
    """Where a position was never measured, what was commanded last is held."""
    body = make_body(StateFlag.JOINT_DISPLACEMENT)
    body.q[1] = math.nan
    body.q_target[:] = [9.0, 0.7, 9.0]
    safe = SafeState(body, SafeStateParameters(), DT)
    safe.enter('because')
    safe.apply(DT)
    np.testing.assert_allclose(body.q_target, [0.3, 0.7, 0.05])


def test_no_effort_reaches_joints_of_other_modes() -> None:
    """In a robot of several modes each joint gets its own kind of command only."""
    body = make_body(StateFlag.JOINT_EFFORT)
    body.joints[0].actuation_mode = StateFlag.JOINT_DISPLACEMENT
    safe = SafeState(body, SafeStateParameters(kp=10.0, kd=1.0), DT)
    safe.enter('because')
    safe.apply(DT)
    assert body.u[0] == 0.0
    assert body.u[1] == pytest.approx(-0.2)


@pytest.mark.parametrize(
    ('effort', 'stiff', 'damped'), [('hold', 1, 1), ('damping', 0, 1), ('zero', 0, 0)]
)
def test_pid_actuators_hold_damp_or_let_go(effort: str, stiff: int, damped: int) -> None:
    """Their gains become those that hold, and no effort is added; then they are handed back."""
    body = make_body(StateFlag.JOINT_PID)
    body.kp[:], body.ki[:], body.kd[:], body.u[:] = 70.0, 5.0, 3.0, 11.0
    body.q_target[:] = 9.0
    parameters = SafeStateParameters(effort=effort, resume_blend_time=0.1)
    state = SafeState(body, parameters, DT)
    state.enter('test')
    state.apply(DT)
    hold = Hold(body, DT, frequency=parameters.frequency)
    hold.capture()
    np.testing.assert_allclose(body.kp, stiff * hold.kp)
    np.testing.assert_allclose(body.kd, damped * hold.kd)
    assert not body.ki.any()
    assert not body.u.any()
    np.testing.assert_array_equal(body.q_target, body.q)
    state.reset()
    for _ in range(200):
        body.kp[:], body.ki[:], body.kd[:], body.u[:] = 70.0, 5.0, 3.0, 11.0
        state.apply(DT)
    assert (body.kp.tolist(), body.ki.tolist()) == ([70.0] * 3, [5.0] * 3)
    assert body.u.tolist() == [11.0] * 3


def test_bodies_without_joints_or_mass_can_be_held() -> None:
    """A single link, and joints that carry nothing, do not stop the robot from being held."""
    single = '<robot name="box"><link name="box"><inertial><mass value="1"/>'
    single += '<inertia ixx="1" iyy="1" izz="1"/></inertial></link></robot>'
    Hold(Body(parse_urdf(single, 'box')), DT).capture()
    light = ''.join(
        f'<link name="l{i}"/><joint name="j{i}" type="continuous"><parent link="base"/>'
        f'<child link="l{i}"/></joint>'
        for i in range(2)
    )
    body = Body(parse_urdf(f'<robot name="star"><link name="base"/>{light}</robot>', 'star'))
    hold = Hold(body, DT)
    hold.capture()
    assert np.isfinite(hold.kp).all()
    assert (hold.kp < 0.01).all()


def test_what_was_sent_last_fades_where_states_are_missing() -> None:
    """Entered without fresh states, efforts fade from those of the last tick, each time anew."""
    body = make_body(StateFlag.JOINT_EFFORT)
    safe = SafeState(
        body,
        SafeStateParameters(kp=100.0, kd=1.0, effort_fade_time=0.1, resume_blend_time=0.0),
        DT,
    )
    for sent in ([5.0, -6.0, 7.0], [-1.0, 2.0, 0.0]):
        body.u[:] = sent
        safe.enter('no states')
        safe.apply(DT, fresh=False)
        np.testing.assert_allclose(body.u, np.array(sent) * 0.99)
        body.q[:] += 0.2
        safe.apply(DT, fresh=True)
        safe.reset()


def test_states_that_come_back_are_held_where_the_robot_is_then() -> None:
    """A robot that has moved while nothing was known of it is not pulled back."""
    body = make_body(StateFlag.JOINT_EFFORT)
    safe = SafeState(body, SafeStateParameters(kp=100.0, kd=1.0, effort_fade_time=0.1), DT)
    safe.enter('no states')
    safe.apply(DT, fresh=False)
    body.q[:] += 1.0
    body.dq[:] = 0.0
    safe.apply(DT, fresh=True)
    np.testing.assert_allclose(body.u, 0.0, atol=1e-12)
    np.testing.assert_allclose(body.q_target, body.q)
    body.q[:] += 0.01
    safe.apply(DT, fresh=True)
    np.testing.assert_allclose(body.u, -1.0)


def test_nobody_who_takes_the_commands_up_again_is_made_to_jump() -> None:
    """Unheard, positions follow the measured ones and efforts fade, on fresh states too."""
    body = make_body(StateFlag.JOINT_EFFORT)
    safe = SafeState(body, SafeStateParameters(kp=100.0, kd=1.0, effort_fade_time=0.1), DT)
    body.u[:] = [1.0, 2.0, 3.0]
    safe.enter('paused')
    safe.enter('nobody listens', no_subscriber=True)
    assert safe.reason == 'paused'
    for _ in range(101):
        body.q[:] += 0.01
        safe.apply(DT)
        np.testing.assert_allclose(body.q_target, body.q)
    np.testing.assert_allclose(body.u, 0.0, atol=1e-12)
    safe.reset()
    safe.enter('heard again')
    body.q[:] += 0.01
    body.dq[:] = 0.0
    safe.apply(DT)
    np.testing.assert_allclose(body.u, -1.0)


def test_a_fault_in_a_pause_outlives_it() -> None:
    """Any reason takes the place of a pause, which takes the place of none."""
    body = make_body(StateFlag.JOINT_DISPLACEMENT)
    said: list[str] = []
    safe = SafeState(body, SafeStateParameters(), DT, said.append)
    safe.enter('paused', pause=True)
    assert safe.is_pause
    safe.enter('no joint states')
    assert (safe.reason, safe.is_pause, safe.entries) == ('no joint states', False, 1)
    safe.enter('paused', pause=True)
    assert (safe.reason, safe.is_pause) == ('no joint states', False)
    safe.reset()
    safe.enter('paused', pause=True)
    safe.enter('button', estop=True)
    assert (safe.reason, safe.is_pause, safe.is_estop) == ('button', False, True)
    assert said == ['paused', 'no joint states', 'paused', 'button']


def test_commands_are_blended_in_every_channel() -> None:
    """A weight of a quarter leaves three quarters of what was there."""
    first = Commands(np.arange(1.0, 7.0).reshape(6, 1))
    first.blend(Commands(np.full((6, 1), 5.0)), 0.25)
    assert [first.u[0], first.q_target[0], first.dq_target[0]] == [2.0, 2.75, 3.5]
    assert [first.kp[0], first.ki[0], first.kd[0]] == [4.25, 5.0, 5.75]


def test_efforts_that_are_no_numbers_do_not_fade() -> None:
    """They become zero at once."""
    body = Body(parse_urdf(ARM, 'arm'))
    for joint in body.joints:
        joint.actuation_mode = StateFlag.JOINT_EFFORT
    state = SafeState(body, SafeStateParameters(effort_fade_time=1.0), DT)
    body.u[:] = math.nan
    state.enter('test')
    state.apply(DT, fresh=False)
    assert body.u.tolist() == [0.0] * body.num_joints


def test_the_last_command_holds_within_the_limits() -> None:
    """A joint whose limits say nothing is held where it is."""
    body = Body(parse_urdf(ARM, 'arm'))
    body.q_lower[:], body.q_upper[:] = -1.0, 1.0
    body.q_lower[0], body.q_upper[0] = 0.0, 0.0
    body.q[:] = 2.0
    body.q_target[:] = 0.5
    body.dq_target[:], body.u[:] = 3.0, 4.0
    write_final_command(body)
    assert body.q_target.tolist() == [2.0] + [1.0] * (body.num_joints - 1)
    assert not body.dq_target.any()
    assert not body.u.any()


def test_gains_of_pid_actuators_come_back_with_the_controller() -> None:
    """In the safe state they are the safe ones; after a reset they move back by and by."""
    body = make_body(StateFlag.JOINT_PID)
    body.kp[:], body.kd[:] = 7.0, 0.7
    given = SafeStateParameters(kp=100.0, kd=1.0, resume_blend_time=0.1)
    safe = SafeState(body, given, DT)
    safe.enter('test')
    safe.apply(DT)
    assert body.kp.tolist() == [100.0] * body.num_joints
    safe.reset()
    seen = []
    while safe.is_active:
        body.kp[:], body.kd[:] = 7.0, 0.7
        safe.apply(DT)
        seen.append(body.kp[0])
    assert seen[0] == pytest.approx(100.0, abs=1.0)
    assert seen == sorted(seen, reverse=True)
    assert seen[len(seen) // 2] == pytest.approx(53.5, abs=3.0)
    assert seen[-1] == pytest.approx(7.0, abs=0.1)


def test_the_last_command_of_each_interface() -> None:
    """Positions stay as measured, velocities and efforts end."""
    position = np.array([0.3, -0.2])
    assert final_values('position', position).tolist() == [0.3, -0.2]
    assert final_values('velocity', position).tolist() == [0.0, 0.0]
    assert final_values('effort', position).tolist() == [0.0, 0.0]


def test_the_end_of_what_was_to_be_done_is_no_fault() -> None:
    """It is held as in a fault, and expected; a fault takes its place, a reset ends it."""
    body = make_body(StateFlag.JOINT_DISPLACEMENT)
    safe = SafeState(body, SafeStateParameters(), DT)
    safe.enter('finished', finished=True)
    assert safe.is_engaged
    assert safe.is_finished
    assert safe.is_expected
    safe.enter('no joint states')
    assert (safe.reason, safe.is_expected) == ('no joint states', False)
    safe.reset()
    safe.enter('finished', finished=True)
    safe.reset()
    assert not safe.is_expected
    safe.enter('a fault')
    safe.enter('finished', finished=True)
    assert (safe.reason, safe.is_expected) == ('a fault', False)
