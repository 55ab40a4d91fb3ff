"""The message packages of interfaces/: real, importable, and their words the Jazzy ones."""

import pytest

control_msgs = pytest.importorskip('control_msgs.msg', reason='interfaces are not built')


def test_a_message_of_each_package_travels(ros_node, spin_until):
    """A message published on the test's domain arrives with its fields."""
    from control_msgs.msg import DynamicJointState, InterfaceValue
    from geometry_msgs.msg import TransformStamped
    from tf2_msgs.msg import TFMessage

    received = {}
    publishers = {}
    for topic, kind in (('dynamic', DynamicJointState), ('tf', TFMessage)):
        publishers[topic] = ros_node.create_publisher(kind, topic, 1)
        ros_node.create_subscription(
            kind, topic, lambda message, topic=topic: received.__setitem__(topic, message), 1
        )
    value = InterfaceValue(interface_names=['effort'], values=[1.5])
    sent = {
        'dynamic': DynamicJointState(joint_names=['knee'], interface_values=[value]),
        'tf': TFMessage(transforms=[TransformStamped(child_frame_id='waist')]),
    }
    assert spin_until(
        lambda: all(p.get_subscription_count() for p in publishers.values()), timeout=20
    )
    for topic, message in sent.items():
        publishers[topic].publish(message)
    assert spin_until(lambda: len(received) == 2)
    assert received == sent


def test_the_trajectory_action_has_its_goal_fields():
    """FollowJointTrajectory's goal, result and feedback are the ones ros2_control serves."""
    from control_msgs.action import FollowJointTrajectory

    assert list(FollowJointTrajectory.Goal.get_fields_and_field_types()) == [
        'trajectory',
        'multi_dof_trajectory',
        'path_tolerance',
        'component_path_tolerance',
        'goal_tolerance',
        'component_goal_tolerance',
        'goal_time_tolerance',
    ]
    assert FollowJointTrajectory.Result.GOAL_TOLERANCE_VIOLATED == -5


def test_the_switch_service_has_the_jazzy_fields():
    """SwitchController takes strictness, asap and timeout, and answers with a message."""
    from controller_manager_msgs.srv import SwitchController

    assert SwitchController.Request.get_fields_and_field_types() == {
        'activate_controllers': 'sequence<string>',
        'deactivate_controllers': 'sequence<string>',
        'strictness': 'int32',
        'activate_asap': 'boolean',
        'timeout': 'builtin_interfaces/Duration',
    }
    assert list(SwitchController.Response.get_fields_and_field_types()) == ['ok', 'message']
