"""The joint channels: position, velocity and effort, each by all its names."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.body.description import StateFlag
from cnoid_control.body.link import Link


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


JOINT_FLAGS = StateFlag(sum(channel.flag for channel in CHANNELS)) | StateFlag.JOINT_ACCELERATION
ROOT_FLAGS = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST


def commanded_flags(link: Link, mode: StateFlag) -> StateFlag:
    """What of an actuation mode commands a link.

    All of it, but for ALL_STATE_HIGH_GAIN, which is meant for every link: a joint follows its
    displacement, velocity and effort, the root its pose and twist; the pose of any other link
    follows from these.
    """
    if StateFlag.ALL_STATE_HIGH_GAIN not in mode:
        return mode
    return mode & ~(JOINT_FLAGS if link.is_root else ROOT_FLAGS)
