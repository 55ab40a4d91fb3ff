"""Keep joints inside their ranges."""

from __future__ import annotations

import numpy as np

from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks.constraints.constraint import JointConstraint
from cnoid_control.controllers.tasks.kinematics import TaskKinematics

# Decelerations from here on are none: parameter files know no infinity.
NO_LIMIT = 1e9


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
        distance = np.empty((2, q.size))
        np.subtract(arrays['q_upper'][self.slots], q, out=distance[0])
        np.subtract(q, arrays['q_lower'][self.slots], out=distance[1])
        if self.margin:
            distance -= self.margin
        np.maximum(distance, 0.0, out=distance)
        speed = distance * (self.gain / dt)
        if self.max_deceleration < NO_LIMIT:
            # Largest v with v dt + v^2 / (2 a) <= distance: after this tick it can still stop.
            brake = self.max_deceleration * dt
            stoppable = np.sqrt(brake * brake + 2.0 * self.max_deceleration * distance) - brake
            np.minimum(speed, stoppable, out=speed)
        self.upper = speed[0]
        self.lower = -speed[1]
