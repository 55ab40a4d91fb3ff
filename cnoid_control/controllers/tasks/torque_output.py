"""Torques that make a body follow a commanded motion, by inverse dynamics."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body, Link
from cnoid_control.body.kinematic_tree import ROOT_NV
from cnoid_control.controllers.tasks.kinematics import TaskKinematics

# A contact torque of 1 N m is as dear as a force of this many N: feet are about 10 cm long.
TORQUE_COST = 20.0


class TorqueOutput:
    """Feed-forward by inverse dynamics of the commanded motion, feedback by PD on joints.

    A floating base is carried by contact links: the wrench that its motion needs is shared among
    them with the least effort, and the joints carry it there.

    Attributes:
        pgain: torque per joint error [N m/rad] or [N/m], shape (num_joints,) or a scalar.
        dgain: torque per velocity error [N m s/rad] or [N s/m], likewise.
    """

    def __init__(self, model: Body, contacts: list[Link]) -> None:
        """Work on a body that holds the commanded motion.

        Args:
            model: body with the commanded q, dq and ddq, and root motion.
            contacts: links that carry the robot; none for a body fixed to the world.
        """
        self.model = model
        self.contacts = contacts
        self._kinematics = TaskKinematics(model, model.joints, moving_root=True)
        self.pgain: float | np.ndarray = 0.0
        self.dgain: float | np.ndarray = 0.0

    def feedforward(self) -> np.ndarray:
        """Torques of the commanded motion with gravity, joint-id order."""
        model = self.model
        pin_model, data = model.model, model.data
        torques = pin.rnea(pin_model, data, model.pin_q(), model.pin_v(), model.pin_a())
        if self.contacts:
            self._kinematics.update()
            jacobian = np.vstack([self._kinematics.full_jacobian(link) for link in self.contacts])
            cost = np.tile(
                [1.0, 1.0, 1.0, TORQUE_COST, TORQUE_COST, TORQUE_COST], len(self.contacts)
            )
            # Least weighted wrenches that hold the root: f = W^-1 A^T (A W^-1 A^T)^-1 w.
            carried = jacobian[:, :ROOT_NV].T
            scaled = carried / cost**2
            wrenches = scaled.T @ np.linalg.solve(scaled @ carried.T, torques[:ROOT_NV])
            torques = torques - jacobian.T @ wrenches
        return torques[ROOT_NV:] @ model.tree.joint_map

    def torques(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """Torques at measured q and dq, joint-id order [N m] or [N]."""
        model = self.model
        return self.feedforward() + self.pgain * (model.q - q) + self.dgain * (model.dq - dq)
