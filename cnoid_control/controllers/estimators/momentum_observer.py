"""Forces from outside, from how the momentum changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pinocchio as pin

from cnoid_control.body import StateFlag
from cnoid_control.controllers.composition.base_controller import Message
from cnoid_control.controllers.estimators.estimator import Estimator
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO

ROOT = 6


@dataclass
class MomentumObserverParameters:
    """Options of the momentum observer."""

    gain: float = parameter(50.0, 'cut-off of the estimate', unit='1/s', minimum=0.0)
    link: str = parameter(
        '', 'link that the force is taken to act on, at its origin; the root where empty'
    )


class ObserverState(NamedTuple):
    """Integral of the known forces, and the residual, pinocchio's order."""

    integral: np.ndarray
    residual: np.ndarray


class MomentumObserver(Estimator[ObserverState]):
    """Generalised forces that the model cannot explain, by the change of the momentum M v.

    d(M v)/dt = C^T v - g + u + external; what is left of the left side after the known part of
    the right one, through a first-order filter, is the estimate. Needs neither accelerations nor
    force sensors. For a floating root the root's pose and motion are taken from the message
    (`root_p`, `root_R`, `root_v`, `root_w`), from an estimator in front of it.

    Puts out `external_torque`, on the joints in joint-id order, and `external_wrench`, force [N]
    and torque [N m] at the origin of the link, world axes.
    """

    Parameters: ClassVar[type] = MomentumObserverParameters

    def __init__(self, parameters: MomentumObserverParameters | None = None) -> None:
        """Take the options."""
        super().__init__()
        self.parameters = parameters or MomentumObserverParameters()

    def attach(self, io: ControllerIO) -> None:
        """Read positions, velocities and efforts of all joints.

        Raises:
            UnknownLink: there is no such link.
        """
        flags = StateFlag.JOINT_PID
        for joint in io.body.joints:
            if joint.name:
                io.enable_input(joint, flags)
        self._body = io.body.clone()
        root = self._body.root_link
        self._link = self._body.link(self.parameters.link) if self.parameters.link else root
        # A fixed root takes part in nothing.
        self._first = ROOT if self._body.is_fixed_root else 0

    def estimate(
        self, state: ObserverState | None, inputs: Message
    ) -> tuple[ObserverState, Message]:
        """One step of the observer."""
        body = self._body
        body.q[:], body.dq[:] = inputs['q'], inputs['dq']
        if not self._first:
            root = body.root_link
            root.R, root.p = inputs['root_R'], inputs['root_p']
            root.v, root.w = inputs['root_v'], inputs['root_w']
        q, v = body.pin_q(), body.pin_v()
        model, data = body.model, body.data
        part = slice(self._first, None)
        mass = pin.crba(model, data, q)
        momentum = (mass @ v)[part]
        coriolis = pin.computeCoriolisMatrix(model, data, q, v)
        gravity = pin.computeGeneralizedGravity(model, data, q)
        effort = np.zeros(model.nv)
        slots = body.tree.slots_in_pin_order
        effort[ROOT:] = np.append(inputs['u'], np.zeros(body.num_virtual_joints))[slots]
        known = (coriolis.T @ v - gravity + effort)[part]
        if state is None:
            state = ObserverState(momentum, np.zeros(momentum.size))
        # The effort is that of the period before, the residual closes the loop of the filter.
        integral = state.integral + (known + state.residual) * inputs['dt']
        residual = self.parameters.gain * (momentum - integral)
        return ObserverState(integral, residual), self._message(q, residual)

    def _message(self, q: np.ndarray, residual: np.ndarray) -> Message:
        body = self._body
        pin.computeJointJacobians(body.model, body.data, q)
        carrier = body.tree.pin_joints[self._link.index]
        placement = body.tree.placements[self._link.index] or pin.SE3.Identity()
        jacobian = pin.getFrameJacobian(
            body.model,
            body.data,
            carrier,
            placement,
            pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
        )[:, self._first :]
        wrench = np.linalg.lstsq(jacobian.T, residual, rcond=1e-6)[0]
        torque = np.zeros(body.num_all_joints)
        torque[body.tree.slots_in_pin_order] = residual[ROOT - self._first :]
        return {'external_torque': torque[: body.num_joints], 'external_wrench': wrench}
