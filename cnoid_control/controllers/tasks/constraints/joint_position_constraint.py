"""Keep joints inside their ranges."""

from __future__ import annotations

import numpy as np

from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks.constraints.constraint import JointConstraint
from cnoid_control.controllers.tasks.kinematics import TaskKinematics


class JointPositionConstraint(JointConstraint):
    """A joint approaches a limit by no more than a part of what is left in each tick.

    With a maximum deceleration it also keeps to speeds from which it can brake before the limit.
    A joint that is outside its range is never pushed further out.

    Attributes:
        gain: part of the way to the limit that may be done in one tick, in ]0, 1].
        max_deceleration: [rad/s^2] or [m/s^2]; infinite for none.
        margin: distance kept from the limits [rad] or [m].
    """

    def __init__(
        self,
        name: str,
        joint_group: JointGroup,
        gain: float = 0.5,
        max_deceleration: float = np.inf,
        margin: float = 0.0,
    ) -> None:
        """Make a constraint on the limits of the body."""
        super().__init__(name, joint_group)
        self.gain = gain
        self.max_deceleration = max_deceleration
        self.margin = margin

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Bounds from the distances to both limits."""
        arrays = kinematics.body.joint_arrays
        q = arrays['q'][self.slots]
        self.upper = self._speed(arrays['q_upper'][self.slots] - self.margin - q, dt)
        self.lower = -self._speed(q - arrays['q_lower'][self.slots] - self.margin, dt)

    def _speed(self, distance: np.ndarray, dt: float) -> np.ndarray:
        distance = np.maximum(distance, 0.0)
        speed = self.gain * distance / dt
        if np.isfinite(self.max_deceleration):
            # Largest v with v dt + v^2 / (2 a) <= distance: after this tick it can still stop.
            brake = self.max_deceleration * dt
            speed = np.minimum(
                speed, np.sqrt(brake * brake + 2.0 * self.max_deceleration * distance) - brake
            )
        return speed
