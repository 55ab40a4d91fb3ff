"""PD control of all joints of a body in as few operations as possible."""

from __future__ import annotations

import numpy as np

from cnoid_control.body import Body


class PDFollower:
    """Efforts that lead joints to a target: kp (q_target - q) - kd dq.

    Positions and velocities of a body lie in one array, and so do target and gains here: one
    difference and one product serve both. Velocities have the target zero.

    Attributes:
        q_target: the target [rad] or [m], shape (num_joints,); to be written to.
    """

    def __init__(self, body: Body) -> None:
        """Look at a body; the target and the gains are zero."""
        whole, size = body.state_and_effort, body.num_joints
        # Joints without an id, which have no gain, lie between q and dq.
        start = body.place_in_values(body.dq) - body.place_in_values(whole)
        self._state = whole[: start + size]
        self._target, self._gains = np.zeros(start + size), np.zeros(start + size)
        self._products = np.zeros(start + size)
        self.q_target = self._target[:size]
        self._places = slice(size), slice(start, None)
        self._by_position, self._by_velocity = (self._products[one] for one in self._places)

    def use(self, kp: np.ndarray, kd: np.ndarray) -> None:
        """Use these gains, each of shape (num_joints,)."""
        positions, velocities = self._places
        self._gains[positions], self._gains[velocities] = kp, kd

    def compute(self, u: np.ndarray) -> None:
        """Write the efforts [N m] or [N] to u."""
        products = np.subtract(self._target, self._state, self._products)
        products *= self._gains
        np.add(self._by_position, self._by_velocity, u)
