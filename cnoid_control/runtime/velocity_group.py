"""The joints that are commanded by velocity, and how their commands are limited."""

from __future__ import annotations

import numpy as np

from cnoid_control.runtime.command_group import CommandGroup
from cnoid_control.runtime.limit_rules import Interval, velocity_interval


class VelocityGroup(CommandGroup):
    """Joints commanded by `dq_target`."""

    rows = 3

    def restart(self) -> None:
        """Take the measured velocities for the last command."""
        dq = self._pick(self._body.dq)
        self.last[:] = np.where(np.isfinite(dq), dq, 0.0)

    def _set_period(self, dt: float) -> None:
        limits = self._limits
        self._set_bounds(0, limits.dq_lower, limits.dq_upper)
        # The position itself, and after a period of this velocity.
        self._set_bounds(1, limits.q_lower, limits.q_upper)
        self._set_bounds(2, limits.q_lower, limits.q_upper)

    def _look(self, dt: float) -> None:
        values = self._values
        values[0] = self._pick(self._array)
        values[1] = self._pick(self._body.q)
        np.multiply(values[0], dt, out=values[2])
        np.add(values[1], values[2], out=values[2])

    def _range(self) -> Interval:
        return self._limits.dq_lower, self._limits.dq_upper

    def _interval(self, dt: float) -> Interval:
        q = self._pick(self._body.q)
        return velocity_interval(self._limits, self.last, q, dt, self._recovery)

    def _reasons(self, command: np.ndarray, dt: float) -> list[tuple[str, np.ndarray]]:
        limits = self._limits
        q = self._pick(self._body.q)
        end = q + command * dt
        change = np.abs(command - self.last)
        return [
            ('velocity', (command < limits.dq_lower) | (command > limits.dq_upper)),
            ('position', (end < limits.q_lower) | (end > limits.q_upper)),
            ('position', (q < limits.q_lower) | (q > limits.q_upper)),
            ('acceleration', change > limits.ddq_max * dt),
            ('soft', limits.k_position > 0.0),
            ('position', np.ones(len(self.joints), dtype=bool)),
        ]
