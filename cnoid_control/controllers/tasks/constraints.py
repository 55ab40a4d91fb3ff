"""Constraints on joints and bodies."""

from __future__ import annotations

import abc
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from cnoid_control.body import Link
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks.element import Element
from cnoid_control.controllers.tasks.exceptions import TaskError, wrong_target
from cnoid_control.controllers.tasks.kinematics import TaskKinematics, rotate_back
from cnoid_control.controllers.tasks.strict import put
from cnoid_control.controllers.tasks.task import one_row_a_joint

if TYPE_CHECKING:
    from cnoid_control.controllers.tasks.kinematics import TaskKinematics


class Constraint(Element):
    """Base of all constraints: what slows a motion down.

    `update` is called once per tick while the constraint is enabled (and, for a subconstraint, its
    parent is), then `compute` with the velocity that is wanted. The smallest factor of all
    constraints scales the whole motion; its direction stays. Constraints that are bounds, derived
    from JointConstraint or RowConstraint, are kept exactly by the `qp` solver instead.
    """

    element_kind = 'constraint'
    family: ClassVar[str] = 'generic'

    def __init__(self, name: str) -> None:
        """Make a constraint that is not on a controller yet."""
        super().__init__(name)
        # None until it is asked for, where the solver did not need it.
        self._scaling_factor: float | None = 1.0

    def on_enable(self, kinematics: TaskKinematics) -> None:
        """Get ready: called when the constraint is added or enabled again."""

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Refresh what the constraint needs from the state of now."""

    @abc.abstractmethod
    def compute_scaling_factor(self, kinematics: TaskKinematics, velocity: np.ndarray) -> float:
        """Largest factor on a velocity of the unknowns that is allowed.

        It may lie outside [0, 1]: the controller clamps it. Which unknown is which joint says
        `kinematics.unknowns`.
        """

    def compute(self, kinematics: TaskKinematics, velocity: np.ndarray) -> float:
        """Factor in [0, 1] on a velocity of the unknowns.

        Raises:
            TaskError: the constraint gives none.
        """
        asked = velocity.view()
        # Who changed it would change what is commanded.
        asked.flags.writeable = False
        raw = self.compute_scaling_factor(kinematics, asked)
        # Written so that NaN, which compares false with everything, is refused too.
        if not isinstance(raw, (int, float, np.number)) or not (raw <= 0.0 or raw > 0.0):
            raise TaskError(f'constraint {self.name!r}: a scaling factor expected, got {raw!r}')
        self._scaling_factor = min(max(float(raw), 0.0), 1.0)
        return self._scaling_factor

    @property
    def scaling_factor(self) -> float:
        """Factor in [0, 1] that this constraint alone allowed at the last tick.

        1 while it is not active. Where the `qp` solver keeps it as a bound, it is the part of
        what the tasks wanted that lies within the bound.
        """
        if self._scaling_factor is None:
            assert self.controller is not None  # Only a controller forgets the factor.
            return self.compute(self.controller.kinematics, self.controller.desired_velocity)
        return self._scaling_factor

    def forget_factor(self, active: bool) -> None:
        """Begin a tick; for the controller."""
        put(self, '_scaling_factor', None if active else 1.0)


class BoundConstraint(Constraint):
    """Base of the constraints lower <= values(velocity) <= upper.

    Attributes:
        lower, upper: bounds at the last update, one per row.
    """

    def __init__(self, name: str) -> None:
        """Make a constraint without rows."""
        super().__init__(name)
        self.lower = np.zeros(0)
        self.upper = np.zeros(0)

    @abc.abstractmethod
    def values(self, kinematics: TaskKinematics, velocity: np.ndarray) -> np.ndarray:
        """The constrained quantities at a velocity of the unknowns, one per row."""

    @abc.abstractmethod
    def row_names(self) -> list[str]:
        """What each row is about, for reports."""

    def compute_scaling_factor(self, kinematics: TaskKinematics, velocity: np.ndarray) -> float:
        """Largest factor on the velocity that keeps the bounds.

        A quantity that does not move limits nothing, even where its bound is zero. A factor can
        only slow down: bounds that exclude rest count as rest.
        """
        values = self.values(kinematics, velocity)
        bound = np.maximum(np.where(values > 0.0, self.upper, -self.lower), 0.0)
        moving = values != 0.0
        if not moving.any():
            return float('inf')
        return float(np.min(bound[moving] / np.abs(values[moving])))


class JointConstraint(BoundConstraint):
    """Base of the constraints of a joint group: each row bounds the velocity of one joint.

    Attributes:
        unknowns: where the rows are among the unknowns; only controlled joints have a row.
        rows: place in the group of each row's joint.
        slots: place in the body's joint arrays of each row's joint.
    """

    family: ClassVar[str] = 'joint'

    def __init__(self, name: str, joint_group: JointGroup) -> None:
        """Make a constraint for a joint group."""
        super().__init__(name)
        self._joint_group = one_row_a_joint(joint_group, name)
        self.unknowns: slice | np.ndarray = np.zeros(0, dtype=int)
        self.rows = np.zeros(0, dtype=int)
        self.slots = np.zeros(0, dtype=int)

    @property
    def joint_group(self) -> JointGroup:
        """The joints."""
        return self._joint_group

    def on_enable(self, kinematics: TaskKinematics) -> None:
        """Find the group's joints among the unknowns."""
        found = [
            (unknown, row)
            for row, joint in enumerate(self.joint_group.joints)
            if (unknown := kinematics.unknown(joint)) is not None
        ]
        # In the order of the unknowns, so that a group of all joints is one slice of them.
        found.sort()
        self.rows = np.array([row for _, row in found], dtype=int)
        unknowns = np.array([unknown for unknown, _ in found], dtype=int)
        contiguous = len(found) > 0 and (np.diff(unknowns) == 1).all()
        self.unknowns = slice(unknowns[0], unknowns[-1] + 1) if contiguous else unknowns
        slots = kinematics.body.tree.joint_slots
        self.slots = np.array(
            [slots[self.joint_group.joints[row].index] for row in self.rows], dtype=int
        )

    def values(self, kinematics: TaskKinematics, velocity: np.ndarray) -> np.ndarray:
        """Velocities of the group's controlled joints."""
        return velocity[self.unknowns]

    def row_names(self) -> list[str]:
        """Names of the joints."""
        return [self.joint_group.joints[row].joint_name for row in self.rows]


class RowConstraint(BoundConstraint):
    """Base of the constraints on quantities that depend linearly on all unknowns."""

    @abc.abstractmethod
    def matrix(self, kinematics: TaskKinematics) -> np.ndarray:
        """Rows over the unknowns, shape (rows, unknowns)."""

    def values(self, kinematics: TaskKinematics, velocity: np.ndarray) -> np.ndarray:
        """Matrix times velocity."""
        return self.matrix(kinematics) @ velocity


def is_kept_exactly(constraint: Constraint) -> bool:
    """Whether the bounds of a constraint can be rows of a quadratic program."""
    # Of the object, not of its class alone: one of its own may have been put there.
    if 'values' not in vars(constraint):
        return _class_is_kept_exactly(type(constraint))
    own = getattr(vars(constraint)['values'], '__func__', None)
    if isinstance(constraint, JointConstraint):
        return own is JointConstraint.values
    return isinstance(constraint, RowConstraint) and own is RowConstraint.values


@lru_cache(maxsize=256)
def _class_is_kept_exactly(kind: type[Constraint]) -> bool:
    values = getattr(kind, 'values', None)
    if issubclass(kind, JointConstraint):
        return values is JointConstraint.values
    return issubclass(kind, RowConstraint) and values is RowConstraint.values


def is_scaled(constraint: Constraint) -> bool:
    """Whether a constraint says something by its factor that its bounds do not say."""
    factor = getattr(constraint.compute_scaling_factor, '__func__', None)
    whole = getattr(constraint.compute, '__func__', None)
    own = factor is not BoundConstraint.compute_scaling_factor or whole is not Constraint.compute
    return own or not is_kept_exactly(constraint)


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
        q = arrays['q'].take(self.slots)
        distance = np.empty((2, q.size))
        np.subtract(arrays['q_upper'].take(self.slots), q, out=distance[0])
        np.subtract(q, arrays['q_lower'].take(self.slots), out=distance[1])
        if self.margin:
            distance -= self.margin
        np.maximum(distance, 0.0, out=distance)
        speed = distance * (self.gain / dt)
        if self.max_deceleration < NO_LIMIT:
            # Largest v with v dt + v^2 / (2 a) <= distance: after this tick it can still stop.
            brake = self.max_deceleration * dt
            stoppable = distance
            stoppable *= 2.0 * self.max_deceleration
            stoppable += brake * brake
            np.sqrt(stoppable, out=stoppable)
            stoppable -= brake
            np.minimum(speed, stoppable, out=speed)
        put(self, 'upper', speed[0])
        put(self, 'lower', -speed[1])


class JointVelocityConstraint(JointConstraint):
    """|dq| <= max_velocity for each joint of a group.

    The maximum is 0 until it is set, so that a forgotten limit freezes the robot visibly.
    """

    def __init__(self, name: str, joint_group: JointGroup) -> None:
        """Make a constraint that allows no motion yet."""
        super().__init__(name, joint_group)
        self._max_velocity = np.zeros(joint_group.dofs)

    @property
    def max_velocity(self) -> np.ndarray:
        """Largest speed of each joint [rad/s] or [m/s]; a negative one counts as 0."""
        return self._max_velocity

    @max_velocity.setter
    def max_velocity(self, value: float | np.ndarray) -> None:
        array = np.array(np.broadcast_to(np.asarray(value, dtype=float), (self.joint_group.dofs,)))
        if np.isnan(array).any():
            raise wrong_target(f'{self.name}.max_velocity', value, 'numbers')
        self._max_velocity = array

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """The bounds are the maxima, both ways, whatever the state."""
        upper = np.maximum(self._max_velocity.take(self.rows), 0.0)
        put(self, 'upper', upper)
        put(self, 'lower', -upper)


class JointAccelerationConstraint(JointConstraint):
    """|dq - previous dq| <= max_acceleration dt for each joint of a group.

    The `sum` solver has one factor for all joints and can only slow down; there the constraint
    limits speeding up only.
    """

    def __init__(self, name: str, joint_group: JointGroup) -> None:
        """Make a constraint that allows no motion yet."""
        super().__init__(name, joint_group)
        self._max_acceleration = np.zeros(joint_group.dofs)

    @property
    def max_acceleration(self) -> np.ndarray:
        """Largest acceleration of each joint [rad/s^2] or [m/s^2]."""
        return self._max_acceleration

    @max_acceleration.setter
    def max_acceleration(self, value: float | np.ndarray) -> None:
        array = np.array(np.broadcast_to(np.asarray(value, dtype=float), (self.joint_group.dofs,)))
        if np.isnan(array).any() or (array < 0.0).any():
            raise wrong_target(f'{self.name}.max_acceleration', value, 'numbers >= 0')
        self._max_acceleration = array

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Bounds around the last command."""
        assert self.controller is not None  # Constraints are updated by their controller only.
        last = self.controller.velocity[self.unknowns]
        change = self._max_acceleration[self.rows] * dt
        self.upper = last + change
        self.lower = last - change


AXES = ('x', 'y', 'z', 'wx', 'wy', 'wz')


class BodyVelocityConstraint(RowConstraint):
    """|velocity| <= max_velocity for each axis of a link's origin, axes of a reference link.

    The maxima are 0 until they are set, so that a forgotten limit freezes the robot visibly.

    Attributes:
        link: link that is limited.
        reference: link whose axes the maxima are given in; None for the world.
    """

    family: ClassVar[str] = 'body'

    def __init__(self, name: str, link: Link, reference: Link | None = None) -> None:
        """Make a constraint that allows no motion yet."""
        super().__init__(name)
        self.link = link
        self.reference = reference
        self._max_velocity = np.zeros(6)

    @property
    def max_velocity(self) -> np.ndarray:
        """Largest speed along x y z [m/s] and about x y z [rad/s]; infinite for no limit."""
        return self._max_velocity

    @max_velocity.setter
    def max_velocity(self, value: np.ndarray) -> None:
        array = np.array(value, dtype=float)
        if array.shape != (6,) or np.isnan(array).any():
            raise wrong_target(f'{self.name}.max_velocity', value, '6 numbers')
        self._max_velocity = array

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """The bounds are the maxima, both ways."""
        self.upper = np.maximum(self._max_velocity, 0.0)
        self.lower = -self.upper

    def matrix(self, kinematics: TaskKinematics) -> np.ndarray:
        """Jacobian of the link's origin, axes of the reference."""
        return rotate_back(kinematics.rotation(self.reference), kinematics.jacobian(self.link))

    def row_names(self) -> list[str]:
        """Link and axis."""
        return [f'{self.link.name}.{axis}' for axis in AXES]


class WorkspaceConstraint(RowConstraint):
    """The origin of a link stays between two corners of a box, axes of the world.

    It approaches a side by no more than a part of what is left in each tick; from outside it may
    only come back in.

    Attributes:
        link: link that is limited.
        corner_min, corner_max: corners of the box in the world [m], shape (3,); may be infinite.
        gain: part of the way to a side that may be done in one tick, in ]0, 1].
    """

    family: ClassVar[str] = 'body'

    def __init__(
        self,
        name: str,
        link: Link,
        corner_min: np.ndarray,
        corner_max: np.ndarray,
        gain: float = 0.5,
    ) -> None:
        """Make a constraint to a box."""
        super().__init__(name)
        self.link = link
        self.set_corners(corner_min, corner_max)
        self.gain = gain

    def set_corners(self, corner_min: ArrayLike, corner_max: ArrayLike) -> None:
        """Keep to another box [m], each corner of shape (3,).

        Raises:
            TaskError: it is no box; the old one stays.
        """
        lower, upper = np.array(corner_min, dtype=float), np.array(corner_max, dtype=float)
        shapes = {lower.shape, upper.shape}
        if shapes != {(3,)} or not np.all(lower <= upper):
            raise wrong_target(
                f'{self.name}.corner_min', (corner_min, corner_max), 'two corners, min <= max'
            )
        self.corner_min, self.corner_max = lower, upper

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Bounds from the distances to all sides."""
        p = kinematics.placement(self.link).translation
        self.upper = self.gain * np.maximum(self.corner_max - p, 0.0) / dt
        self.lower = -self.gain * np.maximum(p - self.corner_min, 0.0) / dt

    def matrix(self, kinematics: TaskKinematics) -> np.ndarray:
        """Jacobian of the link's origin, world axes."""
        return kinematics.jacobian(self.link)[:3]

    def row_names(self) -> list[str]:
        """Link and axis."""
        return [f'{self.link.name}.{axis}' for axis in 'xyz']
