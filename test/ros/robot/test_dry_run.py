"""A dry run: everything is read and found, and nothing leaves this side."""

from __future__ import annotations

import time

import pytest
from robot_rig import ManagerNode, effort_request
from std_msgs.msg import Float64MultiArray

pytest.importorskip('controller_manager_msgs.msg', reason='interfaces are not built')

from cnoid_control.parameters import ParameterError

TOPIC = '/effort_controller/commands'


def test_nothing_is_advertised_sent_or_switched(rig) -> None:
    """Another controller stays active; the values that would be sent are known."""
    manager = ManagerNode(
        rig,
        {
            'effort_controller': ('inactive', ['elbow', 'shoulder'], 'effort'),
            'arm_controller': ('active', ['elbow', 'shoulder'], 'position'),
        },
    )
    received = rig.listen(Float64MultiArray, TOPIC)
    hardware = rig.hardware(controller_manager='controller_manager', dry_run=True)
    rig.open(hardware)
    hardware.body.u[:] = [3.0, 4.0]
    rig.publish()
    assert hardware.read()
    hardware.write()
    (publisher,) = hardware.command_publishers
    assert publisher.topic == TOPIC
    assert list(publisher.values()) == [4.0, 3.0]
    assert publisher.reader_count == 1
    hardware.close()
    time.sleep(0.3)
    assert received == []
    assert rig.robot.count_publishers(TOPIC) == 0
    assert manager.requests == []
    assert manager.controllers['arm_controller'][0] == 'active'


def test_a_swap_in_a_dry_run_switches_nothing(rig) -> None:
    """Other command controllers are found while the loop runs, and left as they are."""
    manager = ManagerNode(
        rig,
        {
            'effort_controller': ('inactive', ['shoulder', 'elbow'], 'effort'),
            'position_controller': ('inactive', ['shoulder', 'elbow'], 'position'),
        },
    )
    from cnoid_control.body import StateFlag

    hardware = rig.hardware(controller_manager='controller_manager', dry_run=True)
    rig.open(hardware)
    other = effort_request(hardware.body, StateFlag.JOINT_DISPLACEMENT)
    assert hardware.prepare(other)
    hardware.open(other)
    hardware.write()
    assert [one.name for one in hardware.command_publishers] == ['position_controller']
    assert manager.requests == []


def test_a_robot_in_lock_step_cannot_be_run_dry(rig) -> None:
    """It would wait for its first command for ever."""
    with pytest.raises(ParameterError, match=r'dry_run.*lock-step'):
        rig.hardware(dry_run=True, lock_step=True)
