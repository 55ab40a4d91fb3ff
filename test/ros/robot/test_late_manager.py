"""A controller_manager that shows itself only after the node went to plain topics."""

from __future__ import annotations

import pytest

pytest.importorskip('controller_manager_msgs.msg', reason='interfaces are not built')

from controller_manager_msgs.msg import ControllerManagerActivity, NamedLifecycleState
from node_rig import NodeRig, write_config

from cnoid_control.ros.robot.supervision_node import ACTIVITY_QOS


@pytest.fixture
def rig(ros_node, spin_until, start_process, tmp_path):
    """Return the rig of an arm."""
    return NodeRig(ros_node, spin_until, start_process, write_config(tmp_path))


def activity(state: str) -> ControllerManagerActivity:
    """Message of a manager whose forward controller is in that state."""
    message = ControllerManagerActivity()
    controller = NamedLifecycleState(name='effort_controller')
    controller.state.label = state
    message.controllers.append(controller)
    return message


def test_commands_do_not_go_on_to_a_controller_that_is_not_active(rig):
    """It would drop them: the safe state is entered, whoever said that there is no manager."""
    rig.publish_states()
    publisher = rig.node.create_publisher(
        ControllerManagerActivity, 'controller_manager/activity', ACTIVITY_QOS
    )
    rig.start_node(
        *('-p', 'hardware.ros2_control.lock_step:=false', '-p', 'realtime_priority:=0'),
        *('-p', 'rate:=10.0', '-p', 'watchdog.state_action:=ignore'),
        *('-p', 'watchdog.subscriber_action:=ignore'),
    )
    assert rig.spin_until(lambda: 'activate: done' in rig.log, timeout=60.0), rig.log
    assert 'commands go to plain topics' in rig.log
    publisher.publish(activity('active'))
    assert rig.spin_until(lambda: publisher.get_subscription_count() > 0)
    publisher.publish(activity('inactive'))
    rig.wait_for_log("safe state: command controller 'effort_controller'")
