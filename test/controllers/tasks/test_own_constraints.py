"""Constraints that users write: honoured by both solvers, and honest about their factor."""

from typing import ClassVar

import numpy as np
import pinocchio as pin
import pytest

from cnoid_control.body.joint_group import JointGroup
from cnoid_control.controllers.tasks import (
    BodyVelocityConstraint,
    BodyVelocityTask,
    Constraint,
    ControllerResult,
    JointAccelerationConstraint,
    JointVelocityConstraint,
    JointVelocityTask,
    TaskSolver,
)
from cnoid_control.controllers.tasks.constraints import BoundConstraint, JointConstraint
from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.qp_solver import QpSolver
from cnoid_control.controllers.tasks.sum_solver import SumSolver

DT = 0.01
SOLVERS = {'sum': SumSolver, 'qp': QpSolver}


class EnergyConstraint(Constraint):
    """Kinetic energy stays below a maximum [J]: no bound on any single velocity."""

    def __init__(self, name, maximum):
        super().__init__(name)
        self.maximum = maximum

    def compute_scaling_factor(self, kinematics, velocity):
        energy = kinetic_energy(kinematics.body, kinematics.columns, velocity)
        return np.sqrt(self.maximum / energy) if energy > 0.0 else np.inf


class SpeedConstraint(BoundConstraint):
    """The speed of a link's origin, which is not linear in the velocities."""

    def __init__(self, name, link, maximum):
        super().__init__(name)
        self.link = link
        self.upper, self.lower = np.array([maximum]), np.array([0.0])

    def values(self, kinematics, velocity):
        return np.array([np.linalg.norm((kinematics.jacobian(self.link) @ velocity)[:3])])

    def row_names(self):
        return [f'{self.link.name}.speed']


def kinetic_energy(body, columns, velocity):
    """Energy from pinocchio's mass matrix [J]."""
    v = np.zeros(body.model.nv)
    v[columns] = velocity
    mass = pin.crba(body.model, body.data.copy(), body.pin_q())
    mass = np.triu(mass) + np.triu(mass, 1).T
    return 0.5 * v @ mass @ v


def solver_with_task(arm, all_joints, solver):
    """Arm whose hand is asked to move."""
    solved = TaskSolver(arm, all_joints, DT, SOLVERS[solver]())
    hand = solved.add_task(BodyVelocityTask('hand', arm.link('hand')))
    hand.target.set([0.2, -0.1, 0.3, 0.2, 0.0, -0.4])
    return solved


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_constraint_that_is_no_bound_is_kept(arm, all_joints, solver):
    """The energy of the commanded motion is the maximum, and its direction is kept."""
    free = solver_with_task(arm, all_joints, solver)
    free.compute()
    limit = 0.3 * kinetic_energy(arm, free.kinematics.columns, free.velocity)
    solved = solver_with_task(arm, all_joints, solver)
    energy = solved.add_constraint(EnergyConstraint('energy', limit))
    assert solved.compute() is ControllerResult.SOLUTION_FOUND
    found = kinetic_energy(arm, solved.kinematics.columns, solved.velocity)
    assert found == pytest.approx(limit, rel=1e-9)
    np.testing.assert_allclose(solved.velocity, np.sqrt(0.3) * free.velocity, rtol=1e-6)
    assert energy.scaling_factor == pytest.approx(np.sqrt(0.3))
    assert solved.scaling_factor == pytest.approx(np.sqrt(0.3), rel=1e-5)
    (limitation,) = solved.limitations()
    assert limitation.constraint is energy
    assert limitation.bound == energy.scaling_factor


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_bound_on_something_nonlinear_is_kept(arm, all_joints, solver):
    """The speed of the hand, by finite differences, is the maximum."""
    solved = solver_with_task(arm, all_joints, solver)
    speed = solved.add_constraint(SpeedConstraint('speed', arm.link('hand'), 0.05))
    solved.compute()
    before = arm.link('hand').p.copy()
    solved.period = 1e-6
    solved.integrate()
    arm.calc_forward_kinematics()
    moved = np.linalg.norm(arm.link('hand').p - before) / 1e-6
    assert moved == pytest.approx(0.05, rel=1e-4)
    assert speed.scaling_factor == pytest.approx(solved.scaling_factor, rel=1e-4)


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_factor_that_a_subclass_adds_to_bounds_is_kept(arm, all_joints, solver):
    """Who overrides the factor of a shipped constraint is asked, besides its bounds."""

    class HalfSpeed(JointVelocityConstraint):
        def compute_scaling_factor(self, kinematics, velocity):
            return 0.5 * min(super().compute_scaling_factor(kinematics, velocity), 1.0)

    free = solver_with_task(arm, all_joints, solver)
    free.compute()
    solved = solver_with_task(arm, all_joints, solver)
    half = solved.add_constraint(HalfSpeed('half', all_joints))
    half.max_velocity = 100.0
    solved.compute()
    np.testing.assert_allclose(solved.velocity, 0.5 * free.velocity, rtol=1e-6)
    assert half.scaling_factor == 0.5


def test_a_joint_constraint_with_values_of_its_own_scales(arm, all_joints):
    """Joint rows that are no plain joint velocities cannot be bounds of the program."""

    class SumOfSpeeds(JointConstraint):
        def values(self, kinematics, velocity):
            return np.array([np.abs(velocity[self.unknowns]).sum()])

        def update(self, kinematics, dt):
            self.lower, self.upper = np.array([-0.1]), np.array([0.1])

        def row_names(self):
            return ['all']

    solved = solver_with_task(arm, all_joints, 'qp')
    solved.add_constraint(SumOfSpeeds('total', all_joints))
    solved.compute()
    assert np.abs(solved.velocity).sum() == pytest.approx(0.1)


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('bad', [np.nan, None, 'fast'])
def test_a_factor_that_is_no_number_is_refused(arm, all_joints, solver, bad):
    """The constraint is named, and nothing is commanded."""

    class Broken(EnergyConstraint):
        def compute_scaling_factor(self, kinematics, velocity):
            return bad

    solved = solver_with_task(arm, all_joints, solver)
    solved.add_constraint(Broken('mine', 1.0))
    with pytest.raises(TaskError, match="constraint 'mine': a scaling factor expected"):
        solved.compute()
    assert not solved.velocity.any()


def test_rows_that_do_not_fit_are_refused(arm, all_joints):
    """A bound of the wrong size or without a value is told by name, not solved."""
    solved = solver_with_task(arm, all_joints, 'qp')
    limit = solved.add_constraint(BodyVelocityConstraint('mine', arm.link('hand')))
    limit.update = lambda kinematics, dt: None
    for bad, words in ((np.zeros(3), 'shapes'), (np.full(6, np.nan), 'not numbers')):
        limit.lower, limit.upper = -bad, bad
        with pytest.raises(TaskError, match=f"constraint 'mine'.*{words}"):
            solved.compute()


@pytest.mark.parametrize('solver', SOLVERS)
def test_the_factor_of_a_bound_is_what_it_allows(arm, all_joints, solver):
    """Each constraint tells what it alone allows of the motion; 1 while it is off."""
    solved = solver_with_task(arm, all_joints, solver)
    wrist = JointGroup('wrist', arm.joints[4:])
    tight, loose = (solved.add_constraint(JointVelocityConstraint(n, wrist)) for n in 'tl')
    tight.max_velocity, loose.max_velocity = 0.02, 100.0
    solved.compute()
    wanted = solved.desired_velocity[4:]
    assert tight.scaling_factor == pytest.approx(0.02 / np.abs(wanted).max(), rel=1e-9)
    assert tight.scaling_factor < 0.9
    assert loose.scaling_factor == 1.0
    tight.disable()
    solved.compute()
    assert tight.scaling_factor == 1.0
    assert solved.scaling_factor == 1.0


def test_asking_for_the_factor_changes_no_bound(arm, all_joints):
    """Bounds around the last command stay what they were for who reads them afterwards."""
    solved = TaskSolver(arm, all_joints, DT, QpSolver())
    task = solved.add_task(JointVelocityTask('v', all_joints))
    limit = solved.add_constraint(JointAccelerationConstraint('a', all_joints))
    limit.max_acceleration = 1.0
    task.target.set([0.5] * 7)
    for _ in range(30):
        solved.compute()
    task.target.set([0.0] * 7)
    solved.compute()
    bounds = limit.lower.copy()
    assert (bounds > 0.1).all()
    assert limit.scaling_factor == 1.0
    np.testing.assert_array_equal(limit.lower, bounds)
    np.testing.assert_allclose(solved.velocity, 0.29, atol=1e-4)


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_lowered_maximum_of_a_part_acts_at_once(arm, all_joints, solver):
    """One element of a subconstraint's maximum, changed in place, as in the seed."""
    solved = TaskSolver(arm, all_joints, DT, SOLVERS[solver]())
    solved.add_task(JointVelocityTask('v', all_joints)).target.set([0.5] * 7)
    parent = solved.add_constraint(JointVelocityConstraint('all', all_joints))
    part = parent.add_part(JointVelocityConstraint('part', JointGroup('g', arm.joints[2:4])))
    parent.max_velocity = part.max_velocity = 1.0
    solved.compute()
    assert solved.velocity[3] == pytest.approx(0.5, abs=1e-4)
    part.max_velocity[1] = 0.1
    solved.compute()
    assert solved.velocity[3] == pytest.approx(0.1)
    assert part.scaling_factor == pytest.approx(0.2, abs=1e-4)
    assert parent.scaling_factor == 1.0


def test_a_controller_makes_constraints_by_kind(arm, all_joints):
    """The class that a controller has for a kind is made; a kind without one is refused."""

    class Halved(JointVelocityConstraint):
        pass

    class Own(TaskSolver):
        constraint_types: ClassVar = {JointVelocityConstraint: Halved, JointConstraint: Halved}

    own = Own(arm, all_joints, DT, SumSolver())
    assert type(own.create_constraint(JointVelocityConstraint, 'a', all_joints)) is Halved
    assert type(own.create_constraint(JointConstraint, 'b', all_joints)) is Halved
    assert list(own.constraints) == ['a', 'b']
    with pytest.raises(TaskError, match=r"constraint type 'Constraint'.*JointVelocityConstraint"):
        own.create_constraint(Constraint, 'c')


def test_no_solution_has_no_scaling(arm, all_joints):
    """Where nothing was found, nothing of what was wanted was commanded."""
    solved = solver_with_task(arm, all_joints, 'qp')
    for name, bound in (('one', 1.0), ('two', -1.0)):
        limit = solved.add_constraint(BodyVelocityConstraint(name, arm.link('hand')))
        limit.update = lambda kinematics, dt: None
        limit.lower = limit.upper = np.full(6, bound)
    assert solved.compute() is ControllerResult.NO_SOLUTION
    assert solved.scaling_factor == 0.0


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_constraint_that_writes_into_the_velocity_is_stopped(arm, all_joints, solver):
    """What it is asked about is what is commanded: it may look, not change."""

    class Meddler(EnergyConstraint):
        def compute_scaling_factor(self, kinematics, velocity):
            velocity[:] = 0.0
            return 1.0

    solved = solver_with_task(arm, all_joints, solver)
    solved.add_constraint(Meddler('mine', 1.0))
    with pytest.raises(ValueError, match='read-only'):
        solved.compute()


def test_bounds_with_a_factor_put_there_by_hand_scale(arm, all_joints):
    """What is overridden on the object, or as a whole, is asked as well."""

    class Whole(JointVelocityConstraint):
        def compute(self, kinematics, velocity):
            return min(0.25, super().compute(kinematics, velocity))

    free = solver_with_task(arm, all_joints, 'qp')
    free.compute()
    for make in (
        lambda: Whole('mine', all_joints),
        lambda: JointVelocityConstraint('mine', all_joints),
    ):
        solved = solver_with_task(arm, all_joints, 'qp')
        limit = solved.add_constraint(make())
        limit.max_velocity = 100.0
        if type(limit) is JointVelocityConstraint:
            limit.compute_scaling_factor = lambda kinematics, velocity: 0.25
        solved.compute()
        np.testing.assert_allclose(solved.velocity, 0.25 * free.velocity, rtol=1e-6)


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize(
    ('raw', 'factor'), [(-3.0, 0.0), (np.inf, 1.0), (-np.inf, 0.0), (True, 1.0), (7, 1.0)]
)
def test_odd_factors_are_clamped(arm, all_joints, solver, raw, factor):
    """And told as what they were used as."""

    class Odd(EnergyConstraint):
        def compute_scaling_factor(self, kinematics, velocity):
            return raw

    free = solver_with_task(arm, all_joints, solver)
    free.compute()
    solved = solver_with_task(arm, all_joints, solver)
    odd = solved.add_constraint(Odd('mine', 1.0))
    assert solved.compute() is ControllerResult.SOLUTION_FOUND
    np.testing.assert_allclose(solved.velocity, factor * free.velocity, atol=1e-12)
    assert odd.scaling_factor == factor
    assert solved.scaling_factor == pytest.approx(factor)


def test_a_part_of_an_own_constraint_is_asked_while_its_whole_is_on(arm, all_joints):
    """As a subconstraint in the seed; the smaller factor of both counts."""
    free = solver_with_task(arm, all_joints, 'qp')
    free.compute()
    limit = 0.5 * free.velocity @ free.velocity
    solved = solver_with_task(arm, all_joints, 'qp')

    class Half(EnergyConstraint):
        def compute_scaling_factor(self, kinematics, velocity):
            return 0.5

    whole = solved.add_constraint(Half('whole', limit))
    part = whole.add_part(Half('part', limit))
    part.compute_scaling_factor = lambda kinematics, velocity: 0.1
    solved.compute()
    np.testing.assert_allclose(solved.velocity, 0.1 * free.velocity, rtol=1e-6)
    whole.disable()
    solved.compute()
    np.testing.assert_allclose(solved.velocity, free.velocity, rtol=1e-6)
    assert part.scaling_factor == whole.scaling_factor == 1.0


def test_without_a_solution_the_motion_ends_in_the_time_that_is_said(arm, all_joints):
    """Linearly, and no faster than a constraint of one's own allows."""
    solved = solver_with_task(arm, all_joints, 'qp')
    solved.compute()
    speed = solved.velocity.copy()
    limits = []
    for name, bound in (('one', 1.0), ('two', -1.0)):
        limit = solved.add_constraint(BodyVelocityConstraint(name, arm.link('hand')))
        limit.update = lambda kinematics, dt: None
        limit.lower = limit.upper = np.full(6, bound)
        limits.append(limit)
    for left in (0.75, 0.5, 0.25, 0.0, 0.0):
        assert solved.compute() is ControllerResult.NO_SOLUTION
        solved.slow_down(0.25)
        np.testing.assert_allclose(solved.velocity, left * speed, atol=1e-12)
    for limit in limits:
        limit.disable()
    solved.compute()
    np.testing.assert_allclose(solved.velocity, speed, rtol=1e-6)

    class Stop(EnergyConstraint):
        def compute_scaling_factor(self, kinematics, velocity):
            return 0.0

    for limit in limits:
        limit.enable()
    solved.add_constraint(Stop('stop', 1.0))
    solved.compute()
    solved.slow_down(0.25)
    assert not solved.velocity.any()
