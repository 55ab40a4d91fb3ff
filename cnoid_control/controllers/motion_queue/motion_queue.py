"""A queue of joint motions that can be added to, replaced, slowed, paused and stopped."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from cnoid_control.controllers.motion_queue.exceptions import InvalidFeedRate
from cnoid_control.controllers.motion_queue.goal_check import GoalCheck
from cnoid_control.controllers.motion_queue.motion_limits import MotionLimits
from cnoid_control.controllers.motion_queue.motion_state import MotionState
from cnoid_control.controllers.motion_queue.pieces import Piece
from cnoid_control.controllers.motion_queue.ramps import TOLERANCE, plan_ramp, plan_velocity
from cnoid_control.controllers.motion_queue.requests import (
    Cubic,
    Ending,
    Linear,
    LinearMilestone,
    Milestone,
    Request,
    SmoothCubic,
    SmoothVelocity,
    Velocity,
)

Vector = Sequence[float] | np.ndarray
Joints = Sequence[str] | Sequence[int] | None
# Less than this much time left counts as nothing left [s].
INSTANT = 1e-9


@dataclass
class _Entry:
    """A planned stretch of the queue; without a request it is a stop that the queue put in."""

    request: Request | None
    pieces: Sequence[Piece]
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        self.duration = sum(piece.duration for piece in self.pieces)

    def at(self, time: float) -> MotionState:
        for piece in self.pieces[:-1]:
            if time < piece.duration:
                return piece.at(time)
            time -= piece.duration
        return self.pieces[-1].at(time)


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
        self._entries: deque[_Entry] = deque()
        self._elapsed = 0.0
        self._held = MotionState.at_rest(self._check.vector('position', position))
        self._now = self._held

    @property
    def limits(self) -> MotionLimits:
        """Bounds of the motion."""
        return self._check.limits

    # --- what it commands ---------------------------------------------------------------------

    @property
    def state(self) -> MotionState:
        """Commanded state now."""
        return self._now

    @property
    def end(self) -> MotionState:
        """Commanded state at the end of the queue."""
        if not self._entries:
            return self._now
        last = self._entries[-1]
        if last.request is None and len(self._entries) > 1 and not self._is_held(last):
            last = self._entries[-2]
        return last.at(last.duration)

    @property
    def goal(self) -> np.ndarray:
        """Positions in which the queue ends, shape (n,)."""
        return self.end.position

    @property
    def remaining_time(self) -> float:
        """Time until the last motion that was asked for ends [s], never negative."""
        entries = list(self._entries)
        while entries and entries[-1].request is None:
            entries.pop()
        left = sum(entry.duration for entry in entries) - self._elapsed
        return max(0.0, left) if entries else 0.0

    @property
    def is_moving(self) -> bool:
        """Whether anything is left to do, a stop included."""
        return bool(self._entries)

    def advance(self, dt: float) -> MotionState:
        """Go on by a time [s] and return the state that is commanded then."""
        self._elapsed += dt
        while self._entries and self._elapsed >= self._entries[0].duration:
            if self._is_held(self._entries[0]):
                self._elapsed = self._entries[0].duration
                break
            done = self._entries.popleft()
            self._elapsed -= done.duration
            self._held = MotionState.at_rest(done.at(done.duration).position)
        if self._entries:
            self._now = self._entries[0].at(self._elapsed)
        else:
            self._elapsed = 0.0
            self._now = self._held
        return self._now

    def _is_held(self, entry: _Entry) -> bool:
        """Whether the motion does not go beyond this entry: the stop of a pause."""
        return self.paused and entry.request is None

    # --- what can be asked of it --------------------------------------------------------------

    def set_milestone(self, q: Vector, dq: Vector | None = None, joints: Joints = None) -> None:
        """Move to q as fast as the bounds allow, arriving with velocities dq (0 if not given)."""
        self._set(Milestone(*self._goal('milestone', q, dq, joints)))

    def add_milestone(self, q: Vector, dq: Vector | None = None, joints: Joints = None) -> None:
        """Same as `set_milestone`, after what is queued already."""
        self._add(Milestone(*self._goal('milestone', q, dq, joints)))

    def set_milestone_linear(self, q: Vector, joints: Joints = None) -> None:
        """Move along a straight line in joint space to q, as fast as the bounds allow."""
        self._set(LinearMilestone(*self._goal('linear milestone', q, None, joints)))

    def add_milestone_linear(self, q: Vector, joints: Joints = None) -> None:
        """Same as `set_milestone_linear`, after what is queued already."""
        self._add(LinearMilestone(*self._goal('linear milestone', q, None, joints)))

    def set_linear(self, q: Vector, dt: float, joints: Joints = None) -> None:
        """Interpolate linearly to q within dt [s]."""
        self._set(self._linear(q, dt, joints))

    def add_linear(self, q: Vector, dt: float, joints: Joints = None) -> None:
        """Same as `set_linear`, after what is queued already."""
        self._add(self._linear(q, dt, joints))

    append_linear = add_linear

    def set_cubic(self, q: Vector, dq: Vector, dt: float, joints: Joints = None) -> None:
        """Follow the cubic from the commanded state to q and dq within dt [s]."""
        self._set(self._cubic(q, dq, dt, joints))

    def add_cubic(self, q: Vector, dq: Vector, dt: float, joints: Joints = None) -> None:
        """Same as `set_cubic`, after what is queued already."""
        self._add(self._cubic(q, dq, dt, joints))

    def set_velocity(self, dq: Vector, dt: float, joints: Joints = None) -> None:
        """Move with velocities dq for dt [s], then stop; joints not named stop at once."""
        request = self._velocity(dq, dt, joints, self._now)
        if request is None:
            self.brake()
        else:
            self._set(request)

    def add_velocity(self, dq: Vector, dt: float, joints: Joints = None) -> None:
        """Same as `set_velocity`, after what is queued already."""
        request = self._velocity(dq, dt, joints, self.end)
        if request is not None:
            self._add(request)

    def add_wait(self, dt: float) -> None:
        """Stand still for dt [s], after what is queued already."""
        duration = self._check.duration('wait', dt)
        self._add(SmoothVelocity(np.zeros(self.limits.size), duration))

    def brake(self) -> None:
        """Come to rest as fast as the bounds allow and forget everything that was queued."""
        self._replace(self._stop())
        self.paused = False

    def pause(self) -> None:
        """Come to rest as fast as the bounds allow, and keep what is queued for `resume`."""
        self._paused_by_rate = False
        if not self.paused:
            rest = self._rest()
            self.paused = True
            stop = self._stop()
            self._replace([*stop, *self._plan_all(rest, self._end_of(stop))])

    def resume(self) -> None:
        """Go on with what is queued."""
        if self.paused:
            rest = self._rest()
            self.paused = False
            self._replace(self._plan_all(rest, self._now))

    def set_feed_rate(self, rate: float) -> None:
        """Use only a share of the velocity limits, from now on; 0 pauses until it rises again.

        Raises:
            InvalidFeedRate: it is not in [0, 1].
        """
        if not 0.0 <= rate <= 1.0:
            raise InvalidFeedRate(rate)
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

        The others go on as they were; what is queued no longer moves these.
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
        entries = self._plan_all(requests, state)
        self._now = state
        self._replace(entries)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Undo everything asked for in the block where anything of it is refused."""
        before = dict(vars(self))
        before['_entries'] = deque(self._entries)
        try:
            yield
        except Exception:
            vars(self).update(before)
            raise

    # --- planning -----------------------------------------------------------------------------

    def _fill(self, values: Vector, others: np.ndarray, joints: Joints) -> np.ndarray:
        if joints is None:
            return np.asarray(values, dtype=float)
        return self._check.spread(values, others, joints)

    def _goal(
        self, name: str, q: Vector, dq: Vector | None, joints: Joints
    ) -> tuple[np.ndarray, np.ndarray]:
        zeros = np.zeros(self.limits.size)
        goal = self._check.position(f'{name}', self._fill(q, self.goal, joints))
        velocity = zeros if dq is None else self._fill(dq, zeros, joints)
        return goal, self._check.goal_velocity(f'velocity at the {name}', velocity, goal)

    def _linear(self, q: Vector, dt: float, joints: Joints) -> Request:
        goal, velocity = self._goal('goal', q, None, joints)
        dt = self._check.duration('linear motion', dt)
        return Milestone(goal, velocity, dt) if self.smooth else Linear(goal, velocity, dt)

    def _cubic(self, q: Vector, dq: Vector, dt: float, joints: Joints) -> Request:
        goal, velocity = self._goal('goal', q, dq, joints)
        dt = self._check.duration('cubic motion', dt)
        return SmoothCubic(goal, velocity, dt) if self.smooth else Cubic(goal, velocity, dt)

    def _velocity(
        self, dq: Vector, dt: float, joints: Joints, start: MotionState
    ) -> Request | None:
        """Motion with a velocity, as long as the position limits allow; None for no time."""
        filled = self._fill(dq, np.zeros(self.limits.size), joints)
        velocity = self._check.velocity('velocity', filled)
        dt = self._check.duration('velocity motion', dt, zero=True)
        allowed = self._check.time_to_limits(start, velocity, self.smooth)
        if allowed < dt:
            self._report(f'velocity motion ends after {allowed:g} s instead of {dt:g} s: limits')
            dt = allowed
        if dt == 0.0:
            return None
        return SmoothVelocity(velocity, dt) if self.smooth else Velocity(velocity, dt)

    def _set(self, request: Request) -> None:
        stop = self._stop() if self.paused else []
        start = self._end_of(stop) if stop else self._now
        self._replace([*stop, *self._plan_all([request], start)])

    def _add(self, request: Request) -> None:
        entries = list(self._entries)
        if len(entries) > 1 and entries[-1].request is None:
            # The stop that followed the last request has not begun: go on from that request.
            entries.pop()
        elif entries and entries[0].request is None and not self.paused:
            entries = []
        start = self._end_of(entries) if entries else self._now
        planned = self._plan_all([request], start)
        elapsed = self._elapsed if entries else 0.0
        self._replace([*entries, *planned], elapsed)

    def _plan_all(self, requests: Sequence[Request], start: MotionState) -> list[_Entry]:
        """Plan requests one after the other, and a stop where they end with a velocity."""
        entries: list[_Entry] = []
        for request in requests:
            pieces = request.plan(start, self.limits, self.feed_rate)
            if not pieces:
                continue
            entry = _Entry(request, pieces)
            asked = request.duration / self.feed_rate
            if request.duration > 0.0 and entry.duration > asked * (1.0 + 1e-6) + INSTANT:
                self._report(
                    f'motion takes {entry.duration:.4g} s instead of {asked:.4g} s: limits'
                )
            entries.append(entry)
            start = entry.at(entry.duration)
        if entries:
            entries += self._ending(entries[-1], start)
        elif self._moves(start):
            entries = self._stop(start)
        return entries

    def _ending(self, last: _Entry, end: MotionState) -> list[_Entry]:
        assert last.request is not None  # mypy.
        if last.request.ending is Ending.HOLD or not self._moves(end):
            return []
        if last.request.ending is Ending.STOP:
            return self._stop(end)
        rest = np.zeros(self.limits.size)
        return [_Entry(None, [plan_ramp(end, end.position, rest, self.limits)])]

    def _moves(self, state: MotionState) -> bool:
        """Whether a state is more than rounding away from rest."""
        if np.abs(state.velocity).max(initial=0.0) > TOLERANCE:
            return True
        largest = np.abs(state.acceleration).max(initial=0.0)
        return bool(self.limits.is_jerk_limited and largest > TOLERANCE)

    def _stop(self, start: MotionState | None = None) -> list[_Entry]:
        start = start or self._now
        piece = plan_velocity(start, np.zeros(self.limits.size), self.limits)
        return [_Entry(None, [piece])]

    @staticmethod
    def _end_of(entries: Sequence[_Entry]) -> MotionState:
        return entries[-1].at(entries[-1].duration)

    def _rest(self) -> list[Request]:
        """What was asked for and is not done yet."""
        requests = []
        for i, entry in enumerate(self._entries):
            if entry.request is None:
                continue
            left = entry.duration - (self._elapsed if i == 0 else 0.0)
            if left > INSTANT:
                requests.append(entry.request.rest(left * self.feed_rate))
        return requests

    def _change(self, change: Callable[[], None]) -> None:
        """Plan again from now under other conditions; refused, they are as before."""
        requests = self._rest()
        with self.all_or_nothing():
            change()
            stop = self._stop() if self.paused else []
            start = self._end_of(stop) if stop else self._now
            self._replace([*stop, *self._plan_all(requests, start)])

    def _replace(self, entries: Sequence[_Entry], elapsed: float = 0.0) -> None:
        self._entries = deque(entries)
        self._elapsed = elapsed
        self._held = MotionState.at_rest(self._now.position)
