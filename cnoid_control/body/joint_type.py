"""How a link moves against its parent."""

from __future__ import annotations

from enum import Enum


class JointType(Enum):
    """Kind of the joint between a link and its parent."""

    REVOLUTE = 'revolute'
    PRISMATIC = 'prismatic'
    FREE = 'free'
    FIXED = 'fixed'
    PSEUDO_CONTINUOUS_TRACK = 'pseudo_continuous_track'

    @property
    def has_displacement(self) -> bool:
        """Whether the joint has a displacement q that moves the link."""
        return self in (JointType.REVOLUTE, JointType.PRISMATIC)
