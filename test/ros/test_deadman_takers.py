"""The dead-man commands those who take commands now, in their present order of joints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from robot_rig import ManagerNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from cnoid_control.ros.deadman import Deadman
from cnoid_control.ros.ros2_control_parameters import CommandParameters, Ros2ControlParameters
from cnoid_control.runtime.deadman_parameters import DeadmanParameters

MEASURED = {'shoulder': 0.9, 'elbow': -0.4}
NAMES = list(MEASURED)
# Long against what a busy machine takes to hand a message over [s].
PATIENT = DeadmanParameters(timeout=0.5, grace=0.1, repeat=0.2)
TAKERS = {
    f'{interface}_controller': CommandParameters(interface=interface)
    for interface in ('position', 'velocity')
}


class Rig:
    """A robot with a scripted controller_manager, a node's commands, and a dead-man."""

    def __init__(self, node: Node, spin_until) -> None:
        self.node = node
        self.manager = ManagerNode(SimpleNamespace(robot=node), {})
        self.got: dict[str, list[list[float]]] = {}
        self._spin_until = spin_until
        self._states = node.create_publisher(JointState, 'joint_states', 1)
        self._commands = node.create_publisher(JointState, 'cnoid_control/joint_commands', 1)
        self._own = Node('cnoid_control_deadman', context=node.context)
        robot = Ros2ControlParameters(commands=TAKERS)
        self.deadman = Deadman(self._own, PATIENT, robot)

    def load(self, name: str, joints: list[str], server: Node | None = None) -> None:
        """Load a controller; a server that nobody spins does not answer for its joints."""

        def get_parameters(request, response):
            response.values = [Parameter('joints', value=joints).to_parameter_msg().value]
            return response

        got = self.got[name] = []
        self.node.create_subscription(
            Float64MultiArray, f'{name}/commands', lambda message: got.append(message.data), 1
        )
        self.manager.controllers[name] = ['active', joints, TAKERS[name].interface]
        (server or self.node).create_service(
            GetParameters, f'{name}/get_parameters', get_parameters
        )

    def beat_until(self, condition: Callable[[], bool], names: list[str] = NAMES) -> bool:
        """Send states and commands until a condition holds; whether it came to."""

        def reached() -> bool:
            self._commands.publish(JointState(name=names, position=[0.0] * len(names)))
            return self._look(condition)

        return self._spin_until(reached)

    def silence_until(self, condition: Callable[[], bool]) -> bool:
        """Send states alone until a condition holds; whether it came to."""
        return self._spin_until(lambda: self._look(condition))

    def _look(self, condition: Callable[[], bool]) -> bool:
        self._states.publish(JointState(name=NAMES, position=list(MEASURED.values())))
        self.deadman.look()
        return condition()

    def close(self) -> None:
        self.deadman.close()
        self._own.destroy_node()


@pytest.fixture
def rig(ros_node, spin_until) -> Iterator[Rig]:
    """Return a robot without controllers that a dead-man looks at."""
    rig = Rig(ros_node, spin_until)
    yield rig
    rig.close()


def test_another_order_after_a_restart_is_learnt(rig: Rig) -> None:
    """Each joint is held where it is, also after the robot came back with another order."""
    joints = list(NAMES)
    rig.load('position_controller', joints)
    assert rig.beat_until(lambda: rig.deadman.armed)
    assert rig.beat_until(lambda: not rig.deadman.armed, [])
    joints.reverse()
    assert rig.beat_until(lambda: rig.deadman.armed)
    assert rig.silence_until(lambda: rig.got['position_controller'] and rig.manager.requests)
    for values in rig.got['position_controller']:
        assert dict(zip(joints, values, strict=True)) == MEASURED
    assert rig.node.count_publishers('position_controller/commands') == 1
