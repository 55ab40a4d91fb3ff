"""Topics and command controllers resolved for one IORequest."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.body.channels import CHANNELS, POSITION, STIFFNESS
from cnoid_control.hardware.exceptions import UnsupportedChannel
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.ros.exceptions import MissingChannel, RobotError
from cnoid_control.ros.robot.command_publisher import JointCommandPublisher
from cnoid_control.ros.robot.device_readers import OdometryReader, TopicReader, open_readers

if TYPE_CHECKING:
    from cnoid_control.ros.robot.hardware import Ros2ControlHardware

# What comes with the joint states.
JOINT_INPUTS = StateFlag(sum(channel.flag for channel in CHANNELS))
WRENCH = StateFlag.LINK_EXT_WRENCH
# What comes from velocities by difference.
ACCELERATIONS = StateFlag.JOINT_ACCELERATION | StateFlag.LINK_ACCELERATION
# Of links, what forward kinematics compute where the pose of the root is known.
LINK_INPUTS = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST | StateFlag.LINK_ACCELERATION


@dataclass(frozen=True)
class ResolvedIO:
    """Topics and command controllers of one request, ready to be used by the loop.

    Attributes:
        request: what was asked for.
        needed: indices of the joints whose positions must be known.
        known: indices of the joints whose positions are known; None for all.
        velocity_by_difference: whether velocities come from positions and stamps.
        reads_effort: whether measured efforts are read.
        runs_kinematics: whether poses of links are read.
        reads_acceleration: whether accelerations of joints or links are read.
        has_wrenches: whether controllers may give wrenches, which no robot takes.
        readers: the topics that are polled.
        command_publishers: publishers to the command controllers.
        modes: actuation mode of each joint as the robot serves it, by link name.
        computed: joints whose PID actuator is computed here, shape (num_joints,).
        with_gains: joints whose PID actuator is the robot's.
        has_gains: whether there are any.
    """

    request: IORequest
    needed: np.ndarray
    known: np.ndarray | None
    velocity_by_difference: bool
    reads_effort: bool
    runs_kinematics: bool
    reads_acceleration: bool
    has_wrenches: bool
    readers: tuple[TopicReader, ...]
    command_publishers: list[JointCommandPublisher]
    modes: dict[str, StateFlag]
    computed: np.ndarray
    with_gains: np.ndarray
    has_gains: bool


def resolve_io(robot: Ros2ControlHardware, request: IORequest) -> ResolvedIO:
    """Find the topics and command controllers of a request; it may wait, so not in the loop.

    Args:
        robot: the robot, with a first joint state.
        request: what the controllers read and command.

    Raises:
        HardwareError: something is not there; the message names it.
    """
    flags = _checked_flags(robot, request)
    decoder = robot.source.decoder
    modes, publishers = robot.command_controllers.resolve(request)
    robot.device_commands.demand(request.device_outputs, robot.parameters.startup_timeout)
    needed = _needed_joints(robot, request, publishers)
    known = np.flatnonzero(np.isfinite(decoder.position))
    _require_positions(robot, needed)
    has_velocity = bool(np.isfinite(decoder.velocity[needed]).all())
    mode = robot.parameters.velocity
    if mode == 'message' and flags & StateFlag.JOINT_VELOCITY:
        _require(robot, 'velocity', needed)
    if flags & StateFlag.JOINT_EFFORT:
        _require(robot, 'effort', needed)
    runs_kinematics = bool(flags & LINK_INPUTS)
    computed = _joint_mask(
        robot,
        lambda name: (
            STIFFNESS.serves(request.outputs.get(name, StateFlag.NONE))
            and modes[name] == StateFlag.JOINT_EFFORT
        ),
    )
    if computed.any():
        robot.find_pid_limits()
    with_gains = _joint_mask(robot, lambda name: STIFFNESS.serves(modes.get(name, StateFlag.NONE)))
    return ResolvedIO(
        request=request,
        needed=needed,
        known=None if len(known) == len(robot.joints) else known,
        velocity_by_difference=mode == 'difference' or not has_velocity,
        reads_effort=bool(flags & StateFlag.JOINT_EFFORT),
        runs_kinematics=runs_kinematics,
        reads_acceleration=bool(flags & ACCELERATIONS),
        has_wrenches=any(flags & WRENCH for flags in request.outputs.values()),
        readers=_open_readers(robot, request, runs_kinematics),
        command_publishers=publishers,
        modes=modes,
        computed=computed,
        with_gains=with_gains,
        has_gains=bool(with_gains.any()),
    )


def _joint_mask(robot: Ros2ControlHardware, chosen: Callable[[str], bool]) -> np.ndarray:
    """Joints that are chosen by the name of their link, shape (num_joints,)."""
    return np.array([bool(j.name) and chosen(j.name) for j in robot.body.joints], dtype=bool)


def _needed_joints(
    robot: Ros2ControlHardware, request: IORequest, publishers: list[JointCommandPublisher]
) -> np.ndarray:
    """Indices of the joints whose positions must be known.

    Those that controllers read and command, and the other joints of a command controller with a
    position interface, which are held.
    """
    asked = {*request.inputs, *request.outputs}
    held = {
        joint
        for publisher in publishers
        if publisher.interface == POSITION.interface
        for joint in publisher.joints
    }
    found = [
        i
        for i, joint in enumerate(robot.joints)
        if joint.name in asked or joint.joint_name in held
    ]
    return np.array(found, np.intp)


# What helps where the root of a floating robot is read, and nobody tells it.
NO_ODOMETRY = (
    'give hardware.ros2_control.odometry, the topic of its pose and twist (of the simulated '
    'robot: cnoid_control_mujoco/root); a policy does without by base: estimator'
)


def _checked_flags(robot: Ros2ControlHardware, request: IORequest) -> StateFlag:
    """Everything that is read of any link; refused where the robot does not show it."""
    possible = JOINT_INPUTS | StateFlag.JOINT_ACCELERATION
    if robot.body.is_fixed_root or robot.parameters.odometry:
        possible |= LINK_INPUTS
    flags = StateFlag.NONE
    for name, asked in request.inputs.items():
        lacking = asked & ~possible
        if lacking:
            known = [flag for flag in StateFlag if flag in possible and flag.bit_count() == 1]
            remedy = NO_ODOMETRY if lacking & LINK_INPUTS else ''
            raise UnsupportedChannel(name, lacking, robot.name, known, remedy)
        flags |= asked
    return flags


def _require_positions(robot: Ros2ControlHardware, needed: np.ndarray) -> None:
    unknown = needed[~np.isfinite(robot.source.decoder.position[needed])]
    if unknown.size:
        names = ', '.join(robot.joints[i].joint_name for i in unknown)
        raise RobotError(f'topic {robot.topic!r}: no position of {names}')


def _require(robot: Ros2ControlHardware, field: str, needed: np.ndarray) -> None:
    values = getattr(robot.source.decoder, field)
    names = [robot.joints[i].joint_name for i in needed if not np.isfinite(values[i])]
    if names:
        raise MissingChannel(f'{field} of {", ".join(names)}', robot.topic, 'does not have it')


def _open_readers(
    robot: Ros2ControlHardware, request: IORequest, kinematics: bool
) -> tuple[TopicReader, ...]:
    """The topics in use, and those that the request needs besides, each with a first message."""
    given = robot.parameters
    lock_step, public = given.lock_step, given.public_calls
    new: list[TopicReader] = [
        *open_readers(
            robot.node,
            robot.body,
            request.devices - set(robot.device_ages),
            robot.device_topics,
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
        say = robot.node.get_logger().info
        if not reader.wait_for_good(deadline - time.monotonic(), say):
            problem = reader.problem
            for one in new:
                one.close()
            raise MissingChannel(reader.what, reader.topic, problem)
    return (*robot.readers, *new)
