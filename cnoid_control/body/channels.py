"""The joint channels: position, velocity, effort and gains, each by all its names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cnoid_control.body.description import StateFlag
from cnoid_control.body.link import Link


@dataclass(frozen=True)
class JointChannel:
    """One quantity through which a joint is measured and commanded, or commanded only.

    Attributes:
        interface: name of the interface in ros2_control; empty where that has none.
        flag: the flags that an actuation mode has, all of them, where it uses the channel.
        command: joint array of a body that holds the command.
        state: joint array of a body that holds the measured value; empty for a gain.
        unit: unit of a revolute and of a prismatic joint.
    """

    interface: str
    flag: StateFlag
    command: str
    state: str
    unit: str

    def serves(self, mode: StateFlag) -> bool:
        """Whether an actuation mode commands a joint through this channel.

        Gains are part of the command of a PID actuator; a stiff servo has its own.
        """
        if not self.state and StateFlag.HIGH_GAIN_ACTUATION in mode:
            return False
        return self.flag in mode


POSITION = JointChannel('position', StateFlag.JOINT_DISPLACEMENT, 'q_target', 'q', 'rad or m')
VELOCITY = JointChannel('velocity', StateFlag.JOINT_VELOCITY, 'dq_target', 'dq', 'rad/s or m/s')
EFFORT = JointChannel('effort', StateFlag.JOINT_EFFORT, 'u', 'u', 'N m or N')
DAMPING = JointChannel('damping', StateFlag.JOINT_PID, 'kd', '', 'N m s/rad or N s/m')
INTEGRAL = JointChannel('', StateFlag.JOINT_PID, 'ki', '', 'N m/(rad s) or N/(m s)')
STIFFNESS = JointChannel('stiffness', StateFlag.JOINT_PID, 'kp', '', 'N m/rad or N/m')

CHANNELS = (POSITION, VELOCITY, EFFORT)
GAINS = (DAMPING, INTEGRAL, STIFFNESS)
# In the order in which they are sent: a stiffness never acts on a position that is older.
COMMAND_CHANNELS = (*CHANNELS, *GAINS)
COMMAND_ARRAYS = tuple(channel.command for channel in CHANNELS)
BY_INTERFACE = {channel.interface: channel for channel in COMMAND_CHANNELS if channel.interface}


def channels_of(mode: StateFlag) -> list[JointChannel]:
    """Channels by which an actuation mode commands; none for a link that is no joint."""
    return [channel for channel in COMMAND_CHANNELS if channel.serves(mode)]


# Servos that follow displacement and velocity at once, the second one with an effort besides.
FOLLOWING = StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY
FOLLOWING_WITH_EFFORT = StateFlag.JOINT_PID | StateFlag.HIGH_GAIN_ACTUATION
# What the drive of a joint can be commanded by.
DRIVE_MODES = (
    *(channel.flag for channel in CHANNELS),
    FOLLOWING,
    FOLLOWING_WITH_EFFORT,
    StateFlag.JOINT_PID,
)
_MODE_OF = {
    frozenset(channel.interface for channel in channels_of(mode) if channel.interface): mode
    for mode in DRIVE_MODES
}


def mode_of(interfaces: Collection[str]) -> StateFlag | None:
    """Actuation mode of a joint commanded through these interfaces at once; None for no mode."""
    return _MODE_OF.get(frozenset(interfaces))


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
