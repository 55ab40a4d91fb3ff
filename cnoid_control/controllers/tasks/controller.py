"""Tasks as a controller."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from eigenpy import LLT

from cnoid_control.body import Body, Link, StateFlag
from cnoid_control.body.gains import joint_gains
from cnoid_control.body.kinematic_tree import ROOT_NV
from cnoid_control.controllers.drive.laws import spread
from cnoid_control.controllers.tasks.config import TaskFactory
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.controllers.tasks.option_checks import (
    check_constraint_change,
    check_task_change,
)
from cnoid_control.controllers.tasks.parameters import TasksParameters
from cnoid_control.controllers.tasks.solver import ControllerResult
from cnoid_control.controllers.tasks.target_motion import TargetMotion, make_motion
from cnoid_control.controllers.tasks.task_input import TaskInput, make_input
from cnoid_control.controllers.tasks.twist_rows import Place, TwistRows
from cnoid_control.parameters import ParameterError, refuse_other_names
from cnoid_control.plugin import SimpleController
from cnoid_control.plugin.controller_io import ControllerConfig, ControllerIO
from cnoid_control.plugin.options import change_options, check_options

rnea = pin.rnea

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
        costs = [1.0, 1.0, 1.0, TORQUE_COST, TORQUE_COST, TORQUE_COST]
        self._squared_costs = np.tile(costs, len(contacts)) ** 2
        self._places = [slice(6 * i, 6 * i + 6) for i in range(len(contacts))]
        self._jacobian = np.zeros((6 * len(contacts), model.model.nv))
        self._rows: TwistRows | None = None
        if contacts and self._has_point_rows():
            points = [
                Place(link, place, np.arange(6), np.ones(6))
                for link, place in zip(contacts, self._places, strict=True)
            ]
            self._rows = TwistRows(self._kinematics, points, [], self._jacobian)
        self._factor = LLT(ROOT_NV)
        self.pgain: float | np.ndarray = 0.0
        self.dgain: float | np.ndarray = 0.0

    @property
    def has_jacobians(self) -> bool:
        """Whether `feedforward` computes the Jacobians of the body."""
        return bool(self.contacts)

    def _has_point_rows(self) -> bool:
        kinematics = self._kinematics
        complete = kinematics.num_unknowns == self._jacobian.shape[1]
        return complete and all(kinematics.has_point_rows(link) for link in self.contacts)

    def feedforward(self) -> np.ndarray:
        """Torques of the commanded motion with gravity, joint-id order."""
        model = self.model
        q, v = model.pin_state()
        torques = rnea(model.model, model.data, q, v, model.pin_a())
        if self.contacts:
            kinematics = self._kinematics
            kinematics.update_at(q)
            if self._rows is None:
                for place, link in zip(self._places, self.contacts, strict=True):
                    self._jacobian[place] = kinematics.full_jacobian(link)
            else:
                self._rows.refresh()
            jacobian = self._jacobian
            # Least weighted wrenches that hold the root: f = W^-1 A^T (A W^-1 A^T)^-1 w.
            carried = jacobian[:, :ROOT_NV].T
            scaled = carried / self._squared_costs
            self._factor.compute(scaled.dot(carried.T))
            needed = self._factor.solve(torques[:ROOT_NV]).reshape(-1)
            torques -= needed.dot(scaled).dot(jacobian)
        return torques[ROOT_NV:].dot(model.tree.joint_map)

    def torques(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """Torques at measured q and dq, joint-id order [N m] or [N]."""
        model = self.model
        return self.feedforward() + self.pgain * (model.q - q) + self.dgain * (model.dq - dq)


MODES = {
    'velocity': StateFlag.JOINT_VELOCITY,
    'position': StateFlag.JOINT_DISPLACEMENT,
    'torque': StateFlag.JOINT_TORQUE,
}
# Where the tasks have no solution, the last velocities fade out in this time [s].
BRAKE_TIME = 0.1
# How often the explanation of the motion is refreshed [s].
REPORT_PERIOD = 0.1
# Time between two looks at where the targets are, for pictures [s].
PLACES_PERIOD = 0.03


class TasksController(SimpleController):
    """Serves tasks under constraints; commands velocities, positions or torques.

    The tasks work on a model of the robot that is moved by what was commanded, or is put to what
    was measured in each tick.
    """

    Parameters = TasksParameters

    def configure(self, config: ControllerConfig) -> bool:
        """Build everything once, so that a mistake in the configuration is told early."""
        parameters: TasksParameters = config.parameters
        factory = TaskFactory(config.body.clone(), parameters.groups, config.folder)
        for task in factory.make_controller(parameters, 1e-3).all_tasks():
            make_motion(task, parameters.tasks[task.name].motion)
        return True

    def initialize(self, io: ControllerIO) -> bool:
        """Make the model and the tasks on it, and enable the joints."""
        self.io, self.body, self.dt = io, io.body, io.time_step
        self.parameters: TasksParameters = io.parameters
        self.model = io.body.clone()
        self.factory = TaskFactory(self.model, self.parameters.groups, io.folder)
        self.tasks = self.factory.make_controller(self.parameters, self.dt)
        self._measured = self.parameters.state == 'measured'
        self._output = self.parameters.output
        self._torques = TorqueOutput(
            self.model, [self.model.link(name) for name in self.parameters.contacts]
        )
        self.model.calc_forward_kinematics()
        self._automatic = joint_gains(self.model, io.time_step)
        self._set_gains()
        for joint in self.tasks.joint_group.joints:
            own = self.body.joint(joint.joint_name)
            own.actuation_mode = MODES[self._output]
            io.enable_io(own)
            io.enable_input(own, StateFlag.JOINT_VELOCITY)
        if self._measured and not self.body.is_fixed_root:
            io.enable_input(self.body.root_link, StateFlag.LINK_POSITION)
        self._motions: list[TargetMotion] = []
        self._inputs: list[TaskInput] = []
        for task in self.tasks.all_tasks():
            part = self.parameters.tasks[task.name]
            motion = make_motion(task, part.motion)
            if motion is not None:
                self._motions.append(motion)
            # Messages would be overwritten by a motion: there is no mailbox for them then.
            if task.target is not None and motion is None:
                self._inputs.append(make_input(io, task, part, self.factory))
        self._slots = self.tasks.kinematics.joint_slots
        self._ticks = 0
        self._report: dict[str, Any] = {}
        return True

    def control(self) -> bool:
        """Refresh targets, solve, and command the result."""
        if self._measured:
            self._take_state()
        if self._ticks > 0:
            for motion in self._motions:
                motion.step(self._ticks * self.dt)
        for task_input in self._inputs:
            task_input.step(self.io.current_time, self.dt)
        before = self.model.joint_arrays['dq'].copy()
        result = self.tasks.compute()
        if self._ticks % max(1, round(PLACES_PERIOD / self.dt)) == 0:
            self._log_places()
        if result is ControllerResult.NO_SOLUTION:
            self.tasks.slow_down(self.dt / BRAKE_TIME)
        self._command(before)
        if self._ticks % max(1, round(REPORT_PERIOD / self.dt)) == 0:
            self._explain(result)
        self._ticks += 1
        return True

    def _take_state(self) -> None:
        self.model.q[:] = self.body.q
        if not self.body.is_fixed_root:
            self.model.root_link.T = self.body.root_link.T

    def _command(self, before: np.ndarray) -> None:
        """Move the model by one tick and command the joints."""
        body, model, slots = self.body, self.model, self._slots
        velocities = model.joint_arrays['dq']
        self.tasks.write_velocities(velocities)
        model.joint_arrays['ddq'][slots] = (velocities[slots] - before[slots]) / self.dt
        self.tasks.integrate()
        body.joint_arrays['q_target'][slots] = model.joint_arrays['q'][slots]
        if self._output == 'velocity':
            body.joint_arrays['dq_target'][slots] = velocities[slots]
        elif self._output == 'torque':
            torques = self._torques.torques(body.q, body.dq)
            body.u[slots] = torques[slots]
            # The next tick begins where this one has ended.
            if self._torques.has_jacobians and not self._measured:
                self.tasks.kinematics.mark_current(model.pin_q())

    def update_parameters(self, old: TasksParameters, new: TasksParameters) -> None:
        """Follow switches, targets, gains, weights, selections, time-outs and limits.

        Raises:
            ParameterError: an option would have no effect.
            TaskError: a value does not fit its task or constraint.
        """
        self._check_change(old, new)
        self.tasks.kinematics.forget_current()
        targets = [
            (task.target, task.target.input)
            for task in self.tasks.all_tasks()
            if task.target is not None
        ]
        try:
            self._change(old, new)
        except Exception:
            self._change(new, old)
            for target, before in targets:
                if not np.array_equal(target.input, before):
                    target.set(before)
            raise
        self.parameters = new
        self._set_gains()

    def _check_change(self, old: TasksParameters, new: TasksParameters) -> None:
        """Refuse what would be ignored."""
        if new.solver != 'qp' and old.damping != new.damping:
            raise ParameterError('damping', f'it has no effect with the {new.solver!r} solver')
        size = self.body.num_joints
        for name in ('pgain', 'dgain'):
            gain = getattr(new, name)
            if getattr(old, name) != gain and new.output != 'torque':
                raise ParameterError(name, f'it has no effect with {new.output} output')
            if gain != []:
                spread(name, gain, size)
        refuse_other_names('tasks', old.tasks, new.tasks)
        refuse_other_names('constraints', old.constraints, new.constraints)
        refuse_other_names('configurations', old.configurations, new.configurations)
        solver = self.tasks.solver
        for task in self.tasks.all_tasks():
            if task.name in new.tasks:
                parts = old.tasks[task.name], new.tasks[task.name]
                check_task_change(f'tasks.{task.name}', task, solver, *parts)
        for constraint in self.tasks.all_constraints():
            if constraint.name in new.constraints:
                limits = old.constraints[constraint.name], new.constraints[constraint.name]
                check_constraint_change(f'constraints.{constraint.name}', constraint, *limits)

    def _change(self, old: TasksParameters, new: TasksParameters) -> None:
        """Apply what has changed."""
        if old.damping != new.damping:
            self.tasks.solver.damping = new.damping  # type: ignore[attr-defined]
        self._change_solver(new)
        for task in self.tasks.all_tasks():
            part = new.tasks.get(task.name)
            if part is not None and part != old.tasks[task.name]:
                self.factory.update_task(task, old.tasks[task.name], part)
        for task_input in self._inputs:
            task_input.apply(new.tasks[task_input.task.name])
        for constraint in self.tasks.all_constraints():
            limit = new.constraints.get(constraint.name)
            if limit is not None and limit != old.constraints[constraint.name]:
                self.factory.update_constraint(constraint, old.constraints[constraint.name], limit)
        for name, bundle in new.configurations.items():
            own = self.tasks.configurations[name]
            if own.is_enabled != bundle.enabled:
                own.enable() if bundle.enabled else own.disable()

    def _change_solver(self, new: TasksParameters) -> None:
        """Have the solver follow other options of its class, or refuse them by name."""
        solver = self.tasks.solver
        changed = check_options('solver_options', type(solver), new.solver_options, self.io.folder)
        change_options('solver_options', solver, solver.parameters, changed)
        solver.parameters = changed

    def _set_gains(self) -> None:
        given, size, own = self.parameters, self.body.num_joints, self._automatic
        pgain = own.kp if given.pgain == [] else spread('pgain', given.pgain, size)
        if given.dgain != []:
            dgain = spread('dgain', given.dgain, size)
        else:
            dgain = own.kd if given.pgain == [] else own.damping_of(pgain)
        self._torques.pgain, self._torques.dgain = pgain, dgain

    def _log_places(self) -> None:
        """Record which tasks are served, and where their targets are in this tick."""
        active = self.tasks.active_tasks
        for task in self.tasks.all_tasks():
            self.io.log(f'{task.name}.active', float(task in active))
        for task in active:
            places = task.places(self.tasks.kinematics)
            if places is not None:
                self.io.log(f'{task.name}.target', places[0])
                self.io.log(f'{task.name}.frame', places[1])
                self.io.log(f'{task.name}.error', task.error)

    def _explain(self, result: ControllerResult) -> None:
        report: dict[str, Any] = {
            'result': result.value,
            'scaling_factor': round(self.tasks.scaling_factor, 6),
        }
        self.io.log('scaling_factor', self.tasks.scaling_factor)
        limits = self.tasks.limitations()
        report['limited_by'] = ', '.join(
            f'{item.constraint.name}({item.row}: {item.wanted:.4g} held at {item.bound:.4g})'
            for item in limits
        )
        for name in self.tasks.constraints:
            held = sum(item.constraint.name == name for item in limits)
            self.io.log(f'limited_by.{name}', float(held))
        for task in self.tasks.active_tasks:
            self.io.log(f'{task.name}.error', task.error)
            report[f'{task.name}.error'] = float(np.linalg.norm(task.error))
        self._report = report

    def report(self) -> dict[str, Any]:
        """Which constraint held the motion back, and how far each task is from its target."""
        return self._report
