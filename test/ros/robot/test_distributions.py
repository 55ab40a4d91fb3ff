"""Managers of Jazzy and of Lyrical: the same calls of this side work with both."""

from __future__ import annotations

import pytest
from mujoco_rig import Rig, write_arm

pytest.importorskip('controller_manager_msgs.msg', reason='interfaces are not built')

from cnoid_control.ros.exceptions import UnusableController
from cnoid_control.ros.robot.controller_manager import ControllerManager
from cnoid_control.ros.robot.supervision_node import SupervisionNode


@pytest.fixture(params=['best_effort', 'strict'])
def rig(request, ros_context, ros_node, spin_until, tmp_path):
    """Return a simulated robot whose manager has that default, and what asks it."""
    config = write_arm(tmp_path)
    made = Rig(ros_context, ros_node, spin_until, config, default_strictness=request.param)
    made.supervision = SupervisionNode(ros_node)
    made.manager = ControllerManager('controller_manager', made.supervision)
    made.default = request.param
    yield made
    made.supervision.close()
    made.close()


def states(rig):
    """States of the command controllers."""
    return {
        name: one.state for name, one in rig.manager.states().items() if one.claimed_interfaces
    }


def test_a_switch_names_its_strictness(rig):
    """Taking over, changing the interface and letting go do not rest on a default."""
    rig.manager.use(['effort_controller'])
    assert states(rig) == {'effort_controller': 'active'}
    rig.manager.use(['position_controller'])
    assert states(rig) == {'position_controller': 'active'}
    # What a monitor does that does not know which of them is active.
    rig.manager.switch([], ['effort_controller', 'position_controller'], strict=False)
    assert states(rig) == {}
    # A request that names none is what differs.
    answer = rig.switch(['effort_controller', 'nobody'], [], strictness=0)
    assert answer.ok is (rig.default == 'best_effort')


def test_a_controller_that_was_cleaned_up_is_refused_by_its_state(rig):
    """`cleanup_controller` leaves one behind that is loaded and cannot be used."""
    assert rig.robot.controllers.clean_up('effort_controller').ok
    with pytest.raises(UnusableController, match="'effort_controller' is 'unconfigured'"):
        rig.manager.use(['effort_controller'])
