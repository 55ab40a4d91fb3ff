import numpy as np
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from cnoid_control.demo.robot_observer import RobotObserver


@pytest.fixture
def observer(ros_domain):
    """Return an observer of two joints and a force sensor."""
    observer = RobotObserver(ros_domain, ['hip', 'knee'], 'root', 'commands', ['foot/wrench'])
    yield observer
    observer.close()


class Robot:
    """The topics of a robot and of its controller."""

    def __init__(self, node):
        """Advertise."""
        self.states = node.create_publisher(JointState, 'joint_states', 1)
        self.commands = node.create_publisher(JointState, 'commands', 1)
        self.root = node.create_publisher(Odometry, 'root', 1)
        self.force = node.create_publisher(WrenchStamped, 'foot/wrench', 1)

    @property
    def is_seen(self):
        """Whether everything is subscribed."""
        publishers = (self.states, self.commands, self.root, self.force)
        return all(publisher.get_subscription_count() for publisher in publishers)

    def state(self, stamp, hip=0.1, knee=0.2):
        """Publish the robot's state; joints in another order than the observer's."""
        message = JointState(name=['knee', 'hip'], position=[knee, hip])
        message.header.stamp.nanosec = stamp
        root, force = Odometry(), WrenchStamped()
        root.pose.pose.position.z = 0.7
        root.pose.pose.orientation.x = 1.0
        force.wrench.force.z = 600.0
        self.root.publish(root)
        self.force.publish(force)
        self.states.publish(message)

    def answer(self, stamp):
        """Publish commands for the state of that stamp."""
        message = JointState()
        message.header.stamp.nanosec = stamp
        self.commands.publish(message)


@pytest.fixture
def robot(ros_node, spin_until, observer):
    """Return a robot that the observer is connected to."""
    robot = Robot(ros_node)
    assert spin_until(lambda: robot.is_seen)
    return robot


def look_until(observer, condition):
    """Look until a condition holds."""
    for _ in range(400):
        observer.look(0.05)
        if condition():
            return True
    return False


def test_nothing_is_seen_before_there_is_anything(observer):
    """Without a robot there is no sample."""
    assert observer.look(0.01) is None


def test_a_sample_holds_the_state_in_the_order_asked_for(observer, robot):
    """Joints are found by name; root and forces are those of the moment."""
    robot.state(stamp=5_000_000)
    assert look_until(observer, lambda: observer.samples and observer.samples[-1].forces.any())
    sample = observer.look(0.0)
    assert sample.time == pytest.approx(0.005)
    assert np.allclose(sample.q, (0.1, 0.2))
    assert np.allclose(sample.position, (0, 0, 0.7))
    assert np.allclose(sample.orientation, (1, 0, 0, 1))
    assert np.allclose(sample.forces, 600.0)


def test_a_repeated_state_is_one_sample(observer, robot):
    """A state that has the stamp of the last sample is not counted again."""
    robot.state(stamp=1)
    assert look_until(observer, lambda: observer.samples)
    robot.state(stamp=1)
    robot.state(stamp=2)
    assert look_until(observer, lambda: observer.samples[-1].time > 1.5e-9)
    assert len(observer.samples) == 2


def test_latency_is_from_a_state_to_its_own_answer(observer, robot):
    """Only commands with the stamp of a state that was seen are timed."""
    robot.state(stamp=7)
    assert look_until(observer, lambda: observer.samples)
    robot.answer(stamp=8)
    robot.answer(stamp=7)
    assert look_until(observer, lambda: observer.latencies)
    assert len(observer.latencies) == 1
    assert 0.0 < observer.latencies[0] < 60.0
