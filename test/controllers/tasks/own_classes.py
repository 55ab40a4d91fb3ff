"""Tasks, constraints, an interpolator and a solver that somebody else has written."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cnoid_control.controllers.tasks import BodyTask, Constraint, GenericTask, JointTask
from cnoid_control.controllers.tasks.interpolators import Interpolator
from cnoid_control.controllers.tasks.solver import ControllerResult, Solution, Solver
from cnoid_control.parameters import parameter


class Stiff(BodyTask):
    """Swings a link along x; its options are for the start."""

    @dataclass
    class Parameters:
        """How fast."""

        speed: float = parameter(0.1, 'largest speed', unit='m/s', minimum=0.0)
        frequency: float = parameter(0.5, 'swings per second', unit='Hz', read_only=True)

    def __init__(self, name, link):
        """Start at the time 0."""
        super().__init__(name, link)
        self.time = 0.0

    def compute_body_velocity(self, kinematics, dt):
        """Cosine of the time."""
        self.time += dt
        angle = 2.0 * np.pi * self.parameters.frequency * self.time
        return np.array([self.parameters.speed * np.cos(angle), 0.0, 0.0, 0.0, 0.0, 0.0])


class Swing(Stiff):
    """As Stiff, and follows its options: they are read in every tick."""

    def update_parameters(self, old, new):
        """Follow them."""


class Crawl(JointTask):
    """All joints of the group at one speed; it has no options."""

    def compute_joint_velocity(self, kinematics, dt):
        """Ask for a constant."""
        return np.full(self.size, 0.1)


class Listless(GenericTask):
    """Lacks what a task must define."""


class Odd(GenericTask):
    """Is made in a way that nobody can know."""

    def __init__(self, name, secret):
        """Take something that no configuration has."""
        super().__init__(name, 1)
        self.secret = secret

    def update(self, kinematics, dt):
        """Do nothing."""

    def jacobian(self, kinematics):
        """Do nothing."""
        return np.zeros((1, kinematics.num_unknowns))


class EnergyLimit(Constraint):
    """Kinetic energy below a maximum: neither a joint nor a row constraint."""

    @dataclass
    class Parameters:
        """How much."""

        maximum: float = parameter(description='largest energy', unit='J', minimum=0.0)

    def update_parameters(self, old, new):
        """Follow it."""

    def compute_scaling_factor(self, kinematics, velocity):
        """Energy grows with the square of the velocity."""
        body = kinematics.body
        momentum = kinematics.momentum_matrix()[:, kinematics.columns] @ velocity
        energy = 0.5 * float(momentum[:3] @ momentum[:3]) / body.mass
        return np.inf if energy == 0.0 else (self.parameters.maximum / energy) ** 0.5


class HalfWay(Interpolator):
    """Does a part of what is left in each tick."""

    @dataclass
    class Parameters:
        """Which part."""

        part: float = parameter(0.5, 'part of what is left', minimum=0.0, maximum=1.0)

    def step(self, dt):
        """Do the part."""
        self.output = self.output + self.parameters.part * (self.goal - self.output)
        return self.output


class TransposeSolver(Solver):
    """The transpose of the Jacobian in place of its inverse; the smallest factor counts."""

    uses_weights: ClassVar[bool] = False

    @dataclass
    class Parameters:
        """How strong."""

        gain: float = parameter(1.0, 'velocity per velocity asked for', minimum=0.0)

    def update_parameters(self, old, new):
        """Follow it."""

    def solve(self, kinematics, tasks, constraints):
        """Add up, slow down."""
        rows = [task.jacobian(kinematics).T @ task.velocity for task in tasks]
        wanted = self.parameters.gain * sum(rows, np.zeros(kinematics.num_unknowns))
        factors = [constraint.compute(kinematics, wanted) for constraint in constraints]
        factor = min(factors, default=1.0)
        return Solution(ControllerResult.SOLUTION_FOUND, factor * wanted, wanted, factor)
