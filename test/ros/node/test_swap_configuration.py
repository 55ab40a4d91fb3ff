"""The node knows the configuration of controllers from their first tick on."""

from __future__ import annotations

from pathlib import Path

import pytest
import ros_controllers
from served_node import ServedNode

HOLD = f'{ros_controllers.__file__}:Hold'
BRIEF = """
from cnoid_control import SimpleController, StateFlag


class Brief(SimpleController):
    def initialize(self, io):
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_EFFORT
            io.enable_io(joint)
        return True

    def control(self):
        return False
"""


@pytest.fixture
def make_node(rig, tmp_path: Path):
    """Return a function that makes a node with options; it is closed at the end."""
    made = []

    def make(**options):
        served = ServedNode(rig, tmp_path, HOLD, allow_file_plugins=True, **options)
        made.append(served)
        served.activate()
        return served

    yield make
    for served in made:
        served.close()


def test_one_that_ends_in_its_first_tick(rig, make_node, tmp_path: Path) -> None:
    """Without a blend it has the robot in that tick: it is held, and the loop goes on."""
    served = make_node(swap_blend_time=0.0)
    file = tmp_path / 'brief.py'
    file.write_text(BRIEF)
    result = served.set('controller', f'{file}:Brief')
    rig.wait(result.done)
    session = served.session
    rig.wait(lambda: session.safe_state.is_finished or not session.is_active)
    assert session.is_active, session.runner.error
    assert session.safe_state.reason == 'the controllers have finished'
    assert result.result().successful, result.result().reason
