"""What is asked of the node while it is busy, or while the loop is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip('control_msgs.msg', reason='interfaces are not built')

from robot_rig import RobotRig
from ros_controllers import Gated
from served_node import ServedNode


@pytest.fixture
def served(ros_context, tmp_path: Path) -> Iterator[ServedNode]:
    """Return an active node whose controllers may be held up."""
    Gated.open()
    rig = RobotRig(ros_context)
    made = ServedNode(rig, tmp_path, 'ros_controllers:Gated')
    try:
        made.activate()
        yield made
    finally:
        Gated.open()
        made.close()
        rig.close()


def test_a_stop_overrules_a_swap_that_is_under_way(served: ServedNode) -> None:
    """It is served while the new controllers are brought up, and these are let go again."""
    Gated.close('configure')
    swap = served.set('controller', 'ros_controllers:Later')
    assert Gated.is_waiting.wait(20.0)
    assert served.trigger('estop') == (True, 'emergency stop by ~/estop')
    assert not swap.done()
    Gated.open()
    served.rig.wait(swap.done)
    assert not swap.result().successful
    assert 'in the safe state: emergency stop by ~/estop' in swap.result().reason
    assert served.session.loop.transition is None


def test_whatever_a_service_raises_is_its_answer(served: ServedNode) -> None:
    """The node goes on."""

    def fail() -> None:
        raise KeyError('a mistake')

    served.session.operation.pause = fail
    assert served.trigger('pause') == (False, "KeyError: 'a mistake'")
    assert served.trigger('stop') == (True, 'stopped by ~/stop')


def test_options_do_not_end_the_loop(served: ServedNode) -> None:
    """A controller that leaves the program when it is given others is named."""
    served.controller.update_parameters = lambda parameters: sys.exit(3)
    task = served.set('gated.kp', 250.0)
    served.rig.wait(task.done)
    assert not task.result().successful
    assert "'gated', update_parameters(): raised SystemExit" in task.result().reason
    assert served.session.is_active
