"""A controller_manager that is late, or that never comes."""

from __future__ import annotations

import pytest

pytest.importorskip('controller_manager_msgs.msg', reason='interfaces are not built')

from node_rig import NodeRig, write_config


def make_rig(ros_node, spin_until, start_process, folder, timeout):
    """Rig of an arm whose node waits that long for what it needs."""
    return NodeRig(ros_node, spin_until, start_process, write_config(folder, timeout))


def test_a_late_manager_is_waited_for(ros_node, spin_until, start_process, tmp_path):
    """A manager that comes some seconds after the node is used all the same."""
    rig = make_rig(ros_node, spin_until, start_process, tmp_path, 60.0)
    rig.start_node('-p', 'realtime_priority:=0')
    rig.wait_for_log('real-time scheduling')
    # Who gives up early has given up by then.
    rig.spin_until(lambda: False, timeout=4.0)
    assert 'cannot' not in rig.log
    rig.start_robot()
    rig.wait_for_state('active')


def test_a_manager_that_never_comes_is_an_error(ros_node, spin_until, start_process, tmp_path):
    """Nothing is commanded in an order that nobody has confirmed; the message says the remedy."""
    # Long enough for the joint states to be found on a busy machine.
    rig = make_rig(ros_node, spin_until, start_process, tmp_path, 5.0)
    rig.publish_states()
    rig.start_node('-p', 'realtime_priority:=0')
    rig.wait_for_log("no 'controller_manager' found within 5 s")
    assert "hardware.ros2_control.controller_manager to ''" in rig.log
    assert rig.state() != 'active'
