"""`~/reset`: what it takes for controllers to have the robot again."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from controller_manager_msgs.srv import ListControllers, SwitchController
from node_rig import NodeRig, write_config

FREE = ('-p', 'pacing:=free', '-p', 'realtime_priority:=0')
# A busy machine is no fault here.
PATIENT = (
    *('-p', 'hardware.ros2_control.lock_step:=false', '-p', 'realtime_priority:=0'),
    *('-p', 'watchdog.state_timeout:=1.0', '-p', 'watchdog.grace:=0.0'),
    *('-p', 'watchdog.control_timeout:=5.0', '-p', 'watchdog.subscriber_timeout:=60.0'),
)


@pytest.fixture
def rig(ros_node, spin_until, start_process, tmp_path: Path) -> NodeRig:
    """Return a robot that moves on by itself and its node, which is active."""
    rig = NodeRig(ros_node, spin_until, start_process, write_config(tmp_path))
    rig.start_robot(*FREE)
    rig.start_node(*PATIENT)
    rig.wait_for_state('active')
    return rig


def ask(rig: NodeRig, kind, service: str, **fields):
    """Answer of controller_manager."""
    client = rig.node.create_client(kind, f'/controller_manager/{service}')
    assert rig.spin_until(client.service_is_ready)
    future = client.call_async(kind.Request(**fields))
    assert rig.spin_until(future.done)
    return future.result()


def deactivate(rig: NodeRig, name: str) -> None:
    """Deactivate a controller, as somebody else might."""
    fields = {'deactivate_controllers': [name], 'strictness': 2}
    assert ask(rig, SwitchController, 'switch_controller', **fields).ok


def test_reset_brings_the_command_controllers_back(rig: NodeRig) -> None:
    """A controller that someone deactivated is active again; without states there is no reset."""
    deactivate(rig, 'effort_controller')
    rig.wait_for_log('safe state: command controller')
    assert rig.trigger('reset') == (True, 'running')
    assert rig.trigger('reset') == (True, 'running already: there is nothing to reset')
    listed = ask(rig, ListControllers, 'list_controllers').controller
    assert {one.name: one.state for one in listed}['effort_controller'] == 'active'
    deactivate(rig, 'joint_state_broadcaster')
    rig.wait_for_log('safe state: no joint states')
    success, reason = rig.trigger('reset')
    assert not success
    assert 'reset refused, cause still present: no joint states for' in reason
