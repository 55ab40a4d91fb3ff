"""Managers of Jazzy and of Lyrical: the same calls of this side work with both."""

from __future__ import annotations

import pytest
from mujoco_rig import Rig, write_arm

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from controller_manager_msgs import srv
from controller_manager_msgs.msg import ControllerManagerActivity

from cnoid_control.ros.exceptions import UnusableController
from cnoid_control.ros.robot.controller_manager import ControllerManager
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.ros.sim.controller_server import LATCHED

pytestmark = pytest.mark.skipif(
    not hasattr(srv, 'CleanupController'), reason='controller_manager_msgs is an older one'
)
CLEAN_UP = 'controller_manager/cleanup_controller'
CONFIGURE = 'controller_manager/configure_controller'


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
    assert rig.call(srv.CleanupController, CLEAN_UP, name='effort_controller').ok
    # Once more is no fault; one that is not loaded is.
    assert rig.call(srv.CleanupController, CLEAN_UP, name='effort_controller').ok
    assert not rig.call(srv.CleanupController, CLEAN_UP, name='nobody').ok
    with pytest.raises(UnusableController, match="'effort_controller' is 'unconfigured'"):
        rig.manager.use(['effort_controller'])
    assert rig.call(srv.ConfigureController, CONFIGURE, name='effort_controller').ok
    rig.manager.use(['effort_controller'])
    assert states(rig) == {'effort_controller': 'active'}
    for kind, name in ((srv.CleanupController, CLEAN_UP), (srv.ConfigureController, CONFIGURE)):
        assert not rig.call(kind, name, name='effort_controller').ok
    assert states(rig) == {'effort_controller': 'active'}


def test_the_robot_is_one_hardware_component(rig):
    """It is active, with the interfaces that the manager lists; who claims them is told."""
    rig.manager.use(['effort_controller'])
    (robot,) = rig.call(
        srv.ListHardwareComponents, 'controller_manager/list_hardware_components'
    ).component
    listed = rig.call(srv.ListHardwareInterfaces, 'controller_manager/list_hardware_interfaces')
    assert (robot.name, robot.type, robot.rw_rate) == ('arm', 'system', 500)
    assert robot.state.label == 'active'
    assert robot.command_interfaces == listed.command_interfaces
    assert robot.state_interfaces == listed.state_interfaces
    claimed = [one.name for one in robot.command_interfaces if one.is_claimed]
    assert claimed == ['shoulder/effort', 'elbow/effort']


def test_the_activity_tells_what_was_cleaned_up(rig):
    """`~/activity` has the controllers with their states, and the hardware component."""
    seen = rig.listen(ControllerManagerActivity, 'controller_manager/activity', LATCHED)
    assert rig.call(srv.CleanupController, CLEAN_UP, name='effort_controller').ok

    def last():
        return {one.name: one.state.label for one in seen[-1].controllers} if seen else {}

    assert rig.spin_until(lambda: last().get('effort_controller') == 'unconfigured')
    assert [(one.name, one.state.label) for one in seen[-1].hardware_components] == [
        ('arm', 'active')
    ]
