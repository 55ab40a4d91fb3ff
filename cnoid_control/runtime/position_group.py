"""The joints that are commanded by position, and how their commands are limited."""

from __future__ import annotations

import numpy as np

from cnoid_control.runtime.command_group import CommandGroup
from cnoid_control.runtime.limit_rules import Interval, position_interval


class PositionGroup(CommandGroup):
    """Joints commanded by `q_target`."""

    rows = 2

    def restart(self) -> None:
        """Take the measured positions for the last command."""
        q = self._pick(self._body.q)
        self.last[:] = np.where(np.isfinite(q), q, np.nan_to_num(self._pick(self._array)))
        self._is_outside = True  # not known yet: the first command takes the thorough way

    def passes(self, dt: float) -> bool:
        """Whether the commands are in range and near enough to the last ones."""
        return not self._is_outside and super().passes(dt)

    def _set_period(self, dt: float) -> None:
        limits = self._limits
        self._set_bounds(0, limits.q_lower, limits.q_upper)
        self._set_bounds(1, limits.dq_lower * dt, limits.dq_upper * dt)

    def _look(self, dt: float) -> None:
        values = self._values
        values[0] = self._pick(self._array)
        np.subtract(values[0], self.last, out=values[1])

    def relax(self) -> None:
        """Stay at the last positions."""
        self.repeat()

    def limit(self, dt: float, counts: dict[str, np.ndarray]) -> None:
        """Bring the commands into the limits, and see whether they are still on the way back."""
        super().limit(dt, counts)
        command = self._pick(self._array)
        outside = (command < self._limits.q_lower) | (command > self._limits.q_upper)
        self._is_outside = bool(outside.any())

    def _range(self) -> Interval:
        return self._limits.q_lower, self._limits.q_upper

    def _interval(self, dt: float) -> Interval:
        dq = self._pick(self._body.dq)
        return position_interval(self._limits, self.last, dq, dt, self._recovery)

    def _reasons(self, command: np.ndarray, dt: float) -> list[tuple[str, np.ndarray]]:
        limits = self._limits
        step = command - self.last
        return [
            ('position', (command < limits.q_lower) | (command > limits.q_upper)),
            ('position', (self.last < limits.q_lower) | (self.last > limits.q_upper)),
            ('velocity', (step < limits.dq_lower * dt) | (step > limits.dq_upper * dt)),
            ('soft', limits.k_position > 0.0),
            ('acceleration', np.ones(len(self.joints), dtype=bool)),
        ]
