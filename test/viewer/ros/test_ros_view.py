"""The view beside a running ROS system."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import TransformStamped, Twist
from mujoco_rig import ARM
from nav_msgs.msg import Odometry
from node_rig import NodeRig, write_config
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.viewer.frame import ENDED, ESTOP, PAUSED, RUNNING
from cnoid_control.viewer.ros_feed import FrameTree
from cnoid_control.viewer.ros_source import RosSource, RosViewOptions

FLOATING = ARM.replace(
    '<link name="base"/>',
    """<link name="base"><inertial><mass value="3"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>""",
)


def wait_for(condition, act=lambda: None, timeout=30.0):
    """Repeat something until a condition holds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, 'it has not come to that'
        act()
        time.sleep(0.02)


@pytest.fixture
def describe(ros_node):
    """Return a function that publishes a robot's description, latched."""
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = ros_node.create_publisher(String, 'robot_description', latched)
    return lambda text: publisher.publish(String(data=text))


@pytest.fixture
def view(ros_context):
    """Return a function that makes a source, closed at the end."""
    made = []

    def make(**options):
        made.append(RosSource(RosViewOptions(**options), ros_context))
        return made[-1]

    yield make
    for source in made:
        source.close()


def transform(parent, child, place, turn=(0.0, 0.0, 0.0, 1.0)):
    """Return a transform of tf."""
    message = TransformStamped()
    message.header.frame_id, message.child_frame_id = parent, child
    part = message.transform
    part.translation.x, part.translation.y, part.translation.z = place
    part.rotation.x, part.rotation.y, part.rotation.z, part.rotation.w = turn
    return message


def test_description_joint_states_and_tf_are_enough(ros_node, describe, view):
    """Posture and base are shown; what nobody serves is refused by name."""
    describe(FLOATING)
    source = view()
    states = ros_node.create_publisher(JointState, 'joint_states', 10)
    frames = ros_node.create_publisher(TFMessage, '/tf', 10)
    half = math.sqrt(0.5)

    def publish():
        message = JointState(name=['elbow', 'wheel', 'shoulder'], position=[0.4, 9.0, -0.7])
        message.velocity, message.effort = [1.0, 9.0, 2.0], [5.0, math.nan, 6.0]
        message.header.stamp.sec = 3
        states.publish(message)
        turned = transform('odom', 'base', (1.0, 0.0, 0.5), (0.0, 0.0, half, half))
        frames.publish(TFMessage(transforms=[transform('map', 'odom', (0.0, 2.0, 0.0)), turned]))

    wait_for(lambda: (source.frame() is not None) and source.frame().root[1] == 2.0, publish)
    frame = source.frame()
    assert [joint.joint_name for joint in source.body.joints] == ['shoulder', 'elbow']
    np.testing.assert_allclose(frame.q, [-0.7, 0.4])
    np.testing.assert_allclose(frame.dq, [2.0, 1.0])
    np.testing.assert_allclose(frame.u, [6.0, 5.0])
    np.testing.assert_allclose(frame.root, [1.0, 2.0, 0.5, 0.0, 0.0, half, half], atol=1e-12)
    assert (frame.time, frame.state) == (3.0, RUNNING)
    refusals = source.describe().refusals
    assert refusals['estop'] == 'there is no node /cnoid_control'
    assert 'nothing simulates the robot' in refusals['push']
    assert refusals['velocity'] == 'nobody listens to /cmd_vel'
    with pytest.raises(CnoidControlError, match='/cnoid_control/estop is not there'):
        source.act('estop')
    with pytest.raises(CnoidControlError, match="unknown action 'fly'"):
        source.act('fly')
    with pytest.raises(CnoidControlError, match='no single steps'):
        source.act('step')


def test_odometry_says_where_the_base_is(ros_node, describe, view):
    """Where it was asked for; its twist is turned into world axes."""
    describe(FLOATING)
    source = view(odometry='odom')
    states = ros_node.create_publisher(JointState, 'joint_states', 10)
    odometry = ros_node.create_publisher(Odometry, 'odom', 10)
    half = math.sqrt(0.5)
    message = Odometry(child_frame_id='base')
    message.pose.pose.position.x = 4.0
    message.pose.pose.orientation.z = message.pose.pose.orientation.w = half
    message.twist.twist.linear.x = 1.0

    def publish():
        states.publish(JointState(name=['elbow'], position=[0.1]))
        odometry.publish(message)

    wait_for(lambda: (source.frame() is not None) and source.frame().root[0] == 4.0, publish)
    # Ahead of a base that is turned to the left is along y.
    np.testing.assert_allclose(source.frame().root_motion[:3], [0.0, 1.0, 0.0], atol=1e-12)


def test_a_robot_that_falls_silent_is_said_to(ros_node, describe, view, monkeypatch):
    """After a while, with how long."""
    monkeypatch.setattr('cnoid_control.viewer.ros_feed.SILENCE', 0.5)
    describe(ARM)
    source = view()
    states = ros_node.create_publisher(JointState, 'joint_states', 10)
    wait_for(
        lambda: source.frame() is not None,
        lambda: states.publish(JointState(name=['elbow'], position=[0.1])),
    )
    wait_for(lambda: source.frame().state == ENDED)
    assert 'no joint states' in source.frame().reason


def test_nobody_describes_the_robot(view):
    """It is said which topic was waited for."""
    with pytest.raises(CnoidControlError, match="'/arm/robot_description': no robot description"):
        view(namespace='arm', timeout=0.3)


def test_velocities_are_published_as_they_are_listened_to(ros_node, describe, view, spin_until):
    """The stick at its end is the usual full speed."""
    describe(ARM)
    source = view()
    heard = []
    ros_node.create_subscription(Twist, 'cmd_vel', heard.append, 10)
    wait_for(lambda: 'velocity' not in source.describe().refusals)
    assert spin_until(lambda: heard or not source.act('velocity', x=0.5, yaw=-1.0) or heard)
    assert spin_until(lambda: bool(heard))
    assert heard[-1].linear.x > 0.0
    assert heard[-1].angular.z < 0.0
    with pytest.raises(CnoidControlError, match='-1 to 1'):
        source.act('velocity', x=math.nan)


def test_a_circle_in_tf_is_no_pose():
    """It is not followed for ever."""
    tree = FrameTree()
    assert tree.pose('a') is None
    tree.take(TFMessage(transforms=[transform('b', 'a', (1.0, 0.0, 0.0))]))
    np.testing.assert_allclose(tree.pose('a').translation, [1.0, 0.0, 0.0])
    tree.take(TFMessage(transforms=[transform('a', 'b', (1.0, 0.0, 0.0))]))
    assert tree.pose('a') is None


def test_the_page_acts_through_the_nodes(ros_node, spin_until, start_process, tmp_path, view):
    """Options, swap, pause, push, e-stop and reset, each read back from the nodes themselves."""
    rig = NodeRig(ros_node, spin_until, start_process, write_config(tmp_path))
    rig.start_robot()
    rig.start_node('-p', 'simulation_reset:=cnoid_control_mujoco/reset')
    rig.wait_for_state('active')
    source = view(timeout=60.0)
    wait_for(lambda: source.frame() is not None and source.frame().controller == 'hold')
    np.testing.assert_allclose(source.frame().q, [0.3, -0.2], atol=0.1)
    description = source.describe()
    assert 'pd' in description.controllers
    assert description.links == ['base', 'upper', 'lower']
    options = {option.key: option for option in description.options}
    assert options['hold.kp'].value == 300.0
    assert options['hold.kp'].kind == 'float'

    source.act('option', key='hold.kp', value=250.0)
    assert rig.get('hold.kp') == 250.0
    with pytest.raises(CnoidControlError, match=r'hold\.nonsense'):
        source.act('option', key='hold.nonsense', value=1.0)
    with pytest.raises(CnoidControlError, match='nonsense'):
        source.act('swap', controller='nonsense')
    source.act('swap', controller='pd')
    assert rig.get('controller') == 'pd'
    wait_for(lambda: source.frame().controller == 'pd')
    revision = source.frame().revision
    assert revision > 0

    source.act('pause')
    wait_for(lambda: source.frame().state == PAUSED)
    source.act('resume')
    text = source.act('push', link='lower', force=[0.0, 0.0, 30.0], duration=0.05)
    assert text == 'pushing lower with [0.0, 0.0, 30.0] N for 0.05 s'
    for wrong in ({'link': 'nose'}, {'point': [1.0]}, {'force': [1.0]}):
        with pytest.raises(CnoidControlError, match=r'push\.'):
            source.act('push', **{'link': 'lower', 'force': [0.0, 0.0, 1.0], **wrong})
    source.act('estop')
    assert rig.call(Trigger, 'pause').success is False
    wait_for(lambda: source.frame().state == ESTOP)
    assert 'emergency stop' in source.frame().reason
    assert 'start of the simulation' in source.act('reset')
    wait_for(lambda: source.frame().state == RUNNING)
