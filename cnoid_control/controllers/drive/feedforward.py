"""Torques added to what the actuators' feedback gives."""

from __future__ import annotations

import numpy as np

from cnoid_control.body import Body
from cnoid_control.controllers.drive.inverse_dynamics import InverseDynamics

KINDS = ('none', 'gravity', 'dynamics')


class Feedforward:
    """Torques for a commanded motion of some joints, by the model; the others rest as they are."""

    def __init__(self, body: Body, joints: np.ndarray) -> None:
        """Take the robot and the ids of the joints that are commanded."""
        self._body = body
        self._joints = joints
        # Made when it is needed: controllers start quickly where there is no feed-forward.
        self._model: InverseDynamics | None = None

    def torque(self, kind: str, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
        """Torques [N m] or [N] of the joints, shape (n,).

        Args:
            kind: 'none', 'gravity' for holding the position, 'dynamics' for the motion.
            q: commanded positions, shape (n,).
            dq: commanded velocities, shape (n,).
            ddq: commanded accelerations, shape (n,).
        """
        if kind == 'none':
            return np.zeros(q.size)
        if self._model is None:
            self._model = InverseDynamics(self._body)
        joints = self._joints
        position = self._body.q.copy()
        velocity, acceleration = np.zeros(position.size), np.zeros(position.size)
        position[joints] = q
        if kind == 'dynamics':
            velocity[joints], acceleration[joints] = dq, ddq
        return self._model.effort(position, velocity, acceleration)[joints]
