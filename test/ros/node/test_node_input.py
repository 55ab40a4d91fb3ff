"""Bad input to the node: named, refused, and nothing is commanded."""

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from node_rig import write_config
from robot_rig import QOS, RobotRig
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from cnoid_control.ros.node.control_node import FAILURE, SUCCESS, ControlNode

NO_MANAGER = ['-p', 'hardware.ros2_control.controller_manager:=""']


@pytest.fixture
def rig(ros_context):
    """Return a robot that shows its posture."""
    made = RobotRig(ros_context)
    made.repeat(made.publish)
    yield made
    made.close()


@pytest.fixture
def make_node(rig, tmp_path):
    """Return a function that makes a node on the robot."""
    config = write_config(tmp_path, timeout=1.0)
    nodes = []

    def make(*arguments):
        words = ['--ros-args', '--params-file', str(config), *NO_MANAGER, *arguments]
        node = ControlNode(context=rig.context, cli_args=words, use_global_arguments=False)
        nodes.append(node)
        return node

    yield make
    for node in nodes:
        node.finish()
        node.destroy_node()


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['-p', 'controller:=nonsense'], "unknown controller 'nonsense'"),
        (['-p', 'hold.kq:=1.0'], 'hold.kq: unknown option; choose from: kp, kd'),
        (['-p', 'hold.kp:=5000.0'], 'hold.kp: 5000.0 is not allowed'),
        (['-p', 'hold.mode:=5'], 'hold.mode: str expected, got 5'),
        (['-p', 'limits.joints.nose.max_effort:=1.0'], 'limits.joints.nose'),
        (['-p', 'robot_description:=<robot'], 'is not XML'),
        (['-p', 'robot.model:=nobody.urdf'], 'nobody.urdf'),
        (
            [
                '-p',
                "robot.model:=''",
                '-p',
                'robot_description_timeout:=0.3',
                '-r',
                'robot_description:=nowhere',
            ],
            "topic '/nowhere': no robot description in 0.3 s: nobody publishes it",
        ),
        (
            [
                '-p',
                'hardware.ros2_control.joint_states:=nowhere',
                '-p',
                'hardware.ros2_control.startup_timeout:=0.3',
            ],
            "topic '/nowhere': no complete joint state in 0.3 s: nobody publishes it",
        ),
        (
            [
                '-p',
                'hardware.ros2_control.commands.arm.interface:=effort',
                '-p',
                'hardware.ros2_control.commands.arm.joints:=[shoulder, nose]',
            ],
            "command controller 'arm' has nose, which are not joints of the robot",
        ),
        (['-p', 'watchdog.state_action:=dance'], "watchdog.state_action: 'dance' is not allowed"),
        (['-p', 'colour:=red'], 'colour: unknown option'),
    ],
)
def test_bad_input_is_named_and_nothing_is_commanded(rig, make_node, arguments, words):
    """The node is not configured and says what is wrong."""
    sent = []
    rig.robot.create_subscription(
        Float64MultiArray, 'effort_controller/commands', sent.append, QOS
    )
    node = make_node(*arguments)
    assert node.trigger_configure() == FAILURE
    assert words in node.problem
    assert node.session is None
    assert sent == []


def test_what_was_wrong_can_be_set_right(rig, make_node):
    """After a refusal a parameter is changed and the node can be configured."""
    from rclpy.parameter import Parameter

    node = make_node('-p', 'hold.kd:=-1.0')
    assert node.trigger_configure() == FAILURE
    assert 'hold.kd: -1.0 is not allowed' in node.problem
    assert node.set_parameters([Parameter('hold.kd', value=10.0)])[0].successful
    assert node.trigger_configure() == SUCCESS
    assert node.problem == ''


def test_a_second_publisher_of_joint_states_is_refused(rig, make_node):
    """Both publishers are named and the node is not configured."""
    rig.node.create_publisher(JointState, 'joint_states', QOS)
    node = make_node()
    assert node.trigger_configure() == FAILURE
    assert "'/joint_states' has several publishers: /cnoid_control, /robot" in node.problem


def test_joint_states_of_another_type_are_refused(rig, make_node):
    """The type that the topic carries is named."""
    rig.robot.create_publisher(String, 'text', QOS)
    node = make_node('-p', 'hardware.ros2_control.joint_states:=text')
    assert node.trigger_configure() == FAILURE
    assert "'/text' carries std_msgs/msg/String" in node.problem


def test_the_robot_may_come_by_topic(rig, make_node, ros_context):
    """A latched robot_description is the robot where no file is given."""
    from mujoco_rig import ARM

    from cnoid_control.ros.node.robot_model import LATCHED_QOS

    publisher = rig.robot.create_publisher(String, 'robot_description', LATCHED_QOS)
    publisher.publish(String(data=ARM))
    node = make_node('-p', "robot.model:=''")
    assert node.trigger_configure() == SUCCESS, node.problem
    assert node.session.body.joint_names == ['shoulder', 'elbow']
