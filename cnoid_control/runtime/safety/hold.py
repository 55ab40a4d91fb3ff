"""Commands that keep a robot where it is, whatever its joints are commanded by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body, StateFlag
from cnoid_control.body.channels import STIFFNESS
from cnoid_control.body.kinematic_tree import ROOT_NQ, ROOT_NV
from cnoid_control.runtime.safety.commands import Commands

# Highest frequency of the held joints, in radians a control period: far from where the delay of
# a sampled loop makes a spring unstable.
MAX_PHASE_PER_PERIOD = 0.1


class Hold:
    """Holds the posture that was measured when `capture` was called.

    Joints commanded by position get that position, those commanded by velocity zero, those
    commanded by effort a spring and a damper; PID actuators are told to be that themselves.

    Attributes:
        q: the posture held [rad] or [m], shape (num_joints,).
        kp: stiffness [N m/rad] or [N/m], shape (num_joints,).
        kd: damping [N m s/rad] or [N s/m], shape (num_joints,).
        with_gains: which joints have PID actuators, whose gains are commanded.
    """

    def __init__(
        self,
        body: Body,
        time_step: float,
        kp: float | list[float] = 0.0,
        kd: float | list[float] = 0.0,
        frequency: float = 50.0,
    ) -> None:
        """Prepare to hold; nothing is held yet.

        Args:
            body: the robot, whose measured state is in `q` and `dq`.
            time_step: period of a tick [s].
            kp: stiffness, one for all joints or one each; 0 for one from the joint's inertia.
            kd: damping, one for all joints or one each; 0 for one from the joint's inertia.
            frequency: natural frequency of the joints where the gains come from the inertia
                [rad/s]; lowered where the period is too long for it.
        """
        self.q = body.q.copy()
        self.kp = np.zeros(body.num_joints)
        self.kd = np.zeros(body.num_joints)
        self._without_effort = np.ones(body.num_joints, dtype=bool)
        self.with_gains = np.zeros(body.num_joints, dtype=bool)
        self._body = body
        self._data = pin.Data(body.model)
        self._given_kp = np.broadcast_to(np.asarray(kp, dtype=float), self.kp.shape)
        self._given_kd = np.broadcast_to(np.asarray(kd, dtype=float), self.kd.shape)
        self._frequency = min(frequency, MAX_PHASE_PER_PERIOD / time_step)

    def capture(self, modes: Sequence[StateFlag] | None = None) -> None:
        """Hold what is measured now; where nothing is known, what was commanded last.

        Args:
            modes: what commands each joint; what does so now where None.
        """
        body = self._body
        self.q[:] = np.where(np.isfinite(body.q), body.q, body.q_target)
        self.q[~np.isfinite(self.q)] = 0.0
        if modes is None:
            modes = [joint.actuation_mode for joint in body.joints]
        self.with_gains[:] = [STIFFNESS.serves(mode) for mode in modes]
        # Actuators that follow a position as well need no effort to hold.
        self._without_effort[:] = [
            not mode & StateFlag.JOINT_EFFORT or StateFlag.JOINT_PID in mode for mode in modes
        ]
        inertia = self._joint_inertia()
        self.kp[:] = np.where(self._given_kp > 0.0, self._given_kp, inertia * self._frequency**2)
        self.kd[:] = np.where(
            self._given_kd > 0.0, self._given_kd, 2.0 * inertia * self._frequency
        )

    def follow(self) -> None:
        """Hold what is measured now with the gains as they are, where it is known."""
        np.copyto(self.q, self._body.q, where=np.isfinite(self._body.q))

    def write(self, commands: Commands, stiffness: float = 1.0, damping: float = 1.0) -> None:
        """Write the commands that hold.

        Args:
            commands: where to.
            stiffness: part of the stiffness that acts; 0 for damping alone.
            damping: part of the damping that acts.
        """
        body = self._body
        commands.q_target[:] = self.q
        commands.dq_target[:] = 0.0
        error = np.nan_to_num(self.q - body.q, nan=0.0)
        rate = np.nan_to_num(body.dq, nan=0.0)
        commands.u[:] = stiffness * self.kp * error - damping * self.kd * rate
        commands.u[self._without_effort] = 0.0
        chosen = self.with_gains
        if chosen.any():
            commands.kp[chosen] = stiffness * self.kp[chosen]
            commands.ki[chosen] = 0.0
            commands.kd[chosen] = damping * self.kd[chosen]

    def _joint_inertia(self) -> np.ndarray:
        """Inertia against which each joint's effort works alone [kg m^2] or [kg].

        The other joints and the root yield to it: what is left when the coupling is taken out is
        the least that the joint can have, and gains made for it are stable in every contact.
        """
        body = self._body
        slots = body.tree.slots_in_pin_order
        held = np.zeros(body.num_all_joints)
        held[: body.num_joints] = self.q
        q = pin.neutral(body.model)
        q[ROOT_NQ:] = held[slots]
        upper = np.triu(pin.crba(body.model, self._data, q))
        mass = upper + np.triu(upper, 1).T
        if body.is_fixed_root:
            mass = mass[ROOT_NV:, ROOT_NV:]
        try:
            inverse = np.linalg.inv(mass)
        except np.linalg.LinAlgError:
            # Something without mass moves; what has a mass is held all the same.
            inverse = np.linalg.pinv(mass, hermitian=True)
        yielding = np.diagonal(inverse)[mass.shape[0] - len(slots) :]
        inertia = np.zeros(body.num_all_joints)
        inertia[slots] = np.divide(1.0, yielding, out=np.zeros(len(slots)), where=yielding > 0.0)
        return inertia[: body.num_joints]
