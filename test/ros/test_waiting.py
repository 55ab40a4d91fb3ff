"""A start that takes long says what it waits for."""

from __future__ import annotations

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from robot_rig import ManagerNode, effort_request

from cnoid_control.body.devices import ForceSensor
from cnoid_control.ros import waiting
from cnoid_control.ros.exceptions import RobotError
from cnoid_control.ros.waiting import Waiting


def test_a_wait_is_said_late_and_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the first seconds, then once, and again after a while."""
    now = [100.0]
    monkeypatch.setattr(waiting.time, 'monotonic', lambda: now[0])
    said: list[str] = []
    wait = Waiting(said.append)
    for _ in range(200):
        now[0] += 0.1
        wait.still(lambda: 'a robot')
    assert said == ['waiting for a robot (3 s)', 'waiting for a robot (13 s)']


@pytest.fixture
def said(rig, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what the node says, at once."""
    monkeypatch.setattr(waiting, 'PATIENCE', 0.0)
    lines: list[str] = []
    logger = rig.node.get_logger()
    monkeypatch.setattr(logger, 'info', lambda text, **more: lines.append(text))
    monkeypatch.setattr(rig.node, 'get_logger', lambda: logger)
    return lines


def test_joint_states_are_named(rig, said: list[str]) -> None:
    """With the topic, and why nothing came."""
    hardware = rig.hardware(startup_timeout=0.3)
    with pytest.raises(RobotError, match='no complete joint state'):
        hardware.connect()
    assert said[0].startswith("waiting for joint states on '/joint_states': nothing was received")


def test_a_manager_is_named(rig, said: list[str]) -> None:
    """With the service that is missing."""
    hardware = rig.hardware(controller_manager='controller_manager', startup_timeout=1.5)
    with pytest.raises(RobotError, match="no 'controller_manager' found"):
        rig.open(hardware)
    assert any("'controller_manager': nobody serves" in line for line in said)


def test_a_command_controller_is_named(rig, said: list[str]) -> None:
    """With its state."""
    entry = ['unconfigured', ['shoulder', 'elbow'], 'effort']
    ManagerNode(rig, {'effort_controller': entry})
    hardware = rig.hardware(controller_manager='controller_manager', startup_timeout=1.5)
    with pytest.raises(RobotError):
        rig.open(hardware)
    assert any("'effort_controller' is 'unconfigured'" in line for line in said)


def test_a_device_is_named(rig, said: list[str]) -> None:
    """With its topic."""
    hardware = rig.hardware(rig.body([ForceSensor('WRIST')]), startup_timeout=1.0)
    with pytest.raises(RobotError):
        rig.open(hardware, effort_request(hardware.body, devices={'WRIST'}))
    assert any("on '/WRIST_broadcaster/wrench': it has not sent" in line for line in said)
