"""Motion queue."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from cnoid_control.controllers.motion_queue.exceptions import MotionRefused
from cnoid_control.controllers.motion_queue.goals import GoalCheck
from cnoid_control.controllers.motion_queue.limits import MotionLimits, MotionState
from cnoid_control.controllers.motion_queue.planner import TOLERANCE, plan_ramp, plan_velocity
from cnoid_control.controllers.motion_queue.requests import (
    Ending,
    Joints,
    Request,
    RequestMaker,
    Segment,
    Vector,
)

# Less than this much time left counts as nothing left [s].
INSTANT = 1e-9


@dataclass
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

    def plan(self, requests: Sequence[Request], start: MotionState) -> list[Segment]:
        """Stretches for the requests, and a stop where they end with a velocity.

        Raises:
            MotionRefused: one cannot be done from where the one before it ends.
        """
        stretches: list[Segment] = []
        for request in requests:
            if stretches:
                start = stretches[-1].end
            pieces = request.plan(start, self.limits, self.feed_rate)
            if not pieces:
                continue
            stretch = Segment(request, pieces)
            if request.duration > 0.0:
                self._report_late(stretch, request.duration / self.feed_rate)
            stretches.append(stretch)
        if stretches:
            stretches += self._ending(stretches[-1])
        elif self._moves(start):
            stretches = [self.stop(start)]
        return stretches

    def stop(self, start: MotionState) -> Segment:
        """The way to rest that takes the least time."""
        return Segment(None, [plan_velocity(start, self.limits.rest, self.limits)])

    def _report_late(self, stretch: Segment, asked: float) -> None:
        if stretch.duration > asked * (1.0 + 1e-6) + INSTANT:
            self.report(f'motion takes {stretch.duration:.4g} s instead of {asked:.4g} s: limits')

    def _ending(self, last: Segment) -> list[Segment]:
        assert last.request is not None  # mypy.
        if last.request.ending is Ending.HOLD or last.pieces[-1].ends_at_rest:
            return []
        end = last.end
        if not self._moves(end):
            return []
        if last.request.ending is Ending.STOP:
            return [self.stop(end)]
        back = plan_ramp(end, end.position, self.limits.rest, self.limits)
        return [Segment(None, [back])]

    def _moves(self, state: MotionState) -> bool:
        """Whether a state is more than rounding away from rest."""
        if np.abs(state.velocity).max(initial=0.0) > TOLERANCE:
            return True
        largest = np.abs(state.acceleration).max(initial=0.0)
        return bool(self.limits.is_jerk_limited and largest > TOLERANCE)


class MotionQueue:
    """Commanded motion of a set of joints.

    `set_...` replaces everything behind now, `add_...` goes on from the end of the queue; both
    start from the commanded state, whatever the robot does. What cannot be done is refused with a
    `MotionRefused` and leaves the queue as it was. Joints that a call does not name keep the goal
    that they had.

    Milestones keep all bounds. Linear, cubic and velocity motions take the time that they are
    given and step in velocity (linear, velocity) or acceleration (cubic) at their ends, as their
    names say; with `smooth` they keep all bounds, and are rounded where they must be.

    Attributes:
        limits: bounds of the motion.
        smooth: whether linear, cubic and velocity motions keep the acceleration and jerk bounds.
        feed_rate: share of the velocity limits in use, in ]0, 1].
        paused: whether the motion is held.
    """

    def __init__(
        self,
        limits: MotionLimits,
        position: np.ndarray,
        *,
        smooth: bool = False,
        refuse_beyond_limits: bool = False,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Start at rest.

        Args:
            limits: bounds and names of the joints.
            position: positions to start from, shape (n,).
            smooth: whether every motion keeps the acceleration and jerk bounds.
            refuse_beyond_limits: refuse goals beyond the limits instead of clamping them.
            report: called with a line for everything that was clamped or took longer.
        """
        self._report = report or (lambda line: None)
        self._check = GoalCheck(limits, refuse_beyond_limits, self._report)
        self.smooth = smooth
        self.feed_rate = 1.0
        self.paused = False
        self._paused_by_rate = False
        self._stretches: deque[Segment] = deque()
        self._elapsed = 0.0
        self._held = MotionState.at_rest(self._check.vector('position', position))
        self._now = self._held

    @property
    def limits(self) -> MotionLimits:
        """Bounds of the motion."""
        return self._check.limits

    @property
    def refuse_beyond_limits(self) -> bool:
        """Whether goals beyond the limits are refused; they are clamped otherwise."""
        return self._check.refuse

    @refuse_beyond_limits.setter
    def refuse_beyond_limits(self, refuse: bool) -> None:
        self._check.refuse = refuse

    # --- what it commands ---------------------------------------------------------------------

    @property
    def state(self) -> MotionState:
        """Commanded state now."""
        return self._now

    @property
    def end(self) -> MotionState:
        """Commanded state at the end of the queue."""
        if not self._stretches:
            return self._now
        last = self._stretches[-1]
        if last.request is None and len(self._stretches) > 1 and not self._is_held(last):
            last = self._stretches[-2]
        return last.end

    @property
    def goal(self) -> np.ndarray:
        """Positions in which the queue ends, shape (n,)."""
        return self.end.position

    @property
    def remaining_time(self) -> float:
        """Time until the last motion that was asked for ends [s], never negative."""
        stretches = list(self._stretches)
        while stretches and stretches[-1].request is None:
            stretches.pop()
        left = sum(stretch.duration for stretch in stretches) - self._elapsed
        return max(0.0, left) if stretches else 0.0

    @property
    def is_moving(self) -> bool:
        """Whether anything is left to do, a stop included."""
        return bool(self._stretches)

    def advance(self, dt: float) -> MotionState:
        """Go on by a time [s] and return the state that is commanded then."""
        self._elapsed += dt
        while self._stretches and self._elapsed >= self._stretches[0].duration:
            if self._is_held(self._stretches[0]):
                self._elapsed = self._stretches[0].duration
                break
            done = self._stretches.popleft()
            self._elapsed -= done.duration
            self._held = MotionState.at_rest(done.end.position)
        if self._stretches:
            self._now = self._stretches[0].at(self._elapsed)
        else:
            self._elapsed = 0.0
            self._now = self._held
        return self._now

    def _is_held(self, stretch: Segment) -> bool:
        """Whether the motion does not go beyond this stretch: the stop of a pause."""
        return self.paused and stretch.request is None

    # --- what can be asked of it --------------------------------------------------------------

    def set_milestone(self, q: Vector, dq: Vector | None = None, joints: Joints = None) -> None:
        """Move to q as fast as the bounds allow, arriving with velocities dq (0 if not given)."""
        self._set(self._make.milestone(q, dq, joints))

    def add_milestone(self, q: Vector, dq: Vector | None = None, joints: Joints = None) -> None:
        """Same as `set_milestone`, after what is queued already."""
        self._add(self._make.milestone(q, dq, joints))

    def set_milestone_linear(self, q: Vector, joints: Joints = None) -> None:
        """Move along a straight line in joint space to q, as fast as the bounds allow."""
        self._set(self._make.linear_milestone(q, joints))

    def add_milestone_linear(self, q: Vector, joints: Joints = None) -> None:
        """Same as `set_milestone_linear`, after what is queued already."""
        self._add(self._make.linear_milestone(q, joints))

    def set_linear(self, q: Vector, dt: float, joints: Joints = None) -> None:
        """Interpolate linearly to q within dt [s]."""
        self._set(self._make.linear(q, dt, joints))

    def add_linear(self, q: Vector, dt: float, joints: Joints = None) -> None:
        """Same as `set_linear`, after what is queued already."""
        self._add(self._make.linear(q, dt, joints))

    append_linear = add_linear

    def set_cubic(self, q: Vector, dq: Vector, dt: float, joints: Joints = None) -> None:
        """Follow the cubic from the commanded state to q and dq within dt [s]."""
        self._set(self._make.cubic(q, dq, dt, joints))

    def add_cubic(self, q: Vector, dq: Vector, dt: float, joints: Joints = None) -> None:
        """Same as `set_cubic`, after what is queued already."""
        self._add(self._make.cubic(q, dq, dt, joints))

    def set_velocity(self, dq: Vector, dt: float, joints: Joints = None) -> None:
        """Move with velocities dq for dt [s], then stop; joints not named stop at once."""
        request = self._make.velocity(dq, dt, joints, self._now)
        if request is None:
            self.brake()
        else:
            self._set(request)

    def add_velocity(self, dq: Vector, dt: float, joints: Joints = None) -> None:
        """Same as `set_velocity`, after what is queued already."""
        request = self._make.velocity(dq, dt, joints, self.end)
        if request is not None:
            self._add(request)

    def add_wait(self, dt: float) -> None:
        """Stand still for dt [s], after what is queued already."""
        self._add(self._make.wait(dt))

    def brake(self) -> None:
        """Come to rest as fast as the bounds allow and forget everything that was queued."""
        self._replace([self._planner.stop(self._now)])
        self.paused = False

    def pause(self) -> None:
        """Come to rest as fast as the bounds allow, and keep what is queued for `resume`."""
        self._paused_by_rate = False
        if not self.paused:
            rest = self._rest()
            self.paused = True
            self._replan(rest)

    def resume(self) -> None:
        """Go on with what is queued."""
        if self.paused:
            rest = self._rest()
            self.paused = False
            self._replan(rest)

    def set_feed_rate(self, rate: float) -> None:
        """Use only a share of the velocity limits, from now on; 0 pauses until it rises again.

        Raises:
            MotionRefused: it is not in [0, 1].
        """
        if not 0.0 <= rate <= 1.0:
            raise MotionRefused(f'feed rate is {rate}; it must lie in [0, 1], 0 pauses')
        if rate == 0.0:
            if not self.paused:
                self.pause()
                self._paused_by_rate = True
            return
        self._change(lambda: setattr(self, 'feed_rate', rate))
        if self._paused_by_rate:
            self.resume()

    def set_limits(self, limits: MotionLimits) -> None:
        """Go on with other bounds, from the state that is commanded now.

        Raises:
            MotionRefused: what is queued cannot be done within them; the old ones stay.
        """
        check = GoalCheck(limits, self._check.refuse, self._report)
        self._change(lambda: setattr(self, '_check', check))

    def place_joints(self, joints: Sequence[str] | Sequence[int], position: Vector) -> None:
        """Have joints stand still at given positions, where something else has led them.

        The others go on as they were, and stay where a pause holds them; what is queued no
        longer moves these.
        """
        index = self._check.indices(joints)
        requests = [
            request.with_joints_at(index, np.asarray(position, dtype=float))
            for request in self._rest()
        ]
        state = MotionState(*(array.copy() for array in self._now))
        state.position[index] = position
        state.velocity[index] = 0.0
        state.acceleration[index] = 0.0
        with self.all_or_nothing():
            self._now = state
            self._replan(requests)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Undo everything asked for in the block where anything of it is refused."""
        before = dict(vars(self))
        before['_stretches'] = deque(self._stretches)
        try:
            yield
        except Exception:
            vars(self).update(before)
            raise

    # --- planning -----------------------------------------------------------------------------

    @property
    def _make(self) -> RequestMaker:
        return RequestMaker(self._check, lambda: self.goal, self.smooth, self._report)

    @property
    def _planner(self) -> QueuePlanner:
        return QueuePlanner(self.limits, self.feed_rate, self._report)

    def _set(self, request: Request) -> None:
        self._replan([request])

    def _add(self, request: Request) -> None:
        stretches = list(self._stretches)
        if len(stretches) > 1 and stretches[-1].request is None:
            # The stop that followed the last request has not begun: go on from that request.
            stretches.pop()
        elif stretches and stretches[0].request is None and not self.paused:
            stretches = []
        start = stretches[-1].end if stretches else self._now
        planned = self._planner.plan([request], start)
        elapsed = self._elapsed if stretches else 0.0
        self._replace([*stretches, *planned], elapsed)

    def _rest(self) -> list[Request]:
        """What was asked for and is not done yet."""
        requests = []
        for i, stretch in enumerate(self._stretches):
            if stretch.request is None:
                continue
            left = stretch.duration - (self._elapsed if i == 0 else 0.0)
            if left > INSTANT:
                requests.append(stretch.request.rest(left * self.feed_rate))
        return requests

    def _change(self, change: Callable[[], None]) -> None:
        """Plan again from now under other conditions; refused, they are as before."""
        requests = self._rest()
        with self.all_or_nothing():
            change()
            self._replan(requests)

    def _replan(self, requests: Sequence[Request]) -> None:
        """Do these requests from now on; in a pause, after a stop that lasts until its end."""
        planner = self._planner
        stop = [planner.stop(self._now)] if self.paused else []
        start = stop[-1].end if stop else self._now
        self._replace([*stop, *planner.plan(requests, start)])

    def _replace(self, stretches: Sequence[Segment], elapsed: float = 0.0) -> None:
        self._stretches = deque(stretches)
        self._elapsed = elapsed
        if not self._stretches:
            self._held = MotionState.at_rest(self._now.position)
