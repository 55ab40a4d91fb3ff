"""The joints that are commanded by effort, and how their commands are limited."""

from __future__ import annotations

from functools import partial

import numpy as np

from cnoid_control.body import Body
from cnoid_control.runtime.command_group import CommandGroup
from cnoid_control.runtime.joint_limits import JointLimits
from cnoid_control.runtime.limit_rules import Interval, effort_interval


class EffortGroup(CommandGroup):
    """Joints commanded by `u`."""

    rows = 3

    def __init__(
        self,
        body: Body,
        array: np.ndarray,
        joints: np.ndarray,
        limits: JointLimits,
        recovery: float,
    ) -> None:
        """Prepare; effort limits do not depend on accelerations."""
        super().__init__(body, array, joints, limits, recovery)
        self._always_limit = self._limits.are_soft
        self._copies = [
            partial(row.__setitem__, Ellipsis, values)
            if self._all
            else partial(values.take, joints, None, row, 'clip')
            for row, values in zip(self._values, (array, body.q, body.dq), strict=True)
        ]
        mine = self._limits
        self._set_bounds(0, mine.u_lower, mine.u_upper)
        # At a position limit itself the rules apply already: only what is inside passes.
        self._set_bounds(
            1, np.nextafter(mine.q_lower, np.inf), np.nextafter(mine.q_upper, -np.inf)
        )
        self._set_bounds(2, mine.dq_lower, mine.dq_upper)

    def restart(self) -> None:
        """Take no effort for the last command."""
        self.last[:] = 0.0

    def _look(self, dt: float) -> None:
        for copy in self._copies:
            copy()

    def _range(self) -> Interval:
        return self._limits.u_lower, self._limits.u_upper

    def _interval(self, dt: float) -> Interval:
        return effort_interval(self._limits, self._pick(self._body.q), self._pick(self._body.dq))

    def _reasons(self, command: np.ndarray, dt: float) -> list[tuple[str, np.ndarray]]:
        limits = self._limits
        dq = self._pick(self._body.dq)
        return [
            ('effort', (command < limits.u_lower) | (command > limits.u_upper)),
            ('velocity', (dq < limits.dq_lower) | (dq > limits.dq_upper)),
            ('soft', limits.k_position > 0.0),
            ('position', np.ones(len(self.joints), dtype=bool)),
        ]
