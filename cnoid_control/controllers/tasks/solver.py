"""Solver base class and results."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from cnoid_control.controllers.tasks.constraints import Constraint
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.strict import Strict
from cnoid_control.controllers.tasks.task import Task
from cnoid_control.plugin.options import default_options

ActiveRows = list[tuple[Constraint, list[int]]]


class ControllerResult(Enum):
    """How a computation ended.

    SOLUTION_FOUND: the commands are new. PARTIAL_SOLUTION_FOUND: the commands are new, but tasks
    of some priorities could not be considered. NO_SOLUTION: the commands were not touched.
    """

    SOLUTION_FOUND = 'solution found'
    PARTIAL_SOLUTION_FOUND = 'partial solution found'
    NO_SOLUTION = 'no solution'


@dataclass
class Limitation:
    """One bound that held the motion back.

    Attributes:
        constraint: the constraint.
        row: what the bound is about, as the constraint names it.
        bound: value of the bound.
        wanted: value that the tasks alone would have had.
    """

    constraint: Constraint
    row: str
    bound: float
    wanted: float


@dataclass
class Solution:
    """Velocities of the unknowns, and how they came about.

    Attributes:
        result: how the computation ended.
        velocity: of the unknowns, shape (unknowns,).
        desired: what the tasks alone would have given, before constraints; None where that was
            not computed.
        factor: part of the desired velocity that the constraints allow, in [0, 1]; None where
            the velocity is no multiple of the desired one.
        find_active: finds the constraints that held the motion back, with the rows that did (none
            for one that scales the motion as a whole); it is asked only when somebody wants to
            know.
    """

    result: ControllerResult
    velocity: np.ndarray
    desired: np.ndarray | None = None
    factor: float | None = None
    find_active: Callable[[], ActiveRows] | None = None

    @cached_property
    def active(self) -> ActiveRows:
        """Constraints that held the motion back, with the rows that did."""
        return self.find_active() if self.find_active is not None else []


class Solver(Strict):
    """Base of the control laws: velocities of the unknowns for tasks under constraints.

    A law of one's own defines `solve`. It must look at every constraint that it is given: at its
    bounds, or by `constraint.compute(kinematics, velocity)` at its factor.

    Attributes:
        Parameters: dataclass of the options that a class has of its own; None for none.
        parameters: its options, an instance of `Parameters`; None where one must be given.
        moves_root: whether the velocity of a free root is an unknown.
        uses_weights: whether priorities, weights and lm_damping of tasks count.
    """

    Parameters: ClassVar[type | None] = None
    moves_root: ClassVar[bool] = False
    uses_weights: ClassVar[bool] = True

    def __init__(self) -> None:
        """Make a solver with its default options."""
        self.parameters: Any = default_options(type(self))

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow options of one's own that change while running; see `Element`."""

    @abc.abstractmethod
    def solve(
        self, kinematics: TaskKinematics, tasks: list[Task], constraints: list[Constraint]
    ) -> Solution:
        """Solve for the state of now; tasks and constraints have been updated."""

    def desired(self, kinematics: TaskKinematics, tasks: list[Task]) -> np.ndarray:
        """Velocities that the tasks alone would give, without any constraint."""
        return self.solve(kinematics, tasks, []).velocity
