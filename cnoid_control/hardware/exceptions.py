"""What can be wrong with a robot's channels: one class per fact."""

from __future__ import annotations

from cnoid_control.exceptions import CnoidControlError


class HardwareError(CnoidControlError):
    """A robot, simulated or real, cannot do what was asked."""
