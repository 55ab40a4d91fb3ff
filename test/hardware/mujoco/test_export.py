"""A robot as an MJCF file for other programs."""

import mujoco
import pytest

from cnoid_control.hardware.mujoco.export import write_mjcf
from cnoid_control.hardware.mujoco.parameters import MujocoParameters
from cnoid_control.runtime.config import RobotParameters
from cnoid_control.runtime.defaults import make_robot


def exported(folder, **robot):
    """Return the body, and the model read from the file in the state of its keyframe."""
    body = make_robot(RobotParameters(**robot))
    path = folder / 'robot.xml'
    root = write_mjcf(body, MujocoParameters(), 0.001, path)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return body, root, model, data


def test_the_file_has_the_robots_dynamics(tmp_path):
    """In its start posture gravity loads the joints as the body's potential energy says."""
    body, root, model, data = exported(
        tmp_path, model='arm.urdf', posture=[0.0, 0.3, 0.0, 1.5, 0.0, 0.4, 0.0]
    )
    assert (root, model.nu) == ('', 7)
    assert [data.joint(name).qpos[0] for name in body.joint_names] == pytest.approx(body.q)
    weights = []
    for joint in range(7):
        # How the potential energy changes, by finite differences.
        energy = []
        for sign in (-1e-5, 1e-5):
            q = body.q.copy()
            body.q[joint] += sign
            body.calc_forward_kinematics()
            energy.append(body.mass * 9.80665 * body.calc_center_of_mass()[2])
            body.q[:] = q
        weights.append((energy[1] - energy[0]) / 2e-5)
    assert data.qfrc_bias == pytest.approx(weights, abs=1e-3)


def test_motors_take_efforts(tmp_path):
    """A command of 1 is an effort of 1 in the joint of the motor's name."""
    _, _, model, data = exported(tmp_path, model='arm.urdf')
    data.actuator('joint2').ctrl[0] = 1.0
    mujoco.mj_forward(model, data)
    assert data.joint('joint2').qfrc_actuator[0] == pytest.approx(1.0)


def test_a_floating_robot_stands_where_it_starts(tmp_path):
    """The keyframe has the root's place, and its free joint is named."""
    body, root, _, data = exported(tmp_path, model='sr1.urdf')
    assert data.joint(root).qpos[:3] == pytest.approx(body.root_link.p)
    assert data.sensor('WaistIMU_quat').data == pytest.approx([1.0, 0.0, 0.0, 0.0])


def test_inertias_at_the_edge_are_written_so_that_they_can_be_read(tmp_path):
    """Thin plates fulfil the triangle inequality to the last digit, which a file rounds."""
    model = tmp_path / 'plate.urdf'
    model.write_text(
        '<robot name="plate"><link name="plate"><inertial><mass value="1"/>'
        '<inertia ixx="0.123456789" iyy="0.345678912" izz="0.469135701" ixy="0" ixz="0" iyz="0"/>'
        '</inertial></link></robot>'
    )
    _, _, read, _ = exported(tmp_path, model=str(model))
    assert sorted(read.body_inertia[1]) == pytest.approx(
        [0.123456789, 0.345678912, 0.469135701], rel=3e-5
    )
