"""Command controllers: which ones have which joints, in which order."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from rclpy.node import Node

from cnoid_control.body import Body, Link, StateFlag
from cnoid_control.body.channels import (
    BY_INTERFACE,
    DRIVE_MODES,
    EFFORT,
    FOLLOWING,
    FOLLOWING_WITH_EFFORT,
    JointChannel,
    channels_of,
)
from cnoid_control.exceptions import choices
from cnoid_control.hardware.exceptions import HardwareError, UnsupportedChannel
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.ros.exceptions import RobotError
from cnoid_control.ros.robot.command_publisher import JointCommandPublisher
from cnoid_control.ros.robot.controller_manager import ControllerManager
from cnoid_control.ros.robot.parameters import (
    CommandParameters,
    Ros2ControlParameters,
    command_options,
)
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.ros.waiting import Waiting

# Time between two looks for subscriptions [s].
READER_POLL = 0.01
# Time between two looks for a manager [s].
LOOK = 1.0


def ordered_joints(
    options: CommandParameters, robot: Sequence[str], ask: Callable[[], list[str]] | None
) -> list[str]:
    """Joints of a command controller, in the order of the values that it expects.

    Args:
        options: its options, whose `joints` overrule everything.
        robot: all joints of the robot, which it has where nobody says otherwise.
        ask: asks the controller itself; None where that is not possible.
    """
    if options.joints:
        return list(options.joints)
    if options.type == 'joint_state' or ask is None:
        return list(robot)
    return ask()


class ResolvedCommands(NamedTuple):
    """How the joints of a request are commanded.

    Attributes:
        modes: actuation mode of each joint, by link name, as the robot serves it: a joint with
            JOINT_PID that has JOINT_EFFORT here needs its efforts computed.
        publishers: publishers to the command controllers, in the order of sending.
    """

    modes: dict[str, StateFlag]
    publishers: list[JointCommandPublisher]


def interfaces_of(mode: StateFlag) -> list[JointChannel]:
    """Channels of an actuation mode that ros2_control has interfaces for."""
    return [channel for channel in channels_of(mode) if channel.interface]


class CommandControllers:
    """Finds command controllers, has them activated and released; never in the loop thread.

    Attributes:
        manager: controller_manager; None where there is none.
    """

    def __init__(
        self,
        node: Node,
        body: Body,
        parameters: Ros2ControlParameters,
        time_step: float,
        supervision: SupervisionNode,
    ) -> None:
        """Take the command controllers of the configuration.

        Args:
            node: node that publishes.
            body: the robot.
            parameters: options, with the command controllers.
            time_step: period of a tick [s].
            supervision: calls the services of controller_manager.
        """
        self.manager: ControllerManager | None = None
        self._options = command_options(parameters)
        self._node = node
        self._body = body
        self._parameters = parameters
        self._time_step = time_step
        self._supervision = supervision
        self._publishers: dict[str, JointCommandPublisher] = {}
        # Publishers to controllers that have other joints now.
        self._outdated: list[JointCommandPublisher] = []
        self._joints: dict[str, list[str]] = {}
        # Joints that were commanded by effort, where nothing else moves them from then on.
        self._by_effort: set[str] = set()
        # How long what is not there yet is waited for [s]; once the robot is commanded it is.
        self._patience = parameters.startup_timeout

    def resolve(self, request: IORequest) -> ResolvedCommands:
        """Publishers for the joints that are commanded, and by what they are.

        Raises:
            HardwareError: a joint cannot be commanded as is asked for, and why.
        """
        self._find_manager()
        # A controller that was loaded anew may have them in another order.
        self._joints.clear()
        modes = self._served_modes(request)
        publishers = [
            self._publisher(name)
            for interface, joints in self._wanted(modes).items()
            for name in self._names_for(interface, joints)
        ]
        self._refuse_shared_joints(publishers, modes)
        self._refuse_after_effort(publishers)
        return ResolvedCommands(modes, publishers)

    def activate(self, publishers: Sequence[JointCommandPublisher]) -> None:
        """Have these controllers active, and no other one on their joints; confirmed.

        In a dry run they stay as they are.

        Raises:
            HardwareError: controller_manager did not do it, in lock-step nobody receives the
                commands, or they would have no effect.
        """
        if self._parameters.dry_run:
            return
        self._refuse_after_effort(publishers)
        if self._parameters.lock_step:
            self._wait_for_readers(publishers)
        names = [one.name for one in publishers if one.parameters.type != 'joint_state']
        if self.manager is not None and names:
            self.manager.use(names)
        if self._parameters.effort_is_final:
            self._by_effort.update(
                joint
                for one in publishers
                if one.interface == EFFORT.interface
                for joint in one.joints
            )
        self._patience = 0.0

    def _refuse_after_effort(self, publishers: Sequence[JointCommandPublisher]) -> None:
        """Refuse commands that a robot which stays with efforts would take and not follow.

        Raises:
            RobotError: joints were commanded by effort, and are to be by something else.
        """
        for one in publishers:
            lost = [joint for joint in one.joints if joint in self._by_effort]
            if lost and one.interface != EFFORT.interface:
                raise RobotError(
                    f'{one.interface} of {", ".join(lost)} by {one.name!r}: they were commanded '
                    'by effort, and move by nothing else until the robot is started again '
                    '(hardware.ros2_control.effort_is_final, as in Gazebo); a controller with '
                    'JOINT_EFFORT or JOINT_PID can take over'
                )

    def _wait_for_readers(self, publishers: Sequence[JointCommandPublisher]) -> None:
        """Wait for subscriptions: a robot in lock-step that misses a command waits for ever."""
        timeout = self._parameters.startup_timeout
        deadline = time.monotonic() + timeout
        waiting = Waiting(self._node.get_logger().info)
        for publisher in publishers:
            while not publisher.reader_count:
                if time.monotonic() > deadline or not self._node.context.ok():
                    raise RobotError(
                        f'no subscriber on {publisher.topic!r} within {timeout:g} s: nobody '
                        f'receives the commands of {publisher.name!r}'
                    )
                waiting.still(f'a subscriber on {publisher.topic!r}')
                time.sleep(READER_POLL)

    def release(self) -> None:
        """Deactivate what was activated from here."""
        if self.manager is None:
            return
        try:
            self.manager.release(self._parameters.release_timeout)
        except HardwareError as error:
            self._node.get_logger().warning(f'controllers are left active: {error}')

    def close(self) -> None:
        """Stop advertising the topics."""
        for publisher in (*self._publishers.values(), *self._outdated):
            publisher.close()
        self._publishers.clear()
        self._outdated.clear()

    def _find_manager(self) -> None:
        """Find the configured controller_manager.

        Without it nobody says in which order a command controller takes its joints.
        """
        name = self._parameters.controller_manager
        if self.manager is not None or not name:
            return
        manager = ControllerManager(name, self._supervision)
        waiting = Waiting(self._node.get_logger().info)
        deadline = time.monotonic() + self._patience
        while not manager.is_there(min(LOOK, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() < deadline and self._node.context.ok():
                waiting.still(f'{name!r}: nobody serves {name}/list_controllers')
                continue
            raise RobotError(
                f'no {name!r} found within {self._patience:g} s; start it, or set '
                "hardware.ros2_control.controller_manager to '' where commands go to topics that "
                'nobody manages'
            )
        self.manager = manager

    def _served_modes(self, request: IORequest) -> dict[str, StateFlag]:
        """Actuation modes by which the robot can do what is asked for, by link name."""
        modes = {}
        with_gains: list[Link] = []
        for name, mode in request.outputs.items():
            link = self._body.link(name)
            if StateFlag.ALL_STATE_HIGH_GAIN in mode and link.joint_id >= 0:
                mode = self._high_gain_mode(link)
            # A servo is stiff in any case.
            plain = mode & ~StateFlag.HIGH_GAIN_ACTUATION
            served = mode if mode == FOLLOWING_WITH_EFFORT else plain
            if served not in DRIVE_MODES or link.joint_id < 0:
                raise UnsupportedChannel(name, mode, 'ros2_control', self._modes_of(link))
            if served == StateFlag.JOINT_PID:
                with_gains.append(link)
            modes[name] = served
        with_gains.sort(key=lambda link: link.joint_id)
        for link in self._without_gain_interfaces(with_gains):
            modes[link.name] = StateFlag.JOINT_EFFORT
        return modes

    def _without_gain_interfaces(self, links: Sequence[Link]) -> list[Link]:
        """Joints whose robot cannot be told gains: PD is computed here.

        Raises:
            RobotError: the configuration does not want that.
        """
        if not links:
            return []
        wanted = self._parameters.joint_pid
        lacking = list(links)
        if wanted != 'effort':
            has = self._interface_names()
            needed = interfaces_of(StateFlag.JOINT_PID)
            lacking = [
                link
                for link in links
                if not all(f'{link.joint_name}/{one.interface}' in has for one in needed)
            ]
        if not lacking:
            return []
        names = ', '.join(link.joint_name for link in lacking)
        if wanted == 'interfaces':
            raise RobotError(
                f'no stiffness and damping interfaces for {names}, and '
                'hardware.ros2_control.joint_pid is interfaces; effort has PD computed here'
            )
        self._node.get_logger().info(
            f'PD of {names} is computed here, at {1.0 / self._time_step:g} Hz, and efforts are '
            'sent' + (': there are no stiffness and damping interfaces' * (wanted == 'auto'))
        )
        return lacking

    def _interface_names(self) -> set[str]:
        """Command interfaces that there are, `joint/interface`.

        They are those of the configured command controllers, else those that the manager knows.
        """
        if not self._parameters.commands:
            return self.manager.command_interfaces() if self.manager is not None else set()
        return {
            f'{joint}/{options.interface}'
            for name, options in self._options.items()
            for joint in self._joints_of(name)
        }

    def _wanted(self, modes: Mapping[str, StateFlag]) -> dict[str, list[str]]:
        """Joints that are commanded, by interface, in the order of sending."""
        wanted: dict[str, list[str]] = {}
        for channel in BY_INTERFACE.values():
            joints = [
                self._body.link(name).joint_name
                for name, mode in modes.items()
                if channel.serves(mode)
            ]
            if joints:
                wanted[channel.interface] = joints
        return wanted

    def _high_gain_mode(self, link: Link) -> StateFlag:
        """What of ALL_STATE_HIGH_GAIN a joint can follow here: its effort only where one is taken.

        No robot takes a wrench.
        """
        for name, options in self._options.items():
            if options.interface == EFFORT.interface and link.joint_name in self._joints_of(name):
                return FOLLOWING_WITH_EFFORT
        self._node.get_logger().warning(
            f'{link.joint_name} is commanded by position and velocity alone: no command '
            'controller with effort interface has it'
        )
        return FOLLOWING

    @staticmethod
    def _modes_of(link: Link) -> list[object]:
        return [*DRIVE_MODES] if link.joint_id >= 0 else ['a joint with an id']

    def _names_for(self, interface: str, joints: list[str]) -> list[str]:
        """Command controllers that have these joints, by their names."""
        found = []
        left = set(joints)
        for name, options in self._options.items():
            if options.interface == interface and left & set(self._joints_of(name)):
                found.append(name)
                left -= set(self._joints_of(name))
        if left:
            lacking = [name for name in joints if name in left]
            raise RobotError(
                f'no command controller with {interface} interface for {", ".join(lacking)}; '
                f'configured: {", ".join(self._options) or "none"}'
            )
        return found

    def _joints_of(self, name: str) -> list[str]:
        if name in self._joints:
            return self._joints[name]
        known = [joint.joint_name for joint in self._body.joints if joint.name]
        options, manager = self._options[name], self.manager
        ask = None
        if manager is not None and options.type != 'joint_state':
            say = self._node.get_logger().info
            manager.wait_until_usable(name, self._patience, say)
            ask = partial(manager.joints, name)
        joints = ordered_joints(options, known, ask)
        unknown = [joint for joint in joints if joint not in known]
        if unknown:
            raise RobotError(
                f'command controller {name!r} has {", ".join(unknown)}, which are not joints of '
                f'the robot; {choices(known)}'
            )
        self._joints[name] = joints
        return joints

    def _publisher(self, name: str) -> JointCommandPublisher:
        joints = self._joints_of(name)
        if name in self._publishers and self._publishers[name].joints != joints:
            self._outdated.append(self._publishers.pop(name))
        if name not in self._publishers:
            self._publishers[name] = JointCommandPublisher(
                self._node,
                name,
                self._options[name],
                joints,
                self._body,
                self._time_step,
                self._parameters.dry_run,
            )
        return self._publishers[name]

    def _refuse_shared_joints(
        self, publishers: Sequence[JointCommandPublisher], modes: Mapping[str, StateFlag]
    ) -> None:
        controller_of: dict[int, str] = {}
        for publisher in publishers:
            for joint in publisher.joint_ids:
                mode = modes.get(self._body.joints[joint].name, StateFlag.NONE)
                other = controller_of.setdefault(int(joint), publisher.name)
                # Through several interfaces only where a controller asks for all of them.
                asked = BY_INTERFACE[publisher.interface].serves(mode)
                if other != publisher.name and not (asked and len(channels_of(mode)) > 1):
                    raise RobotError(
                        f'joint {self._body.joints[joint].joint_name!r} would be commanded by '
                        f'{other} and by {publisher.name}; give each command controller its own '
                        'joints under hardware.ros2_control.commands'
                    )
