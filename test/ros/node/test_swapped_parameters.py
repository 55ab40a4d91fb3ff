"""What the node tells of its controllers when others take over, or cannot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip('control_msgs.msg', reason='interfaces are not built')

from robot_rig import RobotRig
from served_node import ServedNode

HOLD = 'ros_controllers:Hold'


@pytest.fixture
def served(ros_context, tmp_path: Path) -> Iterator[ServedNode]:
    """Return an active node."""
    rig = RobotRig(ros_context)
    made = ServedNode(rig, tmp_path, HOLD)
    try:
        made.activate()
        yield made
    finally:
        made.close()
        rig.close()


def swap(served: ServedNode, name: str) -> tuple[bool, str]:
    """Have a controller take over; whether it does, and why not."""
    task = served.set('controller', f'ros_controllers:{name}')
    served.rig.wait(task.done)
    return task.result().successful, task.result().reason


def shown(served: ServedNode) -> str:
    """Return the controller that the parameter names."""
    return served.node.get_parameter('controller').value


def test_a_mailbox_that_no_topic_can_feed_is_refused_before_the_swap(served: ServedNode) -> None:
    """The controllers that have the robot keep it, and the parameter says so."""
    host = served.session.loop.host
    success, reason = swap(served, 'Unfed')
    assert not success
    assert "mailbox 'set point'" in reason
    assert served.session.loop.host is host
    assert served.session.loop.transition is None
    assert shown(served) == HOLD


def test_what_fails_after_a_swap_is_no_refusal(served: ServedNode) -> None:
    """The new controllers have the robot: the parameter says so."""

    def fail(*arguments) -> None:
        raise KeyError('a mistake')

    served.node.options._swapped = fail
    assert swap(served, 'Other') == (True, '')
    assert shown(served) == 'ros_controllers:Other'


def test_one_mailbox_that_cannot_be_bridged_leaves_the_others_alone(served: ServedNode) -> None:
    """Nor does it end a swap."""
    mailboxes = served.session.operation.mailboxes()
    mailboxes[0].topic = 'no topic'
    served.node._bridge.open(mailboxes)
    topics = [topic._subscription.topic_name for topic in served.node._bridge._topics]
    assert topics == ['/cnoid_control/targets']


def test_controllers_that_fail_late_are_not_told_to_have_the_robot(served: ServedNode) -> None:
    """Configuration, parameter and mailboxes are those of the ones that have it again."""
    operation = served.session.operation
    mailboxes = operation.mailboxes()
    assert swap(served, 'Late') == (True, '')
    served.rig.wait(lambda: shown(served) == HOLD)
    assert operation.config.parameters.controller == HOLD
    assert operation.mailboxes() == mailboxes
    assert served.trigger('stop')[0]
    assert served.trigger('reset') == (True, 'running')
    assert [one.name for one in served.session.loop.host.controllers] == ['hold']
    # One that does take over is told to have it to the end.
    assert swap(served, 'Other') == (True, '')
    served.rig.wait(lambda: served.session.loop.transition is None)
    assert operation.config.parameters.controller == 'ros_controllers:Other'


def test_a_reset_in_a_swap_starts_those_that_were_taking_over(served: ServedNode) -> None:
    """They had begun when the robot was stopped."""
    task = served.set('swap_blend_time', 60.0)
    served.rig.wait(task.done)
    assert swap(served, 'Other') == (True, '')
    assert served.trigger('stop')[0]
    assert served.session.loop.transition is not None
    assert served.trigger('reset') == (True, 'running')
    assert [one.name for one in served.session.loop.host.controllers] == ['other']
    assert shown(served) == 'ros_controllers:Other'
