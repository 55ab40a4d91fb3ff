"""What can be wrong on the ROS side: one class per fact."""

from __future__ import annotations

from cnoid_control.exceptions import CnoidControlError


class RosError(CnoidControlError):
    """Base of what can be wrong on the ROS side."""


class MalformedMessage(RosError):
    """Bytes that are not a message of the expected type."""
