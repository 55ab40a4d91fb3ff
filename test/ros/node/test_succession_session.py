"""A node that is deactivated while a successor is brought up begins anew without it."""

from __future__ import annotations

import pytest
import ros_controllers
from served_node import ServedNode

HOLD = f'{ros_controllers.__file__}:Hold'


@pytest.fixture
def served(rig, tmp_path):
    """Node whose controller has a successor."""
    options = {'then': 'second', 'standby.second.type': HOLD, 'first.kp': 100.0}
    served = ServedNode(rig, tmp_path, 'first', **{'standby.first.type': HOLD, **options})
    yield served
    served.close()


def test_a_successor_does_not_outlive_the_activation(rig, served) -> None:
    """It comes up when the node is inactive, and does not get the robot when it is active."""
    served.activate()
    session = served.session
    succession = session.loop.succession
    waiting: list = []
    succession._beside = waiting.append
    served.controller.given.raises = True
    rig.wait(lambda: succession.is_pending and waiting)
    served.node.trigger_deactivate()
    waiting[0]()
    assert not succession.is_pending
    served.controller.given.raises = False
    served.node.trigger_activate()
    since = session.loop.tick
    rig.wait(lambda: session.loop.tick > since + 10)
    assert [managed.name for managed in session.loop.host.controllers] == ['first']
    assert succession.history == []
