"""Control laws that turn joint references into efforts: PID, feedforward, inverse dynamics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body
from cnoid_control.body.kinematic_tree import ROOT_NQ, ROOT_NV
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import ParameterError, not_allowed, parameter


class DriveError(CnoidControlError):
    """A command that the joint actuators cannot take."""


GAINS = ('kp', 'ki', 'kd')


@dataclass
class DriveParameters:
    """Which joints are driven, and how."""

    joints: list[str] = parameter([], 'joints to drive; all where empty', read_only=True)
    actuators: str = parameter(
        'hardware',
        "who closes the loop: the hardware's PID actuators at their own rate, the controller's "
        "PID with effort commands, or the hardware's own position servos",
        choices=('hardware', 'controller', 'servo'),
        read_only=True,
    )
    kp: float | list[float] = parameter(
        [],
        "position gain, for all joints or one per joint; where empty, the model's own, else by "
        'the inertia and the effort limit of each joint',
        unit='N m/rad or N/m',
        minimum=0.0,
    )
    ki: float | list[float] = parameter(
        0.0, 'integral gain', unit='N m/(rad s) or N/(m s)', minimum=0.0
    )
    kd: float | list[float] = parameter(
        [],
        "velocity gain; where empty, the model's own, else what damps kp critically, as far as "
        'that is stable',
        unit='N m s/rad or N s/m',
        minimum=0.0,
    )


def refuse_unused(old: DriveParameters, new: DriveParameters, *others: str) -> None:
    """Refuse other gains where the actuators are position servos, which ignore them.

    Args:
        old: the options in force.
        new: what they are to be.
        *others: names of other options that servos ignore.

    Raises:
        ParameterError: a gain or one of the others has changed, and servos are driven.
    """
    for name in (*GAINS, *others):
        if new.actuators == 'servo' and getattr(old, name) != getattr(new, name):
            raise ParameterError(name, 'position servos take positions only')


def spread(key: str, value: float | list[float], size: int) -> np.ndarray:
    """One value a joint, from one for all or from a list.

    Raises:
        ParameterError: a list has not one value per joint.
    """
    if isinstance(value, (int, float)):
        return np.full(size, float(value))
    if len(value) != size:
        raise not_allowed(key, value, f'it needs 1 or {size} values')
    return np.array(value, dtype=float)


class Pid:
    """Effort kp (q* - q) + kd (dq* - dq) + ki integral(q* - q) + feed-forward.

    The integral's share of the effort stays within the effort limits, as does the whole.
    """

    def __init__(
        self,
        lower: np.ndarray,
        upper: np.ndarray,
        on_limit: Callable[[str, np.ndarray], None] | None = None,
    ) -> None:
        """Start with an empty integral.

        Args:
            lower: lower effort limits [N m] or [N], shape (n,); infinite for none.
            upper: upper effort limits.
            on_limit: told what was limited, 'effort' or 'integral', and where, by index.
        """
        self._on_limit = on_limit
        self._lower = lower
        self._upper = upper
        self._integral = np.zeros(lower.size)

    def effort(
        self,
        error: np.ndarray,
        error_rate: np.ndarray,
        feedforward: np.ndarray,
        gains: np.ndarray,
        dt: float,
    ) -> np.ndarray:
        """Effort for one period, within the limits; the integral goes on by it.

        Args:
            error: q* - q [rad] or [m], shape (n,).
            error_rate: dq* - dq [rad/s] or [m/s], shape (n,).
            feedforward: effort to add [N m] or [N], shape (n,).
            gains: kp, ki and kd of each joint, shape (3, n).
            dt: period [s].
        """
        kp, ki, kd = gains
        if ki.any():
            with np.errstate(divide='ignore', invalid='ignore'):
                low, high = self._lower / ki, self._upper / ki
            moved = self._integral + error * dt
            held = np.clip(moved, low, high)
            self._integral = np.where(ki > 0.0, held, 0.0)
            self._tell('integral', (ki > 0.0) & (held != moved))
        effort = kp * error + kd * error_rate + ki * self._integral + feedforward
        limited = np.clip(effort, self._lower, self._upper)
        self._tell('effort', limited != effort)
        return limited

    def _tell(self, kind: str, where: np.ndarray) -> None:
        if self._on_limit is not None and where.any():
            self._on_limit(kind, np.flatnonzero(where))


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


class InverseDynamics:
    """Joint efforts of a motion, the root held where and as it is.

    Joints that others mimic bear their efforts. What stands on a foot instead of its root is held
    by the ground through its legs; the model knows nothing of that, so leave out the legs of a
    robot that stands on them.
    """

    def __init__(self, body: Body) -> None:
        """Compute on the model of a robot, in the root pose that it has at each call."""
        self._body = body
        self._data = pin.Data(body.model)

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
