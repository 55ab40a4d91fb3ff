"""Plans what a motion queue was asked for, one request after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cnoid_control.controllers.motion_queue.motion_limits import MotionLimits
from cnoid_control.controllers.motion_queue.motion_state import MotionState
from cnoid_control.controllers.motion_queue.ramps import TOLERANCE, plan_ramp, plan_velocity
from cnoid_control.controllers.motion_queue.requests import Ending, Request
from cnoid_control.controllers.motion_queue.stretch import Stretch

# Less than this much time left counts as nothing left [s].
INSTANT = 1e-9


@dataclass(frozen=True)
class QueuePlanner:
    """Plans under given conditions.

    Attributes:
        limits: bounds of the motion.
        feed_rate: share of the velocity limits in use, in ]0, 1].
        report: called with a line for everything that takes longer than asked for.
    """

    limits: MotionLimits
    feed_rate: float
    report: Callable[[str], None]

    def plan(self, requests: Sequence[Request], start: MotionState) -> list[Stretch]:
        """Stretches for the requests, and a stop where they end with a velocity.

        Raises:
            MotionRefused: one cannot be done from where the one before it ends.
        """
        stretches: list[Stretch] = []
        for request in requests:
            pieces = request.plan(start, self.limits, self.feed_rate)
            if not pieces:
                continue
            stretch = Stretch(request, pieces)
            asked = request.duration / self.feed_rate
            if request.duration > 0.0 and stretch.duration > asked * (1.0 + 1e-6) + INSTANT:
                self.report(
                    f'motion takes {stretch.duration:.4g} s instead of {asked:.4g} s: limits'
                )
            stretches.append(stretch)
            start = stretch.end
        if stretches:
            stretches += self._ending(stretches[-1])
        elif self._moves(start):
            stretches = [self.stop(start)]
        return stretches

    def stop(self, start: MotionState) -> Stretch:
        """The way to rest that takes the least time."""
        return Stretch(None, [plan_velocity(start, np.zeros(self.limits.size), self.limits)])

    def _ending(self, last: Stretch) -> list[Stretch]:
        assert last.request is not None  # mypy.
        end = last.end
        if last.request.ending is Ending.HOLD or not self._moves(end):
            return []
        if last.request.ending is Ending.STOP:
            return [self.stop(end)]
        rest = np.zeros(self.limits.size)
        return [Stretch(None, [plan_ramp(end, end.position, rest, self.limits)])]

    def _moves(self, state: MotionState) -> bool:
        """Whether a state is more than rounding away from rest."""
        if np.abs(state.velocity).max(initial=0.0) > TOLERANCE:
            return True
        largest = np.abs(state.acceleration).max(initial=0.0)
        return bool(self.limits.is_jerk_limited and largest > TOLERANCE)
