"""Puts the parts of the simulated robot's node together as the configuration says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cnoid_control.body import Body, Device
from cnoid_control.body.channels import CHANNELS, VELOCITY
from cnoid_control.exceptions import choices
from cnoid_control.messages.devices import Stream, device_streams, kind_of, require_devices_of
from cnoid_control.parameters import not_allowed
from cnoid_control.ros.robot.parameters import (
    CommandParameters,
    Ros2ControlParameters,
    command_options,
)
from cnoid_control.ros.sim.controllers import (
    STRICT,
    SimulatedController,
    SimulatedControllers,
    forward_controller,
)
from cnoid_control.ros.sim.pacing import LOCKSTEP

if TYPE_CHECKING:
    # Parameter files for a controller_manager are made where there is no ROS, too.
    from rclpy.qos import QoSProfile

JOINT_STATE_BROADCASTER = 'joint_state_broadcaster'


def state_qos() -> QoSProfile:
    """Quality of service of states, as broadcasters have it."""
    from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

    return QoSProfile(
        depth=1,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL,
    )


def command_qos(pacing: str) -> QoSProfile:
    """Quality of service of commands: that of forward controllers; in lock-step none is lost."""
    from rclpy.qos import QoSProfile, ReliabilityPolicy

    if pacing == LOCKSTEP:
        return QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
    return QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class Served(NamedTuple):
    """What is published on a topic: a device, and which of its streams."""

    device: Device
    stream: Stream


def served_devices(body: Body, topics: dict[str, str]) -> dict[str, Served]:
    """What is published of the robot's devices, by topic.

    Of several devices on one topic the one that measures most is published. Cameras and range
    sensors look only while somebody has subscribed them.

    Raises:
        ParameterError: the configuration names a device that the robot does not have.
    """
    require_devices_of(topics, body.devices)
    served: dict[str, Served] = {}
    for device in body.devices:
        for topic, stream in device_streams(device, topics):
            other = served.get(topic)
            if other is None or len(device.state_fields) > len(other.device.state_fields):
                served[topic] = Served(device, stream)
    return served


def make_controllers(
    body: Body,
    commands: Ros2ControlParameters,
    devices: dict[str, Served],
    active: Iterable[str] = (),
    interfaces: Mapping[str, Sequence[str]] | None = None,
    default_strictness: int = STRICT,
) -> SimulatedControllers:
    """Controllers that ros2_control would have loaded for this configuration.

    Args:
        body: the robot.
        commands: its command controllers.
        devices: its devices by topic, see `served_devices`.
        active: command controllers that are active from the start.
        interfaces: command interfaces of each joint; where None, joints have them all.
        default_strictness: strictness of a switch that names none.

    Raises:
        ParameterError: a controller that is to be active does not exist.
        UnknownJoint: a controller is for a joint that the robot does not have.
    """
    names = [name for name in body.joint_names if name]
    states = [channel.interface for channel in CHANNELS]
    controllers = [
        SimulatedController(
            JOINT_STATE_BROADCASTER,
            'joint_state_broadcaster/JointStateBroadcaster',
            state_interfaces=tuple(f'{n}/{i}' for n in names for i in states),
            active=True,
        )
    ]
    for topic, (device, _) in devices.items():
        kind = kind_of(device)
        if kind and kind.broadcaster:
            controllers.append(
                SimulatedController(
                    broadcaster_name(topic),
                    kind.broadcaster.type,
                    state_interfaces=tuple(
                        f'{device.name}/{name}' for name in kind.broadcaster.interfaces
                    ),
                    parameters={
                        'sensor_name': device.name,
                        'frame_id': device.link.name if device.link is not None else '',
                    },
                    active=True,
                )
            )
    forward = {
        name: options
        for name, options in command_options(commands).items()
        if options.type == 'forward'
    }
    loaded = []
    for name, options in forward.items():
        joints = [body.joint(joint).joint_name for joint in options.joints or names]
        if interfaces is not None and not options.joints:
            joints = [name for name in joints if options.interface in interfaces.get(name, ())]
        joints = _without_tracks(body, name, options, joints)
        if joints:
            controllers.append(forward_controller(name, options.interface, joints))
            loaded.append(name)
    made = SimulatedControllers(controllers, default_strictness)
    for name in active:
        if name not in loaded:
            raise not_allowed('active_controllers', name, choices(loaded))
        made[name].active = True
    return made


def _without_tracks(
    body: Body, name: str, options: CommandParameters, joints: list[str]
) -> list[str]:
    """Joints of a controller; tracks have a velocity interface only."""
    if options.interface == VELOCITY.interface:
        return joints
    moving = [joint for joint in joints if body.joint(joint).joint_type.has_displacement]
    lacking = [joint for joint in options.joints if body.joint(joint).joint_name not in moving]
    if lacking:
        raise not_allowed(
            f'hardware.ros2_control.commands.{name}.joints',
            lacking[0],
            f'it is a track, whose interface is velocity, not {options.interface}',
        )
    return moving


def broadcaster_name(topic: str) -> str:
    """Name of the broadcaster that serves a topic."""
    return topic.strip('/').rpartition('/')[0] or topic.strip('/')


def ticks_between(rate: float, time_step: float) -> int:
    """Ticks between messages of a lower rate [Hz]; the rate of the ticks is the highest."""
    return max(round(1.0 / (rate * time_step)), 1)
