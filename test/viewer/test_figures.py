"""What is drawn over a robot, as points and colours."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from cnoid_control.body.description import StateFlag
from cnoid_control.simulation import Simulation, load_robot
from cnoid_control.viewer import figures
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.layers import bar_turn, is_inside


@pytest.mark.parametrize('seed', range(5))
def test_the_hull_is_that_of_scipy(seed):
    """The same corners, counter-clockwise, from any points."""
    points = np.random.default_rng(seed).normal(size=(40, 2))
    hull = figures.convex_hull(points)
    other = points[ConvexHull(points).vertices]
    begin = int(np.argmin(np.linalg.norm(other - hull[0], axis=1)))
    np.testing.assert_allclose(hull, np.roll(other, -begin, axis=0), atol=1e-8)


@pytest.mark.parametrize(
    'points', [np.zeros((0, 2)), np.zeros((4, 2)), np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])]
)
def test_a_hull_without_an_area_has_no_more_corners_than_points(points):
    """No points, one point and points on a line are no error."""
    assert len(figures.convex_hull(points)) <= min(2, len(points))


def test_the_support_polygon_is_the_hull_of_what_pushes_upwards():
    """Contacts that do not carry the robot are no part of it."""
    contacts = np.zeros((5, 7))
    contacts[:4, 1:3] = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    contacts[4, 1:4] = [5.0, 5.0, 2.0]
    contacts[:, 3] += 0.1
    contacts[:4, 6] = 10.0
    contacts[4, 4] = 30.0
    polygon = figures.support_polygon(contacts, 1.0)
    np.testing.assert_allclose(polygon[:, 2], 0.1)
    assert ConvexHull(polygon[:, :2]).volume == pytest.approx(1.0)
    assert is_inside(np.array([0.5, 0.5]), polygon[:, :2])
    assert not is_inside(np.array([1.5, 0.5]), polygon[:, :2])


@pytest.fixture(scope='module')
def standing():
    """SR1 after it has stood for half a second."""
    with Simulation('sr1_pd') as sim:
        sim.run(0.5)
        yield sim


def test_contact_arrows_begin_at_the_contacts_and_carry_the_robot(standing):
    """Their heads are the forces; together they are the robot's weight."""
    contacts = standing.hardware.contact_forces()
    scale = 0.01
    arrows = figures.contact_arrows(contacts, scale)
    np.testing.assert_allclose(arrows[:, 0], contacts[:, 1:4])
    forces = (arrows[:, 1] - arrows[:, 0]) / scale
    weight = standing.robot.mass * 9.80665
    np.testing.assert_allclose(forces.sum(axis=0), [0.0, 0.0, weight], atol=0.03 * weight)


def test_arrows_of_force_sensors_are_in_world_axes(standing):
    """A sensor's own axes are turned with its link."""
    body = standing.robot.clone()
    body.root_link.R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    body.calc_forward_kinematics()
    sensor = next(device for device in body.devices if hasattr(device, 'F'))
    frame = Frame(devices={sensor.name: {'F': np.array([10.0, 0.0, 0.0, 1.0, 2.0, 3.0])}})
    ((start, end),) = figures.sensor_arrows(body, frame, 0.1)
    np.testing.assert_allclose(start, sensor.link.p + sensor.link.R @ sensor.p_local)
    np.testing.assert_allclose(end - start, sensor.link.R @ sensor.R_local[:, 0])


def test_colours_of_joints_tell_which_limit_acts():
    """The kind that acts wins over a limit that is near, which wins over neither."""
    body = load_robot('arm')
    names = body.joint_names
    frame = Frame(q=np.zeros(body.num_joints), dq=np.zeros(body.num_joints), u=np.zeros(0))
    assert (figures.joint_colors(body, frame) == figures.FREE).all()
    frame.q[1] = 0.99 * body.q_upper[1]
    frame.q[2] = 0.99 * body.q_upper[2]
    frame.limited = {'effort': [names[2]], 'soft': [names[3]]}
    colors = [tuple(color) for color in figures.joint_colors(body, frame).tolist()]
    wanted = [figures.FREE, figures.NEAR, figures.KIND_COLORS['effort'], figures.OTHER_COLOR]
    assert colors[:4] == wanted


def test_points_of_a_lidar_lie_on_the_wall_that_it_sees(tmp_path):
    """Every point is on the front of a box at x = 1, in world axes."""
    model = tmp_path / 'eye.urdf'
    model.write_text(EYE)
    config = tmp_path / 'eye.yaml'
    config.write_text(EYE_CONFIG)
    from cnoid_control import SimpleController

    class Looking(SimpleController):
        """Reads the sensor."""

        def initialize(self, io):
            """Ask for the sensor."""
            for device in io.body.devices:
                io.enable_input(device)
            for joint in io.body.joints:
                joint.actuation_mode = StateFlag.JOINT_TORQUE
                io.enable_io(joint)
            return True

        def control(self):
            """Do nothing."""
            return True

    with Simulation(config, controller=Looking) as sim:
        sim.run(0.3)
        body = sim.robot.clone()
        body.calc_forward_kinematics()
        devices = {
            device.name: {name: getattr(device, name) for name in device.data_fields}
            for device in sim.robot.devices
        }
        points = figures.seen_points(body, Frame(devices=devices))
    assert len(points) > 10
    np.testing.assert_allclose(points[:, 0], 1.0, atol=1e-3)
    assert np.ptp(points[:, 1]) > 0.2


def test_a_bar_lies_along_its_axis():
    """The Z axis of the bar is turned to the joint's axis."""
    import pinocchio as pin

    for axis in np.vstack([np.eye(3), -np.eye(3), [[0.6, 0.0, 0.8]]]):
        w, x, y, z = bar_turn(axis)
        turned = pin.Quaternion(w, x, y, z).matrix() @ [0.0, 0.0, 1.0]
        np.testing.assert_allclose(turned, axis, atol=1e-9)


EYE = """
<robot name="eye">
  <link name="base"/>
  <link name="head"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="neck" type="revolute"><parent link="base"/><child link="head"/>
    <origin xyz="0 0 0.5"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10" velocity="10"/></joint>
  <gazebo reference="head"><sensor name="lidar" type="gpu_lidar"><update_rate>20</update_rate>
    <lidar><scan><horizontal><samples>31</samples><min_angle>-0.2</min_angle>
      <max_angle>0.2</max_angle></horizontal></scan>
      <range><min>0.1</min><max>5</max></range></lidar></sensor></gazebo>
</robot>
"""
EYE_CONFIG = """
/**:
  ros__parameters:
    robot: {model: eye.urdf, base: fixed}
    rate: 200.0
    controller: pd
    hardware:
      type: mujoco
      mujoco:
        objects:
          wall: {shape: box, size: [0.2, 3.0, 2.0], position: [1.1, 0.0, 1.0]}
"""
