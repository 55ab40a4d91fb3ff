"""Options that are set while the node is active."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip('control_msgs.msg', reason='interfaces are not built')

from robot_rig import RobotRig
from served_node import ServedNode


@pytest.fixture
def served(ros_context, tmp_path: Path) -> Iterator[ServedNode]:
    """Return an active node whose controller follows some of its options."""
    rig = RobotRig(ros_context)
    made = ServedNode(rig, tmp_path, 'ros_controllers:Deaf')
    try:
        made.activate()
        yield made
    finally:
        made.close()
        rig.close()


def change(served: ServedNode, name: str, value: object) -> tuple[bool, str]:
    """Set a parameter; whether it was accepted, and why not."""
    task = served.set(name, value)
    served.rig.wait(task.done)
    return task.result().successful, task.result().reason


def test_an_option_that_is_followed_replaces_io_parameters(served: ServedNode) -> None:
    """Hook, io and host have the new value."""
    managed = served.session.loop.host.controllers[0]
    assert change(served, 'deaf.kp', 250.0) == (True, '')
    assert managed.io.parameters is managed.parameters is served.controller.given
    assert managed.io.parameters.kp == 250.0


def test_an_option_that_nobody_follows_is_refused_by_name(served: ServedNode) -> None:
    """It is not accepted and ignored, and the parameter keeps its value."""
    success, reason = change(served, 'deaf.goal', 0.7)
    assert not success
    assert reason.startswith('deaf.goal: Deaf cannot change it while it runs')
    assert served.node.get_parameter('deaf.goal').value == 0.0


def test_a_read_only_option_says_so(served: ServedNode) -> None:
    """In its descriptor, and when it is set."""
    assert served.node.describe_parameter('deaf.side').read_only
    success, reason = change(served, 'deaf.side', 'right')
    assert not success
    assert 'deaf.side' in reason
    assert 'read-only' in reason
