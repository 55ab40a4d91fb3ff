"""TaskSolver: tasks and constraints of one body, solved each tick."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body, StateFlag
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.body.signal import Signal
from cnoid_control.controllers.tasks.constraints import BoundConstraint, Constraint, is_scaled
from cnoid_control.controllers.tasks.element import Element
from cnoid_control.controllers.tasks.exceptions import (
    duplicate_task,
    foreign_task,
    unknown_task,
    unknown_type,
)
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.pose_errors import PoseErrors
from cnoid_control.controllers.tasks.solver import ControllerResult, Limitation, Solution, Solver
from cnoid_control.controllers.tasks.task import Task

FAMILIES = ('generic', 'joint', 'body')
KINDS = ('task', 'constraint', 'configuration')
EVENTS = ('added', 'removed')


class TaskCallbacks:
    """One signal an event, named `<family>_<kind>_<event>`; each is emitted with the element.

    Connect to them (`controller.body_task_added.connect(function)`) to follow what happens to a
    controller.
    """

    generic_task_added: Signal
    generic_task_removed: Signal
    generic_constraint_added: Signal
    generic_constraint_removed: Signal
    generic_configuration_added: Signal
    generic_configuration_removed: Signal
    joint_task_added: Signal
    joint_task_removed: Signal
    joint_constraint_added: Signal
    joint_constraint_removed: Signal
    joint_configuration_added: Signal
    joint_configuration_removed: Signal
    body_task_added: Signal
    body_task_removed: Signal
    body_constraint_added: Signal
    body_constraint_removed: Signal
    body_configuration_added: Signal
    body_configuration_removed: Signal

    def __init__(self) -> None:
        """Make all signals."""
        for family in FAMILIES:
            for kind in KINDS:
                for event in EVENTS:
                    setattr(self, f'{family}_{kind}_{event}', Signal())

    def emit(self, family: str, kind: str, event: str, element: object) -> None:
        """Emit the signal of an event."""
        getattr(self, f'{family}_{kind}_{event}')(element)


@dataclass
class Configuration:
    """A bundle: it is added and removed, and switched on and off, as one.

    A task or constraint may be in several bundles: it counts while its own switch and that of one
    of its bundles are on.

    Attributes:
        name: name, unique on the controller.
        family: what it is about: generic, joint or body.
        tasks: tasks in it.
        constraints: constraints in it.
    """

    name: str
    family: str = 'generic'
    tasks: list[Task] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    _enabled: bool = field(default=True, init=False)

    @property
    def is_enabled(self) -> bool:
        """Whether its switch is on."""
        return self._enabled

    @property
    def elements(self) -> list[Element]:
        """All that is in it."""
        return [*self.tasks, *self.constraints]

    def enable(self) -> None:
        """Switch it on; what was kept off by it starts anew from the state of now."""
        starting = [element for element in self.elements if not element.is_in_force]
        self._enabled = True
        for element in starting:
            for part in element.everything():
                part.restart = True
        self._changed()

    def disable(self) -> None:
        """Switch it off."""
        self._enabled = False
        self._changed()

    def _changed(self) -> None:
        for element in self.elements:
            if element.controller is not None:
                element.controller.forget_active()


ElementT = TypeVar('ElementT', bound=Element)
TaskT = TypeVar('TaskT', bound=Task)
ConstraintT = TypeVar('ConstraintT', bound=Constraint)


class TaskSolver(TaskCallbacks):
    """Finds the velocities of a joint group that serve all tasks and keep all constraints.

    Attributes:
        period: time between two computations [s].
        controller_outputs: the primary command of the controlled joints.
        velocity: of all unknowns at the last solution; the root's six first where it moves.
        tasks: tasks that were added, by name.
        constraints: constraints that were added, by name.
        configurations: configurations that were added, by name.
    """

    controller_outputs = StateFlag.JOINT_VELOCITY
    # Own classes of a derived controller, by the kinds that they stand for.
    task_types: ClassVar[Mapping[type[Task], type[Task]]] = {}
    constraint_types: ClassVar[Mapping[type[Constraint], type[Constraint]]] = {}

    def __init__(self, body: Body, joint_group: JointGroup, period: float, solver: Solver) -> None:
        """Make a controller without tasks.

        Args:
            body: body whose state is worked from; forward kinematics need not have been run.
            joint_group: joints that are controlled.
            period: time between two computations [s].
            solver: how tasks and constraints become velocities.
        """
        super().__init__()
        self._body = body
        self._joint_group = joint_group
        self.period = period
        self._solver = solver
        moving_root = solver.moves_root and not body.is_fixed_root
        self.kinematics = TaskKinematics(body, joint_group.joints, moving_root)
        self.velocity = np.zeros(self.kinematics.num_unknowns)
        self.tasks: dict[str, Task] = {}
        self.constraints: dict[str, Constraint] = {}
        self.configurations: dict[str, Configuration] = {}
        self.solution = Solution(ControllerResult.NO_SOLUTION, self.velocity)
        self._active_tasks: list[Task] = []
        self._active_constraints: list[Constraint] = []
        self._errors: PoseErrors | None = None
        self._stale = True
        # Velocities when the first tick without a solution came, and what is left of them.
        self._fading: tuple[np.ndarray, float] | None = None

    @property
    def body(self) -> Body:
        """Body whose state is worked from."""
        return self._body

    @property
    def joint_group(self) -> JointGroup:
        """Joints that are controlled, in the order that they were given in."""
        return self._joint_group

    @property
    def controlled_joints(self) -> JointGroup:
        """Joints that are controlled, as the elements of the velocities: see `unknowns`."""
        return self.kinematics.unknowns

    @property
    def solver(self) -> Solver:
        """How tasks and constraints become velocities."""
        return self._solver

    # --- what is on it ------------------------------------------------------------------------

    def add_task(self, task: Task) -> Task:
        """Add a task.

        Raises:
            TaskError: a task has that name, or it is on another controller.
        """
        return self._add(self.tasks, task)

    def create_task(self, kind: type[TaskT], *args: Any, **options: Any) -> TaskT:
        """Make a task of a kind and add it.

        Args:
            kind: class of task; where `task_types` has another one for it, that one is made.
            *args: what its constructor takes.
            **options: likewise, by name.

        Raises:
            TaskError: the kind is a base class that the controller has no class for.
        """
        concrete = self.task_types.get(kind, kind)
        if inspect.isabstract(concrete):
            known = [one.__name__ for one in self.task_types]
            raise unknown_type('task', kind.__name__, known)
        return cast(TaskT, self.add_task(concrete(*args, **options)))

    def create_constraint(
        self, kind: type[ConstraintT], *args: Any, **options: Any
    ) -> ConstraintT:
        """Make a constraint of a kind and add it; as `create_task`, with `constraint_types`."""
        concrete = self.constraint_types.get(kind, kind)
        if inspect.isabstract(concrete):
            known = [one.__name__ for one in self.constraint_types]
            raise unknown_type('constraint', kind.__name__, known)
        return cast(ConstraintT, self.add_constraint(concrete(*args, **options)))

    def add_constraint(self, constraint: Constraint) -> Constraint:
        """Add a constraint; errors as for `add_task`."""
        return self._add(self.constraints, constraint)

    def add_configuration(self, configuration: Configuration) -> Configuration:
        """Add a bundle with all tasks and constraints in it that are not on the controller yet.

        Raises:
            TaskError: one of them cannot be added, or is in it twice; none is added then.
        """
        if configuration.name in self.configurations:
            raise duplicate_task('configuration', configuration.name)
        names = [(element.element_kind, element.name) for element in configuration.elements]
        for kind, name in names:
            if names.count((kind, name)) > 1:
                raise duplicate_task(kind, name)
        tasks = [task for task in configuration.tasks if self.tasks.get(task.name) is not task]
        constraints = [
            constraint
            for constraint in configuration.constraints
            if self.constraints.get(constraint.name) is not constraint
        ]
        for task in tasks:
            self._check(self.tasks, task)
        for constraint in constraints:
            self._check(self.constraints, constraint)
        for task in tasks:
            self.add_task(task)
        for constraint in constraints:
            self.add_constraint(constraint)
        for element in configuration.elements:
            element.configurations.append(configuration)
        self.configurations[configuration.name] = configuration
        self.forget_active()
        self.emit(configuration.family, 'configuration', 'added', configuration)
        return configuration

    def remove_task(self, name: str) -> Task:
        """Take a task away; it can be added again.

        Raises:
            TaskError: there is none of that name.
        """
        return self._remove(self.tasks, name, 'task')

    def remove_constraint(self, name: str) -> Constraint:
        """Take a constraint away; errors as for `remove_task`."""
        return self._remove(self.constraints, name, 'constraint')

    def remove_configuration(self, name: str) -> Configuration:
        """Take a bundle away with all that is in it, in no other one, and still there."""
        if name not in self.configurations:
            raise unknown_task('configuration', name, self.configurations)
        configuration = self.configurations.pop(name)
        for element in configuration.elements:
            if configuration in element.configurations:
                element.configurations.remove(configuration)
        for task in configuration.tasks:
            if self.tasks.get(task.name) is task and not task.configurations:
                self.remove_task(task.name)
        for constraint in configuration.constraints:
            kept = bool(constraint.configurations)
            if self.constraints.get(constraint.name) is constraint and not kept:
                self.remove_constraint(constraint.name)
        self.forget_active()
        self.emit(configuration.family, 'configuration', 'removed', configuration)
        return configuration

    def _check(self, elements: dict[str, Any], element: Element) -> None:
        if element.controller is not None or element.parent is not None:
            raise foreign_task(element.element_kind, element.name)
        if element.name in elements:
            raise duplicate_task(element.element_kind, element.name)

    def _add(self, elements: dict[str, Any], element: ElementT) -> ElementT:
        self._check(elements, element)
        elements[element.name] = element
        for part in element.everything():
            part.controller = self
            part.restart = True
        self.forget_active()
        self.emit(element.family, element.element_kind, 'added', element)
        return element

    def _remove(self, elements: dict[str, ElementT], name: str, kind: str) -> ElementT:
        if name not in elements:
            raise unknown_task(kind, name, elements)
        element = elements.pop(name)
        for part in element.everything():
            part.controller = None
        self.forget_active()
        self.emit(element.family, kind, 'removed', element)
        return element

    def all_tasks(self) -> list[Task]:
        """Tasks and subtasks, enabled or not."""
        return [cast(Task, task) for top in self.tasks.values() for task in top.everything()]

    def all_constraints(self) -> list[Constraint]:
        """Constraints and subconstraints, enabled or not."""
        tops = self.constraints.values()
        return [cast(Constraint, part) for top in tops for part in top.everything()]

    def forget_active(self) -> None:
        """Find the enabled tasks and constraints anew: something was added, removed, switched."""
        self._stale = True

    def _find_active(self) -> None:
        for constraint in self.all_constraints():
            constraint.forget_factor(active=False)
        self._active_tasks = [
            cast(Task, task) for top in self.tasks.values() for task in top.active()
        ]
        self._active_constraints = [
            cast(Constraint, part) for top in self.constraints.values() for part in top.active()
        ]
        self._stale = False

    # --- the computation ----------------------------------------------------------------------

    def compute(self) -> ControllerResult:
        """Solve for the body's state of now; with NO_SOLUTION the velocities stay as they were."""
        kinematics = self.kinematics
        kinematics.update()
        if self._stale:
            self._find_active()
        if self._errors is None or not self._errors.fits(self._active_tasks):
            self._errors = PoseErrors(kinematics, self._active_tasks)
        self._errors.compute(self.period)
        for constraint in self._active_constraints:
            constraint.forget_factor(active=True)
            if constraint.restart:
                constraint.restart = False
                constraint.on_enable(kinematics)
            constraint.update(kinematics, self.period)
        solution = self.solver.solve(kinematics, self._active_tasks, self._active_constraints)
        self.solution = solution
        if solution.result is not ControllerResult.NO_SOLUTION:
            self.velocity = solution.velocity
            self._fading = None
        return solution.result

    def slow_down(self, part: float) -> None:
        """Slow the last velocities down where there is no solution.

        Args:
            part: part of what they were at the last solution that they lose now.
        """
        start, left = self._fading or (self.velocity, 1.0)
        left = max(left - part, 0.0)
        self._fading = start, left
        velocity = left * start
        scaling = [constraint for constraint in self._active_constraints if is_scaled(constraint)]
        factors = [constraint.compute(self.kinematics, velocity) for constraint in scaling]
        self.velocity = min(factors, default=1.0) * velocity

    def write_velocities(self, target: np.ndarray) -> None:
        """Put the joint velocities into an array of the body's joint order."""
        kinematics = self.kinematics
        target[kinematics.joint_slots] = self.velocity[kinematics.root_unknowns :]

    def integrate(self) -> None:
        """Move the body by one period at the last velocities, the root too where it moves."""
        body, kinematics = self.body, self.kinematics
        q = body.joint_arrays['q']
        q[kinematics.joint_slots] += self.velocity[kinematics.root_unknowns :] * self.period
        if kinematics.root_unknowns:
            pose = pin.SE3(body.root_axes, body.root_q[:3])
            body.set_root_pose(pose * pin.exp6(self.velocity[:6] * self.period))

    @property
    def active_tasks(self) -> list[Task]:
        """Tasks that counted at the last tick."""
        return self._active_tasks

    # --- what it can tell ---------------------------------------------------------------------

    @property
    def desired_velocity(self) -> np.ndarray:
        """Velocities of the unknowns that the tasks alone would have given at the last tick."""
        if self.solution.desired is None:
            self.solution.desired = self.solver.desired(self.kinematics, self._active_tasks)
        return self.solution.desired

    @property
    def scaling_factor(self) -> float:
        """Part of the desired velocity that was found at the last tick, in [0, 1].

        The factor itself with the `sum` solver; the projection on the desired velocity with `qp`.
        """
        if self.solution.factor is not None:
            return self.solution.factor
        if self.solution.result is ControllerResult.NO_SOLUTION:
            return 0.0
        if not self.solution.active:
            return 1.0
        desired = self.desired_velocity
        return float(np.clip(desired @ self.velocity / max(desired @ desired, 1e-300), 0.0, 1.0))

    def limitations(self) -> list[Limitation]:
        """Which bounds held the last motion back, and what the tasks would have wanted there."""
        found = []
        if not self.solution.active:
            return []
        desired = self.desired_velocity
        for constraint, rows in self.solution.active:
            if not isinstance(constraint, BoundConstraint) or not rows:
                factor = constraint.scaling_factor
                found.append(Limitation(constraint, 'scaling factor', factor, 1.0))
                continue
            names = constraint.row_names()
            wanted = constraint.values(self.kinematics, desired)
            for row in rows:
                bound = constraint.upper[row] if wanted[row] > 0.0 else constraint.lower[row]
                found.append(Limitation(constraint, names[row], float(bound), float(wanted[row])))
        return found
