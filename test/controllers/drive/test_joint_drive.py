"""Joint actuators: what each mode commands, and the law of the controller's own PID."""

from __future__ import annotations

import io

import numpy as np
import pinocchio as pin
import pytest
from controllers.arm import make_arm

from cnoid_control.body import Body, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription, Mimic
from cnoid_control.body.gains import joint_gains
from cnoid_control.body.kinematics import calc_inverse_dynamics
from cnoid_control.controllers.drive import DriveMode, DriveParameters, JointDrive
from cnoid_control.controllers.drive.laws import Feedforward, InverseDynamics, Pid
from cnoid_control.parameters import ParameterError
from cnoid_control.plugin import ControllerIO, StateFlag

DT = 0.01


def make_drive(body=None, **options) -> tuple[JointDrive, ControllerIO]:
    """Drive of the arm's joints."""
    door = ControllerIO('test', body or make_arm(), DT, os=io.StringIO())
    return JointDrive(door, DriveParameters(**options)), door


@pytest.mark.parametrize(
    ('actuators', 'channel'),
    [
        ('hardware', StateFlag.JOINT_PID),
        ('controller', StateFlag.JOINT_EFFORT),
        ('servo', StateFlag.JOINT_DISPLACEMENT),
    ],
)
def test_channels_follow_from_who_closes_the_loop(actuators: str, channel: StateFlag) -> None:
    """Outputs have that mode, and positions and velocities are read."""
    _, door = make_drive(actuators=actuators)
    for joint in door.body.joints:
        assert joint.actuation_mode == channel
        assert door.inputs[joint.name] == StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY


def test_modes_are_mixed_joint_by_joint() -> None:
    """A servoed joint has gains, one under torque has none and takes its place for reference."""
    drive, door = make_drive(kp=100.0, kd=[1.0, 2.0])
    body = door.body
    body.q[:] = [0.1, 0.2]
    drive.set_pid(np.array([0]), 0.5, 0.3, 4.0)
    drive.set_torque(np.array([1]), 7.0)
    drive.write(DT)
    assert body.q_target.tolist() == [0.5, 0.2]
    assert body.dq_target.tolist() == [0.3, 0.0]
    assert body.u.tolist() == [4.0, 7.0]
    assert (body.kp.tolist(), body.kd.tolist()) == ([100.0, 0.0], [1.0, 0.0])
    drive.set_off(np.array([1]))
    drive.write(DT)
    assert body.u[1] == 0.0
    assert [DriveMode(mode).name for mode in drive.modes] == ['PID', 'OFF']


def test_a_locked_velocity_moves_the_reference_up_to_the_limit() -> None:
    """The position goes on by dq dt each tick and stops where the joint ends."""
    drive, door = make_drive()
    drive.set_velocity(np.array([1]), 1.5)
    for _ in range(10):
        drive.write(DT)
    assert door.body.q_target[1] == pytest.approx(0.15)
    for _ in range(1000):
        drive.write(DT)
    assert door.body.q_target[1] == 2.0


def test_the_commanded_position_goes_on_from_a_servo() -> None:
    """After position commands the drive starts from these, else from where the joint is."""
    body = make_arm()
    body.q[:], body.q_target[:] = [0.1, 0.2], [0.3, 0.4]
    body.joints[0].actuation_mode = StateFlag.JOINT_DISPLACEMENT
    body.joints[1].actuation_mode = StateFlag.JOINT_EFFORT
    drive, _ = make_drive(body)
    assert drive.q.tolist() == [0.3, 0.2]


def test_gains_need_one_value_or_one_a_joint() -> None:
    """The option and the numbers are named."""
    with pytest.raises(ParameterError, match=r'kp.*1 or 2 values'):
        make_drive(kp=[1.0, 2.0, 3.0])


def test_pid_law() -> None:
    """The effort is the sum of its terms; the integral's share is bounded, and so is the whole."""
    pid = Pid(np.array([-10.0]), np.array([10.0]))
    gains = np.array([[3.0], [2.0], [0.5]])
    first = pid.effort(np.array([1.0]), np.array([0.4]), np.array([0.1]), gains, 0.1)
    assert first == pytest.approx([3.0 * 1.0 + 0.5 * 0.4 + 2.0 * 0.1 + 0.1])
    for _ in range(1000):
        effort = pid.effort(np.array([1.0]), np.zeros(1), np.zeros(1), gains, 0.1)
    assert effort == [10.0]
    relaxed = pid.effort(np.array([0.0]), np.zeros(1), np.zeros(1), gains, 0.1)
    assert relaxed == pytest.approx([10.0]), 'the integral alone is at the limit, not beyond'


def test_pid_tells_what_it_has_limited() -> None:
    """A clipped effort and an integral that is held back are told, by their kinds and places."""
    told: list[tuple[str, list[int]]] = []
    pid = Pid(np.full(2, -10.0), np.full(2, 10.0), lambda *it: told.append((it[0], [*it[1]])))
    gains = np.array([[3.0, 3.0], [0.0, 2.0], [0.0, 0.0]])
    pid.effort(np.array([3.0, 1.0]), np.zeros(2), np.zeros(2), gains, 0.1)
    assert told == []
    pid.effort(np.array([4.0, 0.0]), np.zeros(2), np.zeros(2), gains, 0.1)
    assert told == [('effort', [0])]
    told.clear()
    # Held back, and yet less than the limit in all: the other terms pull the other way.
    pid.effort(np.array([0.0, 1.0]), np.zeros(2), np.array([0.0, -9.0]), gains, 6.0)
    assert told == [('integral', [1])]


def test_feedforward_is_inverse_dynamics() -> None:
    """Torques of a motion are those of pinocchio; of gravity alone, those at rest."""
    body = make_arm()
    q, dq, ddq = np.array([0.4, -0.7]), np.array([1.0, -0.5]), np.array([2.0, 3.0])
    feedforward = Feedforward(body, np.array([0, 1]))
    model, data = body.model, body.model.createData()
    configuration = np.concatenate([body.pin_q()[:7], q])
    velocity, acceleration = (np.concatenate([np.zeros(6), x]) for x in (dq, ddq))
    moving = pin.rnea(model, data, configuration, velocity, acceleration)[6:].copy()
    resting = pin.rnea(model, data, configuration, np.zeros(8), np.zeros(8))[6:].copy()
    np.testing.assert_allclose(feedforward.torque('dynamics', q, dq, ddq), moving)
    np.testing.assert_allclose(feedforward.torque('gravity', q, dq, ddq), resting)
    assert not feedforward.torque('none', q, dq, ddq).any()


def test_a_joint_bears_what_mimics_it() -> None:
    """The model's effort of a joint holds the joints that follow it too, by their multiplier."""
    axis, off = np.array([0.0, 1.0, 0.0]), np.array([0.3, 0.0, 0.0])
    kind, joint = JointType.REVOLUTE, {'joint_axis': axis, 'center_of_mass': off}
    body = Body(
        BodyDescription(
            'gripper',
            [
                LinkDescription('palm', joint_type=JointType.FIXED),
                LinkDescription('thumb', 'palm', joint_type=kind, joint_id=0, **joint),
                LinkDescription(
                    'finger', 'palm', joint_type=kind, mimic=Mimic('thumb', 2.0), **joint
                ),
            ],
        )
    )
    rate, rise = np.array([0.7]), np.array([-1.1])
    effort = InverseDynamics(body).effort(body.q, rate, rise)
    body.dq[:], body.ddq[:] = rate, rise
    body.root_link.dv = [0.0, 0.0, 9.80665]
    calc_inverse_dynamics(body.root_link)
    assert effort == pytest.approx(body.u)
    assert abs(effort[0]) > 5.0


def test_gains_that_nobody_gave_are_those_of_the_robot() -> None:
    """As `pd` has them, for the joints that are driven; each kind of gain by itself."""
    body = make_arm()
    body.calc_forward_kinematics()
    auto = joint_gains(body, DT)
    drive, _ = make_drive(body)
    np.testing.assert_allclose(drive.gains, [auto.kp, np.zeros(body.num_joints), auto.kd])
    some = [joint.joint_name for joint in body.joints][1::-1]
    drive, _ = make_drive(make_arm(), joints=some)
    np.testing.assert_allclose(drive.gains[0], auto.kp[drive.joints])
    # Damping belongs to the stiffness that is in force.
    half = (0.5 * auto.kp).tolist()
    drive, _ = make_drive(make_arm(), kp=half)
    np.testing.assert_allclose(drive.gains[2], auto.damping_of(0.5 * auto.kp))
    drive, _ = make_drive(make_arm(), kd=3.0)
    np.testing.assert_allclose(drive.gains[0], auto.kp)
    np.testing.assert_allclose(drive.gains[2], 3.0)
    np.testing.assert_allclose(drive.find_gains(DriveParameters()), make_drive()[0].gains)
