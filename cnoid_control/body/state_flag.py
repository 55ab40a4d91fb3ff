"""The channels through which a controller and a robot exchange state."""

from __future__ import annotations

from enum import IntFlag


class StateFlag(IntFlag):
    """Bits that name what is read from, or commanded to, a link.

    Used as an actuation mode (what a joint is commanded by) and as the input set of a link.
    """

    NONE = 0
    JOINT_DISPLACEMENT = 1
    JOINT_VELOCITY = 2
    JOINT_ACCELERATION = 4
    JOINT_EFFORT = 8
    LINK_POSITION = 16
    LINK_TWIST = 32
    LINK_ACCELERATION = 64
    LINK_EXT_WRENCH = 128
    LINK_CONTACT_STATE = 256
    HIGH_GAIN_ACTUATION = 512

    # A joint commanded by displacement, velocity and effort at once has a PID actuator; its gains
    # are part of the command.
    JOINT_PID = JOINT_DISPLACEMENT | JOINT_VELOCITY | JOINT_EFFORT

    # Other names for the same channels.
    STATE_NONE = NONE
    NO_ACTUATION = NONE
    JOINT_ANGLE = JOINT_DISPLACEMENT
    JOINT_TORQUE = JOINT_EFFORT
    JOINT_FORCE = JOINT_EFFORT
    ALL_STATE_HIGH_GAIN = (
        LINK_POSITION
        | LINK_TWIST
        | LINK_EXT_WRENCH
        | JOINT_DISPLACEMENT
        | JOINT_VELOCITY
        | JOINT_EFFORT
        | HIGH_GAIN_ACTUATION
    )
