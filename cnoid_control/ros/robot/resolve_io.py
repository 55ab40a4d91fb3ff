"""Finds the topics and command controllers for one IORequest."""

from __future__ import annotations

import time

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.hardware.exceptions import UnsupportedChannel
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.ros.exceptions import MissingChannel, NoJointStates
from cnoid_control.ros.robot.command_controllers import CommandControllers, CommandPlan
from cnoid_control.ros.robot.device_readers import OdometryReader, TopicReader, open_readers
from cnoid_control.ros.robot.reader import RobotReader
from cnoid_control.ros.robot.resolved_io import ResolvedIO

# What comes with the joint states; of links, what kinematics find when the root is known.
JOINT_INPUTS = StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY | StateFlag.JOINT_EFFORT
LINK_INPUTS = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST


class OpeningFinder:
    """Looks for channels; it may take a while, so never in the loop thread."""

    def __init__(
        self,
        robot: RobotReader,
        command_controllers: CommandControllers,
        device_topics: dict[str, str],
    ) -> None:
        """Look for a robot's channels.

        Args:
            robot: what is read of the robot so far.
            command_controllers: its takers of commands.
            device_topics: topics of the devices by name.
        """
        self._robot = robot
        self._commander = command_controllers
        self._device_topics = device_topics

    def find(self, request: IORequest) -> ResolvedIO:
        """Everything that is read and commanded.

        Raises:
            HardwareError: something is not there; the message names it.
        """
        robot = self._robot
        flags = self._check_flags(request)
        decoder = robot.source.decoder
        plan = self._commander.plan(request)
        needed = self._needed(request, plan)
        known = np.flatnonzero(np.isfinite(decoder.position))
        self._demand_positions(needed)
        has_velocity = bool(np.isfinite(decoder.velocity[needed]).all())
        mode = robot.parameters.velocity
        if mode == 'message' and flags & StateFlag.JOINT_VELOCITY:
            self._demand('velocity', needed)
        if flags & StateFlag.JOINT_EFFORT:
            self._demand('effort', needed)
        runs_kinematics = bool(flags & LINK_INPUTS)
        return ResolvedIO(
            request=request,
            needed=needed,
            known=None if len(known) == len(robot.joints) else known,
            velocity_by_difference=mode == 'difference' or not has_velocity,
            reads_effort=bool(flags & StateFlag.JOINT_EFFORT),
            runs_kinematics=runs_kinematics,
            readers=self._find_readers(request, runs_kinematics),
            plan=plan,
        )

    def _needed(self, request: IORequest, plan: CommandPlan) -> np.ndarray:
        """Indices of the joints whose positions must be known.

        Those that controllers read and command, and those that a taker of positions has besides.
        """
        asked = {*request.inputs, *request.outputs}
        held = {
            joint
            for channel in plan.channels
            if channel.interface == 'position'
            for joint in channel.joints
        }
        found = [
            i
            for i, joint in enumerate(self._robot.joints)
            if joint.name in asked or joint.joint_name in held
        ]
        return np.array(found, np.intp)

    def _check_flags(self, request: IORequest) -> StateFlag:
        robot = self._robot
        possible = JOINT_INPUTS
        if robot.body.is_fixed_root or robot.parameters.odometry:
            possible |= LINK_INPUTS
        flags = StateFlag.NONE
        for name, asked in request.inputs.items():
            lacking = asked & ~possible
            if lacking:
                raise UnsupportedChannel(
                    name, lacking.name or lacking, 'ros2_control', _names(possible)
                )
            flags |= asked
        return flags

    def _demand_positions(self, needed: np.ndarray) -> None:
        robot = self._robot
        source = robot.source
        unknown = needed[~np.isfinite(source.decoder.position[needed])]
        if unknown.size:
            names = ', '.join(robot.joints[i].joint_name for i in unknown)
            timeout = robot.parameters.startup_timeout
            raise NoJointStates(robot.topic, timeout, f'no position of {names}')

    def _demand(self, field: str, needed: np.ndarray) -> None:
        robot = self._robot
        values = getattr(robot.source.decoder, field)
        names = [robot.joints[i].joint_name for i in needed if not np.isfinite(values[i])]
        if names:
            raise MissingChannel(f'{field} of {", ".join(names)}', robot.topic, 'does not have it')

    def _find_readers(self, request: IORequest, kinematics: bool) -> tuple[TopicReader, ...]:
        robot = self._robot
        given = robot.parameters
        lock_step, public = given.lock_step, given.public_calls
        new: list[TopicReader] = [
            *open_readers(
                robot.node,
                robot.body,
                request.devices - set(robot.device_ages),
                self._device_topics,
                lock_step,
                public,
                robot.device_received,
            )
        ]
        has_root = any(isinstance(reader, OdometryReader) for reader in robot.readers)
        if kinematics and given.odometry and not has_root:
            new.append(OdometryReader(robot.node, given.odometry, robot.body, lock_step, public))
        deadline = time.monotonic() + given.startup_timeout
        for reader in new:
            if not reader.wait_for_good(deadline - time.monotonic()):
                problem = reader.problem
                for one in new:
                    one.close()
                raise MissingChannel(reader.what, reader.topic, problem)
        return (*robot.readers, *new)


def _names(flags: StateFlag) -> list[str]:
    return [str(flag.name) for flag in StateFlag if flag and flag in flags]
