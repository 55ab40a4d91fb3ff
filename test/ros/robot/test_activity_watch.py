"""The states of the robot's controllers are told at once."""

from __future__ import annotations

import queue

import pytest

pytest.importorskip('controller_manager_msgs.msg', reason='interfaces are not built')

from controller_manager_msgs.msg import ControllerManagerActivity, NamedLifecycleState
from lifecycle_msgs.msg import State

from cnoid_control.ros.robot.activity_watch import ACTIVITY_QOS, ActivityWatch


def activity(**states: str) -> ControllerManagerActivity:
    """Message with the state of each controller."""
    return ControllerManagerActivity(
        controllers=[
            NamedLifecycleState(name=name, state=State(label=label))
            for name, label in states.items()
        ]
    )


def test_changes_are_told_without_an_executor(ros_node) -> None:
    """What was said before, and what is said later, arrives in the watch's own thread."""
    publisher = ros_node.create_publisher(
        ControllerManagerActivity, 'manager/activity', ACTIVITY_QOS
    )
    publisher.publish(activity(legs='active'))
    told: queue.Queue[dict[str, str]] = queue.Queue()
    watch = ActivityWatch(ros_node, 'manager', told.put)
    assert told.get(timeout=20.0) == {'legs': 'active'}
    publisher.publish(activity(legs='inactive', arms='active'))
    assert told.get(timeout=20.0) == {'legs': 'inactive', 'arms': 'active'}
    watch.close()
