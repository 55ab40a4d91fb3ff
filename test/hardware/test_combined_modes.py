"""Joints that follow displacement and velocity at once, ALL_STATE_HIGH_GAIN, and root motion."""

from __future__ import annotations

import numpy as np
import pytest

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.description import BodyDescription, Box, LinkDescription, Shape
from cnoid_control.hardware.exceptions import UnsupportedChannel
from cnoid_control.hardware.hardware import Hardware, IORequest
from cnoid_control.hardware.kinematic import KinematicHardware, KinematicParameters

FOLLOWING = StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY
DT = 0.002


def floating_arm(root_type: JointType = JointType.FREE) -> Body:
    """A root that carries one joint about its y axis, far above the ground."""
    root = LinkDescription('root', joint_type=root_type, mass=2.0, inertia=0.1 * np.eye(3))
    root.translation = np.array([0.0, 0.0, 5.0])
    arm = LinkDescription('arm', 'root', joint_type=JointType.REVOLUTE, joint_id=0, mass=0.5)
    arm.joint_axis = np.array([0.0, 1.0, 0.0])
    arm.inertia = 0.05 * np.eye(3)
    arm.center_of_mass = np.array([0.0, 0.0, -0.2])
    arm.shapes = [Shape(Box((0.05, 0.05, 0.05)))]
    return Body(BodyDescription('floating', [root, arm]))


def make(kind: str, body: Body, physics_steps: int = 2, **parameters: float) -> Hardware:
    """Hardware of a kind."""
    if kind == 'kinematic':
        return KinematicHardware(body, KinematicParameters(), DT)
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    from cnoid_control.hardware.mujoco import MujocoHardware, MujocoParameters

    step = DT / physics_steps
    return MujocoHardware(body, MujocoParameters(time_step=step, **parameters), DT)


SIMULATORS = pytest.mark.parametrize('kind', ['mujoco', 'kinematic'])


def track(hardware: Hardware, mode: StateFlag, ticks: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Displacement and velocity errors of a joint that follows a sine by a mode."""
    joint = hardware.body.joint(0)
    hardware.open(IORequest(outputs={'arm': mode}))
    errors = []
    for tick in range(ticks):
        hardware.read()
        time = tick * DT
        # The state of tick k + 1 is the command of tick k - 1: it acts one tick later.
        past = time - 2 * DT
        errors.append((joint.q - np.sin(5 * past), joint.dq - 5 * np.cos(5 * past)))
        joint.q_target, joint.dq_target = np.sin(5 * time), 5 * np.cos(5 * time)
        hardware.write()
    q, dq = np.array(errors[ticks // 2 :]).T
    return q, dq


def test_a_velocity_target_removes_the_lag_of_a_servo():
    """In physics the joint lags by kd / kp times the velocity without one, and not with one."""
    gains = {'servo_stiffness': 200.0, 'servo_damping': 20.0}
    lagging, _ = track(
        make('mujoco', floating_arm(JointType.FIXED), **gains), StateFlag.JOINT_DISPLACEMENT
    )
    following, speed = track(make('mujoco', floating_arm(JointType.FIXED), **gains), FOLLOWING)
    assert np.abs(lagging).max() > 0.3
    assert np.abs(following).max() < 0.2 * np.abs(lagging).max()
    assert np.abs(speed).max() < 0.6


def test_servo_torque_is_the_law(monkeypatch):
    """The joint's effort is kp (q* - q) + kd (dq* - dq), and + u in ALL_STATE_HIGH_GAIN."""
    for mode, effort in ((FOLLOWING, 0.0), (StateFlag.ALL_STATE_HIGH_GAIN, 1.5)):
        body = floating_arm(JointType.FIXED)
        hardware = make('mujoco', body, 1, servo_stiffness=50.0, servo_damping=3.0)
        joint = body.joint(0)
        joint.q_target, joint.dq_target, joint.u = 0.1, 0.7, 1.5
        hardware.open(IORequest(outputs={'arm': mode}, inputs={'arm': StateFlag.JOINT_EFFORT}))
        hardware.read()
        hardware.read()
        assert joint.u == pytest.approx(50.0 * 0.1 + 3.0 * 0.7 + effort, rel=1e-6)


def test_ideal_robot_takes_both_over():
    """Displacement and velocity are those that were commanded, even if they disagree."""
    body = floating_arm()
    hardware = make('kinematic', body)
    hardware.open(IORequest(outputs={'arm': FOLLOWING}))
    hardware.read()
    body.joint(0).q_target, body.joint(0).dq_target = 0.3, -1.25
    hardware.write()
    hardware.read()
    hardware.read()
    assert (body.joint(0).q, body.joint(0).dq) == (0.3, -1.25)


@SIMULATORS
def test_all_state_high_gain_imposes_root_and_joints(kind):
    """Every link may be in that mode; the root follows its pose, the joint its displacement."""
    body = floating_arm()
    hardware = make(kind, body)
    everything = StateFlag.ALL_STATE_HIGH_GAIN
    hardware.open(IORequest(outputs={'root': everything, 'arm': everything}))
    root, joint = body.root_link, body.joint(0)
    for tick in range(500):
        hardware.read()
        time = tick * DT
        root.p = [0.2 * time, 0.0, 5.0]
        root.R = np.eye(3)
        root.v, root.w = [0.2, 0.0, 0.0], np.zeros(3)
        joint.q_target, joint.dq_target = 0.5 * time, 0.5
        joint.u = 0.75
        hardware.write()
    hardware.read()
    assert root.p[0] == pytest.approx(0.2 * time, abs=2e-3)
    assert root.v[0] == pytest.approx(0.2, rel=1e-3)
    assert joint.q == pytest.approx(0.5 * time, abs=5e-3)
    if kind == 'kinematic':
        assert joint.u == 0.75


@SIMULATORS
def test_root_acceleration_moves_the_root(kind):
    """A constant acceleration gives v = a t and p = a t^2 / 2, gravity or not."""
    body = floating_arm()
    hardware = make(kind, body)
    hardware.open(IORequest(outputs={'root': StateFlag.LINK_ACCELERATION}))
    root = body.root_link
    for _ in range(501):
        hardware.read()
        root.dv, root.dw = [0.4, 0.0, 0.1], [0.0, 0.0, 0.3]
        hardware.write()
    elapsed = 499 * DT
    np.testing.assert_allclose(root.v, np.array([0.4, 0.0, 0.1]) * elapsed, atol=2e-3)
    np.testing.assert_allclose(root.w, [0.0, 0.0, 0.3 * elapsed], atol=2e-3)
    np.testing.assert_allclose(
        root.p - [0.0, 0.0, 5.0], np.array([0.2, 0.0, 0.05]) * elapsed**2, atol=2e-3
    )


@SIMULATORS
@pytest.mark.parametrize(
    ('link', 'mode', 'named'),
    [
        ('arm', StateFlag.LINK_ACCELERATION, 'LINK_ACCELERATION'),
        ('arm', StateFlag.JOINT_ACCELERATION, 'JOINT_ACCELERATION'),
        ('root', StateFlag.JOINT_EFFORT, 'JOINT_EFFORT'),
        ('root', StateFlag.LINK_POSITION | StateFlag.LINK_ACCELERATION, 'LINK_ACCELERATION'),
        ('arm', StateFlag.JOINT_VELOCITY | StateFlag.JOINT_EFFORT, 'JOINT_VELOCITY'),
    ],
)
def test_other_modes_are_refused_by_name(kind, link, mode, named):
    """What a link cannot be commanded by is named, with what it can be."""
    hardware = make(kind, floating_arm())
    with pytest.raises(UnsupportedChannel, match=rf'{named}.*{link}'):
        hardware.open(IORequest(outputs={link: mode}))


def test_labels_name_every_flag():
    """A set of flags is written as one would write it, on every Python."""
    assert StateFlag.JOINT_EFFORT.label == 'JOINT_EFFORT'
    assert FOLLOWING.label == 'JOINT_DISPLACEMENT | JOINT_VELOCITY'
    assert StateFlag.NONE.label == 'NONE'
