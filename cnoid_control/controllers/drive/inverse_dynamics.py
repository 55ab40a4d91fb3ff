"""Torques that a motion needs by the model."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body


class InverseDynamics:
    """Joint efforts of a motion, the root held where and as it is.

    What stands on a foot instead of its root is held by the ground through its legs; the model
    knows nothing of that, so leave out the legs of a robot that stands on them.
    """

    def __init__(self, body: Body) -> None:
        """Make a model of the robot's present kind and root pose."""
        self._source = body
        self._model = body.clone()
        self._order = body.tree.slots_in_pin_order

    def effort(self, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
        """Efforts [N m] or [N] against gravity and inertia, shape (num_joints,).

        Args:
            q: displacements of all joints [rad] or [m], shape (num_joints,).
            dq: velocities, shape (num_joints,).
            ddq: accelerations, shape (num_joints,).
        """
        model, count = self._model, self._source.num_joints
        model.root_link.R = self._source.root_link.R
        model.q[:], model.dq[:], model.ddq[:] = q, dq, ddq
        torque = pin.rnea(model.model, model.data, model.pin_q(), model.pin_v(), model.pin_a())
        effort = np.zeros(model.num_all_joints)
        effort[self._order] = torque[6:]
        return effort[:count]
