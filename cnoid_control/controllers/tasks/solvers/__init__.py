"""Ways to turn tasks and constraints into velocities."""

from cnoid_control.controllers.tasks.solvers.solver import (
    ControllerResult,
    Limitation,
    Solution,
    Solver,
)

__all__ = ['ControllerResult', 'Limitation', 'Solution', 'Solver']
