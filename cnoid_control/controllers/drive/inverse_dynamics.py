"""Torques that a motion needs by the model."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body
from cnoid_control.body.kinematic_tree import ROOT_NQ, ROOT_NV


class InverseDynamics:
    """Joint efforts of a motion, the root held where and as it is.

    Joints that others mimic bear their efforts. What stands on a foot instead of its root is held
    by the ground through its legs; the model knows nothing of that, so leave out the legs of a
    robot that stands on them.
    """

    def __init__(self, body: Body) -> None:
        """Compute on the model of a robot, in the root pose that it has at each call."""
        self._body = body
        self._data = body.model.createData()

    def effort(self, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> np.ndarray:
        """Efforts [N m] or [N] against gravity and inertia, shape (num_joints,).

        Args:
            q: displacements of all joints [rad] or [m], shape (num_joints,).
            dq: velocities, shape (num_joints,).
            ddq: accelerations, shape (num_joints,).
        """
        body, tree = self._body, self._body.tree
        configuration = body.pin_q().copy()
        displacement = body.joint_arrays['q'].copy()
        displacement[: q.size] = q
        displacement[tree.mimic_slots] = (
            tree.mimic_multipliers * displacement[tree.mimicked_slots] + tree.mimic_offsets
        )
        configuration[ROOT_NQ:] = displacement[tree.slots_in_pin_order]
        rates = [np.concatenate([np.zeros(ROOT_NV), tree.joint_map @ rate]) for rate in (dq, ddq)]
        torque = pin.rnea(body.model, self._data, configuration, *rates)
        return torque[ROOT_NV:] @ tree.joint_map
