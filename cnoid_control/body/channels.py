"""The joint channels: position, velocity and effort, each by all its names."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.body.description import StateFlag


@dataclass(frozen=True)
class JointChannel:
    """One quantity through which a joint is measured and commanded.

    Attributes:
        interface: name of the interface in ros2_control.
        flag: the flag in actuation modes and IO requests.
        command: joint array of a body that holds the command.
        state: joint array of a body that holds the measured value.
        unit: unit of a revolute and of a prismatic joint.
    """

    interface: str
    flag: StateFlag
    command: str
    state: str
    unit: str


POSITION = JointChannel('position', StateFlag.JOINT_DISPLACEMENT, 'q_target', 'q', 'rad or m')
VELOCITY = JointChannel('velocity', StateFlag.JOINT_VELOCITY, 'dq_target', 'dq', 'rad/s or m/s')
EFFORT = JointChannel('effort', StateFlag.JOINT_EFFORT, 'u', 'u', 'N m or N')

CHANNELS = (POSITION, VELOCITY, EFFORT)
COMMAND_ARRAYS = tuple(channel.command for channel in CHANNELS)
BY_INTERFACE = {channel.interface: channel for channel in CHANNELS}


def channels_of(mode: StateFlag) -> list[JointChannel]:
    """Channels that an actuation mode or IO request uses; none for a link that is no joint."""
    return [channel for channel in CHANNELS if mode & channel.flag]
