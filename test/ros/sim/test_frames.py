"""Frames of a simulated robot in /tf."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

pytest.importorskip('tf2_msgs.msg', reason='interfaces are not built')

from rclpy.node import Node
from robot_rig import RobotRig
from tf2_msgs.msg import TFMessage

from cnoid_control.body import Body, JointType
from cnoid_control.body.devices import Imu
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.messages.frames import WORLD, robot_frames
from cnoid_control.ros.sim.frames import FramePublisher, frame_prefix

TREE = """<robot name="tree"><link name="base"/><link name="upper"/><link name="lower"/>
<joint name="a" type="revolute"><parent link="base"/><child link="upper"/>
<origin xyz="0 0 0.5" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/></joint>
<joint name="b" type="fixed"><parent link="upper"/><child link="lower"/>
<origin xyz="0.4 0 0"/></joint></robot>"""


@pytest.fixture
def body() -> Body:
    """Return a floating robot of three links, with a sensor that is not at its link's origin."""
    description = parse_urdf(TREE, 'tree', JointType.FREE)
    sensor = Imu('sensor')
    sensor.T_local = pin.SE3(
        pin.rpy.rpyToMatrix(0.5, 0.0, 0.0), np.array([0.0, 0.1, 0.2])
    ).homogeneous
    description.devices += [('upper', sensor), ('base', Imu('inner'))]
    return Body(description)


def poses(message: TFMessage) -> dict[str, np.ndarray]:
    """Poses in the world of all frames of a message, by walking from frame to parent."""
    found = {WORLD: np.eye(4)}
    for one in message.transforms:
        turn, place = one.transform.rotation, one.transform.translation
        local = np.eye(4)
        local[:3, :3] = pin.Quaternion(turn.w, turn.x, turn.y, turn.z).toRotationMatrix()
        local[:3, 3] = place.x, place.y, place.z
        assert one.header.frame_id in found, 'a frame comes after its parent'
        assert one.child_frame_id not in found, 'a frame has one parent'
        found[one.child_frame_id] = found[one.header.frame_id] @ local
    return found


def test_all_frames_are_where_the_links_are(rig: RobotRig, body: Body) -> None:
    """Chained through their parents they give the poses of the body's own kinematics."""
    messages = rig.listen(TFMessage, '/tf')
    publisher = FramePublisher(rig.node, body, 'left/', True)
    rig.wait(lambda: publisher._outbox.reader_count)
    body.root_link.p = [1.0, 2.0, 3.0]
    body.root_link.R = pin.rpy.rpyToMatrix(0.3, -0.2, 0.1)
    body.q[:] = 0.7
    publisher.publish(12_000_000_345)
    rig.wait(lambda: messages)
    found = poses(messages[-1])
    assert set(found) == {WORLD, 'left/base', 'left/upper', 'left/lower', 'left/sensor'}
    body.calc_forward_kinematics()
    for link in body.links:
        np.testing.assert_allclose(found[f'left/{link.name}'][:3, 3], link.p, atol=1e-12)
        np.testing.assert_allclose(found[f'left/{link.name}'][:3, :3], link.R, atol=1e-12)
    sensor = next(device for device in body.devices if device.name == 'sensor')
    np.testing.assert_allclose(
        found['left/sensor'][:3, 3], sensor.link.p + sensor.link.R @ sensor.T_local[:3, 3]
    )
    stamps = {(one.header.stamp.sec, one.header.stamp.nanosec) for one in messages[-1].transforms}
    assert stamps == {(12, 345)}


def test_the_root_alone_where_others_have_the_links(body: Body) -> None:
    """One frame; none where the root is the world itself."""
    assert [(one.name, one.parent) for one in robot_frames(body, '', False)] == [('base', WORLD)]
    world = Body(parse_urdf(TREE.replace('base', WORLD), 'tree', JointType.FIXED))
    assert [one.name for one in robot_frames(world, '', True)] == ['upper', 'lower']
    assert [one.parent for one in robot_frames(world, 'a/', False)] == [WORLD]


def test_nothing_is_published_that_nobody_hears(rig: RobotRig, body: Body, monkeypatch) -> None:
    """Kinematics cost: without a listener there are none."""
    publisher = FramePublisher(rig.node, body, '', True)
    monkeypatch.setattr(body, 'calc_forward_kinematics', lambda *given: pytest.fail('for nobody'))
    publisher.publish(1)


def test_the_prefix_is_the_namespace_unless_one_is_given(ros_context) -> None:
    """Robots share /tf: their frames must not have the same names."""
    node = Node('robot', namespace='/fleet/left', context=ros_context)
    assert frame_prefix(node, 'auto') == 'fleet/left/'
    assert frame_prefix(node, '') == ''
    assert frame_prefix(node, 'r1_') == 'r1_'
    plain = Node('robot', context=ros_context)
    assert frame_prefix(plain, 'auto') == ''
    for one in (node, plain):
        one.destroy_node()
