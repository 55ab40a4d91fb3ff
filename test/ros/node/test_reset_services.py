"""The services of simulators that put a robot back, told apart by their type."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

pytest.importorskip('std_srvs.srv', reason='needs ROS 2')

from std_srvs.srv import Trigger

from cnoid_control.ros.exceptions import RosError
from cnoid_control.ros.node.simulation_reset import RESET_WORLD, put_back

NAME = 'simulator/reset'


class ResetWorld:
    """Stands for a type of mujoco_ros2_control_msgs."""

    class Request:
        """Of the start where nothing else is said."""


class Rig:
    """A node that sees one service, and what was done in which order."""

    def __init__(self, kind: str, success: bool = True) -> None:
        services = [(f'/ns/{NAME}', [kind])] if kind else []
        self.node = SimpleNamespace(
            resolve_service_name=lambda name: f'/ns/{name}',
            get_service_names_and_types=lambda: services,
        )
        self.done: list[object] = []
        manager = SimpleNamespace(release=lambda timeout: self.done.append('released'))
        self.hardware = SimpleNamespace(
            command_controllers=SimpleNamespace(manager=manager),
            parameters=SimpleNamespace(release_timeout=1.0),
        )
        self.answer = SimpleNamespace(success=success, message='too deep')

    def call(self, kind, service, request, timeout):
        """Be called in place of the service."""
        assert isinstance(request, kind.Request)
        self.done.append((kind, service))
        return self.answer

    def put_back(self) -> list[object]:
        """Put the robot back; what was done."""
        put_back(self.node, self, self.hardware, NAME)
        return self.done


@pytest.fixture
def _installed(monkeypatch) -> None:
    package, services = ModuleType('mujoco_ros2_control_msgs'), ModuleType('srv')
    services.ResetWorld = ResetWorld
    monkeypatch.setitem(sys.modules, 'mujoco_ros2_control_msgs', package)
    monkeypatch.setitem(sys.modules, 'mujoco_ros2_control_msgs.srv', services)


@pytest.mark.parametrize('kind', ['std_srvs/srv/Trigger', ''])
def test_a_trigger_is_called(kind: str) -> None:
    """Also where it is not seen yet: it is waited for then."""
    assert Rig(kind).put_back() == [(Trigger, NAME)]


@pytest.mark.usefixtures('_installed')
def test_command_controllers_are_released_before_a_world_is_reset() -> None:
    """They would have no effect after it: mujoco_ros2_control holds the joints from then on."""
    assert Rig(RESET_WORLD).put_back() == ['released', (ResetWorld, NAME)]
    rig = Rig(RESET_WORLD)
    rig.hardware.command_controllers.manager = None
    assert rig.put_back() == [(ResetWorld, NAME)]


def test_what_cannot_be_called_is_named(monkeypatch) -> None:
    """A type that is not known, one that is not installed, and a simulator that refuses."""
    with pytest.raises(RosError, match=r'simulator/reset is a x/srv/Y; choose from: std_srvs'):
        Rig('x/srv/Y').put_back()
    monkeypatch.setitem(sys.modules, 'mujoco_ros2_control_msgs', None)
    with pytest.raises(RosError, match=f'{RESET_WORLD} is not installed'):
        Rig(RESET_WORLD).put_back()
    with pytest.raises(RosError, match='simulator/reset: too deep'):
        Rig('', success=False).put_back()
