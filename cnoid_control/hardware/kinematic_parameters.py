"""Options of the ideal robot."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.hardware.scene_parameters import SceneParameters


@dataclass
class KinematicParameters(SceneParameters):
    """What the ideal robot's sensors feel and see; its motion needs no options."""
