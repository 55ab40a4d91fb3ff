"""Task base classes and their feedback."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cnoid_control.body import Link
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks.element import Element
from cnoid_control.controllers.tasks.exceptions import TaskError, wrong_target
from cnoid_control.controllers.tasks.kinematics import TaskKinematics, rotate, rotate_back
from cnoid_control.controllers.tasks.strict import Strict, put
from cnoid_control.controllers.tasks.target import fixed

# Limits from here on are none: parameter files know no infinity.
NO_LIMIT = 1e9


# Another one whenever the rows of any task change: what was found for them holds until then.
_state_of_rows = object()


def state_of_rows() -> object:
    """An object that is another one once places, weights or frames of any rows have changed."""
    return _state_of_rows


def note_row_change() -> None:
    """Have what was found for the rows of all tasks looked at again."""
    global _state_of_rows
    _state_of_rows = object()


@dataclass
class VelocityShaper(Strict):
    """Adds integral and derivative action to what a task asks for, then limits its norm.

    Attributes:
        integral_gain: velocity per integral of the error [1/s^2].
        integral_limit: largest norm of that integral.
        derivative_gain: velocity per rate of the error.
        max_speed: largest norm of the velocity asked for; infinite for none.
        max_change: largest norm of its change per second; infinite for none.
    """

    integral_gain: float = 0.0
    integral_limit: float = np.inf
    derivative_gain: float = 0.0
    max_speed: float = np.inf
    max_change: float = np.inf

    def __post_init__(self) -> None:
        """Start from rest."""
        self.reset()

    @property
    def changes_anything(self) -> bool:
        """Whether there is any action or limit at all."""
        acts = self.integral_gain > 0.0 or self.derivative_gain > 0.0
        return acts or min(self.max_speed, self.max_change) < NO_LIMIT

    def reset(self, velocity: np.ndarray | None = None) -> None:
        """Forget the past: the task starts anew, from rest or from a velocity."""
        self._integral: np.ndarray | None = None
        self._last_error: np.ndarray | None = None
        self._last_velocity = velocity

    def shape(self, velocity: np.ndarray, error: np.ndarray, dt: float) -> np.ndarray:
        """Velocity to ask for.

        Args:
            velocity: what the task's own gain asks for.
            error: error of the task.
            dt: time since the last call [s].
        """
        shaped = velocity.copy()
        if self.integral_gain:
            integral = error * dt if self._integral is None else self._integral + error * dt
            self._integral = _limit(integral, self.integral_limit)
            shaped += self.integral_gain * self._integral
        if self.derivative_gain and self._last_error is not None:
            shaped += self.derivative_gain * (error - self._last_error) / dt
        shaped = _limit(shaped, self.max_speed)
        if np.isfinite(self.max_change):
            last = np.zeros_like(shaped) if self._last_velocity is None else self._last_velocity
            shaped = last + _limit(shaped - last, self.max_change * dt)
        self._last_error = error.copy()
        self._last_velocity = shaped
        return shaped


def _limit(vector: np.ndarray, largest: float) -> np.ndarray:
    norm = float(np.linalg.norm(vector))
    return vector * (largest / norm) if norm > largest else vector


class Task(Element):
    """Base of all tasks.

    A task asks for a velocity of some quantity. `compute` is called once per tick while it is
    enabled (and, for a subtask, its parent is); after it `velocity` holds what the task asks for
    and `error` how far the quantity is from its target.

    Attributes:
        lm_damping: damping of the solution in proportion to the task's weighted squared
            velocity, for targets out of reach. `qp` solver only.
        selection: 1 for the rows that the task cares for, 0 for the others, shape (size,).
        row_scale: root of the weight of each row, 0 for the rows that are not selected; None
            where all are 1.
        counted_rows: the rows whose scale is not 0; None where all count.
        shaper: integral and derivative action and limits of what is asked for; None for none.
        activation: factor in [0, 1] on what the task asks for, to fade it in and out.
        velocity: what was asked for at the last update, rows as in `jacobian`.
        error: distance to the target at the last update, shape (size,).
    """

    element_kind = 'task'
    # Subclasses have a target of their own type, Target or PoseTarget, or none.
    target: Any = None

    def __init__(self, name: str, size: int) -> None:
        """Make a task of `size` rows that is not on a controller yet."""
        super().__init__(name)
        self._size = size
        self._priority = 0
        self._weight = fixed(np.ones(size))
        self.row_scale: np.ndarray | None = None
        self.counted_rows: np.ndarray | None = None
        self.lm_damping = 0.0
        self.activation = 1.0
        self.shaper: VelocityShaper | None = None
        self.velocity = np.zeros(size)
        self.error = np.zeros(size)
        self._selection = fixed(np.ones(size))
        self._selects_all = True

    @property
    def size(self) -> int:
        """Number of rows."""
        return self._size

    @size.setter
    def size(self, value: int) -> None:
        self._size = value
        note_row_change()

    @property
    def priority(self) -> int:
        """0 is served first; a higher number only with what is left. `qp` solver only."""
        return self._priority

    @priority.setter
    def priority(self, value: int) -> None:
        self._priority = value
        note_row_change()

    @property
    def weight(self) -> np.ndarray:
        """Importance inside a priority, one value a row (set one for all); `qp` solver only."""
        return self._weight

    @weight.setter
    def weight(self, value: float | np.ndarray) -> None:
        array = np.array(np.broadcast_to(np.asarray(value, dtype=float), (self.size,)))
        if not np.isfinite(array).all() or (array < 0.0).any():
            raise wrong_target(f'{self.name}.weight', value, 'finite weights >= 0')
        self._weight = fixed(array)
        self._rescale()

    @property
    def selection(self) -> np.ndarray:
        """Diagonal of the selection matrix: 1 for the rows cared for, 0 for the others."""
        return self._selection

    @selection.setter
    def selection(self, value: np.ndarray) -> None:
        array = np.array(value, dtype=float)
        if array.shape != (self.size,) or not np.isin(array, (0.0, 1.0)).all():
            raise wrong_target(f'{self.name}.selection', value, f'{self.size} zeros and ones')
        self._selection = fixed(array)
        self._selects_all = bool(array.all())
        self._rescale()

    def _rescale(self) -> None:
        scale = np.sqrt(self._weight) * self._selection
        self.row_scale = None if (scale == 1.0).all() else scale
        self.counted_rows = None if scale.all() else np.flatnonzero(scale)
        note_row_change()

    def compute(self, kinematics: TaskKinematics, dt: float) -> np.ndarray:
        """What the task asks for in this tick, as in `velocity`.

        Raises:
            TaskError: the task does not say a finite velocity for each of its rows.
        """
        if self.restart:
            self.restart = False
            self.on_enable(kinematics)
            if self.shaper is not None:
                self.shaper.reset()
        self.update(kinematics, dt)
        velocity = self.velocity
        # The square is quicker than a look at every element, and is not finite if one is not.
        if velocity.shape != (self._size,) or not (
            math.isfinite(velocity.dot(velocity)) or np.isfinite(velocity).all()
        ):
            raise TaskError(
                f'task {self.name!r}: {self.size} finite velocities expected, got {velocity}'
            )
        if self.shaper is not None:
            self.velocity = velocity = self.shaper.shape(velocity, self.error, dt)
        if self.activation < 1.0:
            self.velocity = velocity = self.activation * velocity
        return velocity

    @abc.abstractmethod
    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Refresh target, `velocity` and `error` from the state of now."""

    @abc.abstractmethod
    def jacobian(self, kinematics: TaskKinematics) -> np.ndarray:
        """Rows that map the unknowns to the quantity's velocity, shape (size, unknowns)."""

    def on_enable(self, kinematics: TaskKinematics) -> None:
        """Start from the state of now: called when the task is added or enabled again."""

    def places(self, kinematics: TaskKinematics) -> tuple[np.ndarray, np.ndarray] | None:
        """Where the target is and where what should get there is, for pictures.

        Returns:
            Two poses, shape (4, 4) each, or two points, shape (3,) each, in the world [m]; None
            for a task whose target is no place.
        """
        return None


class JointTask(Task):
    """Base of the tasks of a joint group; the rows are the joints of the group."""

    family: ClassVar[str] = 'joint'
    # Whether the target is made of velocities, not of positions.
    wants_velocity: ClassVar[bool] = False

    def __init__(self, name: str, joint_group: JointGroup) -> None:
        """Make a task for a joint group."""
        super().__init__(name, joint_group.dofs)
        self._joint_group = one_row_a_joint(joint_group, name)
        self._rows = np.zeros((0, 0))
        self._rows_of: TaskKinematics | None = None
        slots = [joint.body.tree.joint_slots[joint.index] for joint in joint_group.joints]
        self._slots = np.array(slots, dtype=int)

    @property
    def joint_group(self) -> JointGroup:
        """The joints."""
        return self._joint_group

    @property
    def last_velocity(self) -> np.ndarray:
        """What was asked for at the last tick [rad/s] or [m/s], shape (size,)."""
        return self.velocity

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Refresh what is asked for."""
        put(self, 'velocity', self._selection * self.compute_joint_velocity(kinematics, dt))

    @abc.abstractmethod
    def compute_joint_velocity(self, kinematics: TaskKinematics, dt: float) -> np.ndarray:
        """Velocity asked for, one per joint of the group, before the selection, shape (size,)."""

    def jacobian(self, kinematics: TaskKinematics) -> np.ndarray:
        """Selection of the group's joints; joints that are not controlled have zero rows."""
        if self._rows_of is not kinematics:
            self._rows_of = kinematics
            self._rows = np.zeros((self.size, kinematics.num_unknowns))
            for row, joint in enumerate(self.joint_group.joints):
                column = kinematics.unknown(joint)
                if column is not None:
                    self._rows[row, column] = 1.0
        return self._rows

    def positions(self, kinematics: TaskKinematics) -> np.ndarray:
        """Displacements of the group's joints [rad] or [m], shape (size,)."""
        return kinematics.body.joint_arrays['q'].take(self._slots)


class BodyTask(Task):
    """Base of the tasks of one link, in the axes of a reference link.

    Rows are linear x y z and angular x y z of the link's origin, in the axes of the reference.

    """

    family: ClassVar[str] = 'body'

    def __init__(self, name: str, link: Link, reference: Link | None = None) -> None:
        """Make a task for a link."""
        super().__init__(name, 6)
        self._link = link
        self._reference = reference
        self._axes: np.ndarray | None = None
        # Whether any angular row is selected.
        self._turns = True

    def _rescale(self) -> None:
        super()._rescale()
        self._turns = bool(self._selection[3:].any())

    @property
    def link(self) -> Link:
        """Link that should move."""
        return self._link

    @link.setter
    def link(self, value: Link) -> None:
        self._link = value
        note_row_change()

    @property
    def reference(self) -> Link | None:
        """Link whose axes targets and selection are given in; None for the world.

        It may be changed at any time, and the target is read in the new axes at once.
        """
        return self._reference

    @reference.setter
    def reference(self, value: Link | None) -> None:
        self._reference = value
        note_row_change()

    @property
    def last_velocity_in_reference(self) -> np.ndarray:
        """What was asked for at the last update, axes of the reference [m/s, rad/s]."""
        return self.velocity

    @property
    def last_velocity_in_world(self) -> np.ndarray:
        """What was asked for at the last update, world axes [m/s, rad/s]."""
        return rotate(self._axes, self.velocity)

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Refresh what is asked for."""
        put(self, 'velocity', self._selection * self.compute_body_velocity(kinematics, dt))
        if self._reference is None:
            put(self, '_axes', None)
        else:
            put(self, '_axes', kinematics.rotation(self._reference))

    @abc.abstractmethod
    def compute_body_velocity(self, kinematics: TaskKinematics, dt: float) -> np.ndarray:
        """Velocity asked for, axes of the reference, before the selection, shape (6,)."""

    def jacobian(self, kinematics: TaskKinematics) -> np.ndarray:
        """Jacobian of the link's origin, axes of the reference, shape (6, unknowns)."""
        jacobian = kinematics.jacobian(self.link)
        if self.reference is None:
            return jacobian
        return rotate_back(kinematics.rotation(self.reference), jacobian)


class GenericTask(Task):
    """Base of the tasks that concern neither a joint group nor one link."""

    family: ClassVar[str] = 'generic'


def one_row_a_joint(group: JointGroup, name: str) -> JointGroup:
    """Give the group back where each of its joints has one degree of freedom.

    Raises:
        TaskError: a free root is among them; it is moved by tasks of its link.
    """
    if group.dofs != len(group.joints):
        raise TaskError(
            f'{name}: joint group {group.name!r} has a free root; leave it out and use a task of '
            'its link'
        )
    return group
