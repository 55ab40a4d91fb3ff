"""Bases of all constraints: what must not be exceeded."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks.element import Element
from cnoid_control.controllers.tasks.task import one_row_a_joint

if TYPE_CHECKING:
    from cnoid_control.controllers.tasks.kinematics import TaskKinematics


class Constraint(Element):
    """Base of all constraints: lower <= rows(velocities) <= upper.

    `update` is called once a tick while the constraint is enabled (and, for a subconstraint, its
    parent is). The `sum` solver slows the whole motion down by `factor`; the `qp` solver keeps
    the bounds exactly.

    Attributes:
        lower, upper: bounds at the last update, one a row.
        scaling_factor: factor in [0, 1] that the constraint allowed at the last tick.
    """

    element_kind = 'constraint'

    def __init__(self, name: str) -> None:
        """Make a constraint that is not on a controller yet."""
        super().__init__(name)
        self.lower = np.zeros(0)
        self.upper = np.zeros(0)
        self.scaling_factor = 1.0

    def on_enable(self, kinematics: TaskKinematics) -> None:
        """Get ready: called when the constraint is added or enabled again."""

    @abc.abstractmethod
    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Refresh the bounds from the state of now."""

    @abc.abstractmethod
    def values(self, kinematics: TaskKinematics, velocity: np.ndarray) -> np.ndarray:
        """The constrained quantities at a velocity of the unknowns, one a row."""

    @abc.abstractmethod
    def row_names(self) -> list[str]:
        """What each row is about, for reports."""

    def factor(self, kinematics: TaskKinematics, velocity: np.ndarray) -> float:
        """Largest factor on the velocity that keeps the bounds; may lie outside [0, 1].

        A quantity that does not move limits nothing, even where its bound is zero.
        """
        values = self.values(kinematics, velocity)
        bound = np.where(values > 0.0, self.upper, -self.lower)
        moving = values != 0.0
        if not moving.any():
            return float('inf')
        return float(np.min(bound[moving] / np.abs(values[moving])))


class JointConstraint(Constraint):
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
        self.joint_group = one_row_a_joint(joint_group, name)
        self.unknowns: slice | np.ndarray = np.zeros(0, dtype=int)
        self.rows = np.zeros(0, dtype=int)
        self.slots = np.zeros(0, dtype=int)

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


class RowConstraint(Constraint):
    """Base of the constraints on quantities that depend linearly on all unknowns."""

    @abc.abstractmethod
    def matrix(self, kinematics: TaskKinematics) -> np.ndarray:
        """Rows over the unknowns, shape (rows, unknowns)."""

    def values(self, kinematics: TaskKinematics, velocity: np.ndarray) -> np.ndarray:
        """Matrix times velocity."""
        return self.matrix(kinematics) @ velocity
