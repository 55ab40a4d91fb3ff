"""Time-optimal motion to the goal under velocity, acceleration and jerk limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cnoid_control.controllers.tasks.interpolators.interpolator import Interpolator
from cnoid_control.parameters.exceptions import ParameterOutOfRange


class TimeOptimalInterpolator(Interpolator):
    """Online trajectory generation by ruckig; a new goal is taken over from the running motion.

    Attributes:
        max_velocity, max_acceleration, max_jerk: limits of each element's derivatives, > 0.
        velocity: first derivative of the output now.
    """

    def __init__(
        self,
        max_velocity: float | np.ndarray,
        max_acceleration: float | np.ndarray,
        max_jerk: float | np.ndarray = math.inf,
    ) -> None:
        """Set the limits, scalars or one value an element."""
        super().__init__()
        self.limits = {
            'max_velocity': np.asarray(max_velocity, dtype=float),
            'max_acceleration': np.asarray(max_acceleration, dtype=float),
            'max_jerk': np.asarray(max_jerk, dtype=float),
        }
        for name, limit in self.limits.items():
            if not np.all(limit > 0.0):
                raise ParameterOutOfRange(name, limit, 'it must be > 0')
        self.velocity = np.zeros(0)
        self._plan: Any = None

    def reset(self, value: np.ndarray) -> None:
        """Jump to a value and stand still there."""
        self.velocity = np.zeros(len(value))
        self._acceleration = np.zeros(len(value))
        super().reset(value)

    def _restart(self) -> None:
        import ruckig

        size = len(self.goal)
        problem = ruckig.InputParameter(size)
        problem.current_position = self.output.tolist()
        problem.current_velocity = self.velocity.tolist()
        problem.current_acceleration = self._acceleration.tolist()
        problem.target_position = self.goal.tolist()
        for name, limit in self.limits.items():
            setattr(problem, name, np.broadcast_to(limit, (size,)).tolist())
        plan = ruckig.Trajectory(size)
        result = ruckig.Ruckig(size).calculate(problem, plan)
        if result not in (ruckig.Result.Working, ruckig.Result.Finished):
            raise ParameterOutOfRange('goal', self.goal.tolist(), f'ruckig says {result}')
        self._plan = plan
        self._elapsed = 0.0

    def step(self, dt: float) -> np.ndarray:
        """Advance along the planned motion."""
        self._elapsed += dt
        position, velocity, acceleration = self._plan.at_time(self._elapsed)[:3]
        self.output = np.array(position)
        self.velocity = np.array(velocity)
        self._acceleration = np.array(acceleration)
        return self.output
