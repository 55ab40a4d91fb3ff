"""What a robot was at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cnoid_control.body import Body


@dataclass
class Sample:
    """What the robot was at one moment.

    Attributes:
        time: stamp of the joint state [s].
        q: joint displacements, in the order asked for [rad] or [m].
        position: of the root, world frame [m], shape (3,).
        orientation: of the root in the world, quaternion x y z w.
        forces: upward force in each force sensor's frame [N].
    """

    time: float
    q: np.ndarray
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    orientation: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    forces: np.ndarray = field(default_factory=lambda: np.zeros(0))


def tilt_of(sample: Sample) -> float:
    """Return the angle between the root's Z axis and the vertical [rad]."""
    x, y, _, _ = sample.orientation
    return float(np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0)))


def set_state(body: Body, sample: Sample) -> None:
    """Put a body where the robot was seen."""
    import pinocchio as pin

    body.q[:] = sample.q
    body.root_link.p = sample.position
    body.root_link.R = pin.Quaternion(sample.orientation).toRotationMatrix()
    body.calc_forward_kinematics()
