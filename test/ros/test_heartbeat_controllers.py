"""The heartbeat monitor commands the present controllers, in their present joint order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from controller_manager_msgs.msg import ControllerManagerActivity
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from robot_rig import ManagerNode
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from cnoid_control.ros import heartbeat as heartbeat
from cnoid_control.ros.heartbeat import HeartbeatMonitor, WatchedControllers
from cnoid_control.ros.robot.parameters import CommandParameters, Ros2ControlParameters
from cnoid_control.ros.robot.supervision_node import ACTIVITY_QOS
from cnoid_control.runtime.config import HeartbeatParameters

MEASURED = {'shoulder': 0.9, 'elbow': -0.4}
NAMES = list(MEASURED)
# Long against what a busy machine takes to hand a message over [s].
PATIENT = HeartbeatParameters(timeout=0.5, grace=0.1, repeat=0.2)
CONTROLLERS = {
    f'{interface}_controller': CommandParameters(interface=interface)
    for interface in ('position', 'velocity')
}


class Rig:
    """A robot with a scripted controller_manager, a node's commands, and a heartbeat monitor."""

    def __init__(self, node: Node, spin_until) -> None:
        self.node = node
        self.manager = ManagerNode(SimpleNamespace(robot=node), {})
        self.got: dict[str, list[list[float]]] = {}
        self.said: list[str] = []
        node.create_subscription(Log, '/rosout', lambda log: self.said.append(log.msg), 10)
        self._spin_until = spin_until
        self._states = node.create_publisher(JointState, 'joint_states', 1)
        self._commands = node.create_publisher(JointState, 'cnoid_control/joint_commands', 1)
        self._own = Node('cnoid_control_heartbeat', context=node.context)
        robot = Ros2ControlParameters(commands=CONTROLLERS)
        self.heartbeat = HeartbeatMonitor(self._own, PATIENT, robot)

    def load(self, name: str, joints: list[str], server: Node | None = None) -> None:
        """Load a controller; a server that nobody spins does not answer for its joints."""

        def get_parameters(request, response):
            response.values = [Parameter('joints', value=joints).to_parameter_msg().value]
            return response

        got = self.got[name] = []
        self.node.create_subscription(
            Float64MultiArray, f'{name}/commands', lambda message: got.append(message.data), 1
        )
        self.manager.controllers[name] = ['active', joints, CONTROLLERS[name].interface]
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
        self.heartbeat.look()
        return condition()

    def close(self) -> None:
        self.heartbeat.close()
        self._own.destroy_node()


@pytest.fixture
def rig(ros_node, spin_until, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """Return a robot without controllers that a heartbeat monitor looks at."""
    monkeypatch.setattr(heartbeat, 'ANSWER_TIME', 1.0)
    rig = Rig(ros_node, spin_until)
    yield rig
    rig.close()


def test_another_order_after_a_restart_is_learnt(rig: Rig) -> None:
    """Each joint is held where it is, also after the robot came back with another order."""
    joints = list(NAMES)
    rig.load('position_controller', joints)
    assert rig.beat_until(lambda: rig.heartbeat.armed)
    assert rig.beat_until(lambda: not rig.heartbeat.armed, [])
    joints.reverse()
    assert rig.beat_until(lambda: rig.heartbeat.armed)
    assert rig.silence_until(lambda: rig.got['position_controller'] and rig.manager.requests)
    for values in rig.got['position_controller']:
        assert dict(zip(joints, values, strict=True)) == MEASURED
    assert rig.node.count_publishers('position_controller/commands') == 1


def test_a_controller_that_does_not_answer_is_not_taken_for_absent(rig: Rig, ros_executor) -> None:
    """It may have the robot: until it has answered, nothing is watched, and it is said why."""
    hung = Node('hung', context=rig.node.context)
    rig.load('position_controller', NAMES)
    rig.load('velocity_controller', NAMES, hung)
    assert rig.beat_until(
        lambda: rig.heartbeat.armed or any('there was no answer' in said for said in rig.said)
    )
    assert not rig.heartbeat.armed
    ros_executor.add_node(hung)
    assert rig.beat_until(lambda: rig.heartbeat.armed)


def test_nothing_is_guessed_once_there_was_a_manager(rig: Rig, spin_until) -> None:
    """While controller_manager is away, what it had is kept, and said to be unsure."""
    rig.load('position_controller', NAMES[::-1])
    is_there = [True, False]
    robot = Ros2ControlParameters(commands=CONTROLLERS)
    supervision = rig.heartbeat._supervision
    watched = WatchedControllers(rig.node, supervision, robot, lambda: is_there.pop(0), 0.01)
    watched.ask(tuple(NAMES))
    assert spin_until(lambda: watched.is_known)
    assert watched.problem == ''
    known = watched.publishers
    assert [publisher.joints for publisher in known] == [NAMES[::-1]]
    watched.ask(tuple(NAMES))
    assert spin_until(lambda: watched.is_known)
    assert watched.publishers is known
    assert 'controller_manager' in watched.problem
    watched.close()


@pytest.mark.parametrize('ended', [True, False])
def test_what_ends_together_is_no_warning(rig: Rig, spin_until, ended: bool) -> None:
    """A look that is under way when the node has stopped cleanly says nothing."""
    rig.load('position_controller', NAMES)
    looks: list[str] = []
    robot = Ros2ControlParameters(commands=CONTROLLERS)

    def is_there() -> bool:
        looks.append('')
        if len(looks) == 2 and ended:
            watched.rest()
        return len(looks) == 1

    watched = WatchedControllers(rig.node, rig.heartbeat._supervision, robot, is_there, 0.01)
    watched.ask(tuple(NAMES))
    assert spin_until(lambda: watched.is_known)
    watched._wake.set()
    assert spin_until(lambda: watched.problem)
    watched.close()
    warned = spin_until(lambda: any('may have changed' in one for one in rig.said), 1.0)
    assert warned is not ended


@pytest.mark.parametrize('tells', [True, False])
def test_a_controller_that_is_loaded_later_is_commanded(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, tells: bool
) -> None:
    """What appears while the node is watched is stopped, too, when the node goes silent."""
    # A manager that tells no changes is asked now and then.
    monkeypatch.setattr(heartbeat, 'REFRESH_PERIOD', 3600.0 if tells else 0.1)
    activity = rig.node.create_publisher(
        ControllerManagerActivity, 'controller_manager/activity', ACTIVITY_QOS
    )
    rig.load('position_controller', NAMES)
    assert rig.beat_until(lambda: rig.heartbeat.armed)
    rig.load('velocity_controller', NAMES)

    def is_reached() -> bool:
        if tells:
            activity.publish(ControllerManagerActivity())
        return rig.node.count_publishers('velocity_controller/commands') > 0

    assert rig.beat_until(is_reached)
    assert rig.silence_until(lambda: rig.got['velocity_controller'] and rig.manager.requests)
    assert all(list(values) == [0.0, 0.0] for values in rig.got['velocity_controller'])
    assert set(rig.manager.requests[0].deactivate_controllers) == set(CONTROLLERS)
    assert rig.heartbeat.fired == 1
