"""Command controllers: which take which joints' commands, in which order."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from rclpy.node import Node

from cnoid_control.body import Body, StateFlag
from cnoid_control.hardware.exceptions import HardwareError, UnsupportedChannel
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.ros.exceptions import (
    JointClaimedTwice,
    MissingInterfaces,
    NoSubscriber,
    UncommandedJoint,
    UnknownJoints,
)
from cnoid_control.ros.robot.command_publisher import JointCommandPublisher
from cnoid_control.ros.robot.controller_manager import ControllerManager, ServiceCaller
from cnoid_control.ros.robot.parameters import (
    CommandParameters,
    Ros2ControlParameters,
    default_commands,
)

INTERFACE_OF_MODE = {
    StateFlag.JOINT_EFFORT: 'effort',
    StateFlag.JOINT_DISPLACEMENT: 'position',
    StateFlag.JOINT_VELOCITY: 'velocity',
}
# Time between two looks for subscriptions [s].
READER_POLL = 0.01


@dataclass
class CommandPlan:
    """The channels that one set of controllers needs."""

    channels: list[JointCommandPublisher] = field(default_factory=list)


class CommandControllers:
    """Finds takers of commands, has them activated and released; never in the loop thread.

    Attributes:
        manager: controller_manager; None where there is none.
    """

    def __init__(
        self,
        node: Node,
        body: Body,
        parameters: Ros2ControlParameters,
        time_step: float,
        caller: ServiceCaller,
    ) -> None:
        """Know the takers that the configuration gives."""
        self.manager: ControllerManager | None = None
        self._takers = parameters.commands or default_commands()
        self._node = node
        self._body = body
        self._parameters = parameters
        self._time_step = time_step
        self._caller = caller
        self._channels: dict[str, JointCommandPublisher] = {}
        # Channels to controllers that have other joints now.
        self._outdated: list[JointCommandPublisher] = []
        self._joints: dict[str, list[str]] = {}
        # How long what is not there yet is waited for [s]; once the robot is commanded it is.
        self._patience = parameters.startup_timeout

    def plan(self, request: IORequest) -> CommandPlan:
        """Channels for the joints that are commanded.

        Raises:
            HardwareError: a joint cannot be commanded as is asked for, and why.
        """
        self._find_manager()
        # A controller that was loaded anew may have them in another order.
        self._joints.clear()
        wanted = self._wanted(request)
        plan = CommandPlan()
        for interface, joints in wanted.items():
            takers = self._takers_of(interface, joints)
            plan.channels += [self._channel(name, taker) for name, taker in takers.items()]
        self._check_shared(plan)
        return plan

    def activate(self, plan: CommandPlan) -> None:
        """Have the plan's controllers active, and no other one on their joints; confirmed.

        Raises:
            HardwareError: controller_manager did not do it, or in lock-step nobody receives the
                commands.
        """
        if self._parameters.lock_step:
            self._wait_for_readers(plan)
        names = [one.name for one in plan.channels if self._takers[one.name].type != 'joint_state']
        if self.manager is not None and names:
            self.manager.use(names)
        self._patience = 0.0

    def _wait_for_readers(self, plan: CommandPlan) -> None:
        """A robot in lock-step that misses a command waits for ever, and the node for it."""
        timeout = self._parameters.startup_timeout
        deadline = time.monotonic() + timeout
        for channel in plan.channels:
            while not channel.reader_count:
                if time.monotonic() > deadline or not self._node.context.ok():
                    raise NoSubscriber(channel.name, channel.topic, timeout)
                time.sleep(READER_POLL)

    def release(self) -> None:
        """Deactivate what was activated from here."""
        if self.manager is None:
            return
        try:
            self.manager.release()
        except HardwareError as error:
            self._node.get_logger().warning(f'controllers are left active: {error}')

    def close(self) -> None:
        """Stop advertising."""
        for channel in (*self._channels.values(), *self._outdated):
            channel.close()
        self._channels.clear()
        self._outdated.clear()

    def _find_manager(self) -> None:
        name = self._parameters.controller_manager
        if self.manager is not None or not name:
            return
        manager = ControllerManager(name, self._caller)
        try:
            if manager.is_there() or (self._is_seen(name) and manager.is_there(self._patience)):
                self.manager = manager
                return
        except MissingInterfaces as error:
            self._node.get_logger().warning(f'{error}; commands go to plain topics')
            return
        self._node.get_logger().info(f'no {name!r} is there: commands go to plain topics')

    def _is_seen(self, manager: str) -> bool:
        """Whether there is a node of that name, whose services may take longer to be found."""
        wanted = self._node.resolve_service_name(manager)
        seen = self._node.get_node_names_and_namespaces()
        return any(f'{namespace.rstrip("/")}/{name}' == wanted for name, namespace in seen)

    def _wanted(self, request: IORequest) -> dict[str, list[str]]:
        wanted: dict[str, list[str]] = {}
        for name, mode in request.outputs.items():
            interface = INTERFACE_OF_MODE.get(StateFlag(mode & ~StateFlag.HIGH_GAIN_ACTUATION))
            link = self._body.link(name)
            if interface is None or link.joint_id < 0:
                known = [flag.name for flag in INTERFACE_OF_MODE]
                raise UnsupportedChannel(name, mode.name or mode, 'ros2_control', known)
            wanted.setdefault(interface, []).append(link.joint_name)
        return wanted

    def _takers_of(self, interface: str, joints: list[str]) -> dict[str, CommandParameters]:
        found = {}
        left = set(joints)
        for name, taker in self._takers.items():
            if taker.interface == interface and left & set(self._joints_of(name, taker)):
                found[name] = taker
                left -= set(self._joints_of(name, taker))
        if left:
            raise UncommandedJoint(
                [name for name in joints if name in left], interface, self._takers
            )
        return found

    def _joints_of(self, name: str, taker: CommandParameters) -> list[str]:
        if name in self._joints:
            return self._joints[name]
        known = [joint.joint_name for joint in self._body.joints if joint.name]
        joints = taker.joints
        if self.manager is not None and taker.type != 'joint_state':
            self.manager.wait_until_usable(name, self._patience)
            joints = joints or self.manager.joints(name)
        joints = joints or known
        foreign = [joint for joint in joints if joint not in known]
        if foreign:
            raise UnknownJoints(name, foreign, known)
        self._joints[name] = joints
        return joints

    def _channel(self, name: str, taker: CommandParameters) -> JointCommandPublisher:
        joints = self._joints_of(name, taker)
        if name in self._channels and self._channels[name].joints != list(joints):
            self._outdated.append(self._channels.pop(name))
        if name not in self._channels:
            self._channels[name] = JointCommandPublisher(
                self._node, name, taker, joints, self._body, self._time_step
            )
        return self._channels[name]

    def _check_shared(self, plan: CommandPlan) -> None:
        taker_of: dict[int, str] = {}
        for channel in plan.channels:
            for joint in channel.joint_ids:
                other = taker_of.setdefault(int(joint), channel.name)
                if other != channel.name:
                    raise JointClaimedTwice(
                        self._body.joints[joint].joint_name, [other, channel.name]
                    )
