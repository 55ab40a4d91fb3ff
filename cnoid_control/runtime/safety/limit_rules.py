"""Limit rules for position, velocity and effort commands, and for gains."""

from __future__ import annotations

import abc
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from cnoid_control.body import Body
from cnoid_control.runtime.safety.joint_limits import (
    Interval,
    JointLimits,
    effort_interval,
    position_interval,
    velocity_interval,
)

# Bound once: looking these up takes time in every tick.
greater_equal, less_equal = np.greater_equal, np.less_equal

# Nothing is limited to infinity: a command that is infinite is none.
LARGEST = np.finfo(float).max
CLAMP_KINDS = (
    'position',
    'velocity',
    'acceleration',
    'effort',
    'soft',
    'stiffness',
    'damping',
    'integral',
    'implausible',
)


def plausible_interval(
    lower: np.ndarray, upper: np.ndarray, implausible_factor: float
) -> Interval:
    """Interval of plausible commands; always finite, so that no other command is in it.

    Args:
        lower: lower limits of the commands.
        upper: upper limits of the commands.
        implausible_factor: commands beyond this multiple of a limit are rejected.
    """
    # What is NaN here, because a limit is infinite, is dropped by fmax and fmin.
    with np.errstate(invalid='ignore', over='ignore'):
        middle = 0.5 * (lower + upper)
        reach = implausible_factor * 0.5 * (upper - lower)
        return np.fmax(middle - reach, -LARGEST), np.fmin(middle + reach, LARGEST)


class ImplausibleCommand(NamedTuple):
    """A command that could not be meant.

    Attributes:
        joint: name of the joint.
        word: what is commanded: 'effort'.
        value: the command.
        lower, upper: its limits.
    """

    joint: str
    word: str
    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        """Joint, value and limits in words."""
        limits = f'{self.lower:g} to {self.upper:g}'
        return f'{self.word} {self.value:g} of joint {self.joint!r}, whose limits are {limits}'


class CommandGroup(abc.ABC):
    """Base of the groups.

    Attributes:
        joints: ids of the group's joints.
        last: commands sent last, shape (len(joints),).
        remember: takes the present commands for those sent last.
        is_scaled: which of them are multiplied by a scale, shape (len(joints),).
    """

    # What is commanded, for messages.
    word: str

    # Rows of values that are compared with constant bounds to find that nothing is to be done.
    rows = 0

    def __init__(
        self,
        body: Body,
        array: np.ndarray,
        joints: np.ndarray,
        limits: JointLimits,
        recovery: float,
        share: float = 1.0,
    ) -> None:
        """Prepare the index arrays and the scratch space.

        Args:
            body: the robot, whose commands are limited in place.
            array: the body's array that holds the commands.
            joints: ids of the joints.
            limits: limits of all joints of the body.
            recovery: speed of the way back into position limits [rad/s] or [m/s].
            share: share of the speed limits that the joints have.
        """
        self.joints = joints
        self.last = np.zeros(len(joints))
        self.is_scaled = np.ones(len(joints), dtype=bool)
        self._body = body
        self._array = array
        mine = limits.take(joints)
        self._full_speed = mine.dq_lower, mine.dq_upper
        self._limits = mine.slower(share)
        self._recovery = recovery
        self._all = len(joints) == body.num_joints
        # Bound to what they copy: there is one copy in every tick.
        self.remember: Callable[[], object] = (
            partial(self.last.__setitem__, ..., array)
            if self._all
            else partial(array.take, joints, None, self.last, 'clip')
        )
        self._values: np.ndarray = np.zeros((self.rows, len(joints)))
        self._lower: np.ndarray = np.full((self.rows, len(joints)), -LARGEST)
        self._upper: np.ndarray = np.full((self.rows, len(joints)), LARGEST)
        kept = np.zeros((2, *self._values.shape), dtype=bool)
        self._above, self._below = kept
        self._truths, self._all_true = kept.tobytes, np.ones_like(kept).tobytes()
        self._dt = 0.0
        # Limits that depend on the state everywhere are never trivially kept.
        self._always_limit = self._limits.are_soft or self._limits.limit_acceleration

    @abc.abstractmethod
    def restart(self) -> None:
        """Take the measured state for the last command."""

    def go_on_from(self, other: CommandGroup) -> None:
        """Take the last commands over from a group of the same kind, where it has the joint."""
        _, mine, theirs = np.intersect1d(self.joints, other.joints, return_indices=True)
        self.last[mine] = other.last[theirs]

    def passes(self, dt: float) -> bool:
        """Whether the commands are finite and within all limits; cheap."""
        if self._always_limit:
            return False
        if dt != self._dt:
            self._dt = dt
            self._set_period(dt)
        self._look(dt)
        return self._are_bounded()

    def _set_period(self, dt: float) -> None:  # noqa: B027 - some do not depend on it
        """Write the bounds of all rows that depend on the period [s]."""

    @abc.abstractmethod
    def _look(self, dt: float) -> None:
        """Write the values of all rows."""

    def limit(self, dt: float, counts: dict[str, np.ndarray]) -> None:
        """Bring the commands, finite ones, into the limits.

        Args:
            dt: time since the last command [s].
            counts: how often each joint was limited, by kind of limit; counted up.
        """
        command = self._pick(self._array)
        lower, upper = self._interval(dt)
        limited = np.fmin(np.fmax(command, lower), upper)
        hit = limited != command
        if hit.any():
            for kind, mask in self._reasons(command, dt):
                counts[kind][self.joints] += mask & hit
                hit &= ~mask
            self._array[self.joints] = limited

    def scale(self, share: float, implausible_factor: float) -> None:
        """Give the commands a share of what they ask for; implausible ones stay as they are.

        Args:
            share: from 0 to 1.
            implausible_factor: times a limit from which on a command is implausible.
        """
        lower, upper = self._unscaled_range()
        command = self._pick(self._array)
        least, most = plausible_interval(lower, upper, implausible_factor)
        is_changed = self.is_scaled & (command >= least) & (command <= most)
        scaled = self._slowed(share * np.fmin(np.fmax(command, lower), upper))
        self._array[self.joints] = np.where(is_changed, scaled, command)

    def _slowed(self, scaled: np.ndarray) -> np.ndarray:
        """Scaled commands that make no joint faster than its share of the speed."""
        return scaled

    def _unscaled_range(self) -> Interval:
        """The constant limits of the commands before they are scaled."""
        return self._range()

    def is_plausible(self, implausible_factor: float) -> bool:
        """Whether all commands are finite and plausible.

        Args:
            implausible_factor: times a limit from which on they cannot.
        """
        return not len(self.implausible(implausible_factor))

    def implausible(self, implausible_factor: float) -> np.ndarray:
        """Which of its commands are not finite, or that many times beyond a limit."""
        command = self._pick(self._array)
        lower, upper = plausible_interval(*self._range(), implausible_factor)
        return np.flatnonzero(~((command >= lower) & (command <= upper)))

    def first_implausible(self, implausible_factor: float) -> ImplausibleCommand | None:
        """The first command that is not plausible; None for none."""
        wrong = self.implausible(implausible_factor)
        if not len(wrong):
            return None
        first = wrong[0]
        command = self._pick(self._array)
        lower, upper = self._range()
        name = self._body.joint_names[self.joints[first]]
        bounds = (float(np.broadcast_to(bound, command.shape)[first]) for bound in (lower, upper))
        return ImplausibleCommand(name, self.word, float(command[first]), *bounds)

    @abc.abstractmethod
    def _range(self) -> Interval:
        """The constant limits of the commands themselves."""

    def repeat(self) -> None:
        """Put the last commands in the place of the present ones."""
        self._array[self.joints] = self.last

    def relax(self) -> None:
        """Put commands that move nothing in the place of the present ones."""
        self._array[self.joints] = 0.0

    @abc.abstractmethod
    def _interval(self, dt: float) -> Interval:
        """Where the commands may be now, by all limits."""

    @abc.abstractmethod
    def _reasons(self, command: np.ndarray, dt: float) -> list[tuple[str, np.ndarray]]:
        """Kinds of limits with the joints on which they may have acted, the first one counts."""

    def _pick(self, array: np.ndarray) -> np.ndarray:
        return array if self._all else array.take(self.joints)

    def _set_bounds(self, row: int, lower: np.ndarray, upper: np.ndarray) -> None:
        self._lower[row] = np.fmax(lower, -LARGEST)
        self._upper[row] = np.fmin(upper, LARGEST)

    def _are_bounded(self) -> bool:
        # NaN is neither above nor below anything. Bytes of truth are few, and cheap to compare.
        values = self._values
        greater_equal(values, self._lower, self._above)
        less_equal(values, self._upper, self._below)
        return self._truths() == self._all_true


class EffortGroup(CommandGroup):
    """Joints commanded by `u`."""

    word = 'effort'
    rows = 3

    def __init__(
        self,
        body: Body,
        array: np.ndarray,
        joints: np.ndarray,
        limits: JointLimits,
        recovery: float,
        share: float = 1.0,
    ) -> None:
        """Prepare; effort limits do not depend on accelerations.

        Efforts that hold the robot may need all their limits: only those that are scaled are kept
        from making a joint faster than its share.
        """
        super().__init__(body, array, joints, limits, recovery)
        slower = self._limits.slower(share)
        self._scaled_speed = slower.dq_lower, slower.dq_upper
        self._always_limit = self._limits.are_soft
        self._copies = [
            partial(values.take, joints, None, row, 'clip')
            for row, values in zip(self._values, (body.q, body.dq, array), strict=True)
        ]
        mine = self._limits
        # At a position limit itself the rules apply already: only what is inside passes.
        self._set_bounds(
            0, np.nextafter(mine.q_lower, np.inf), np.nextafter(mine.q_upper, -np.inf)
        )
        self._set_bounds(1, mine.dq_lower, mine.dq_upper)
        # One at its limit passes, but is counted.
        self._can_saturate = mine.u_lower < mine.u_upper
        lower, upper = np.nextafter(mine.u_lower, np.inf), np.nextafter(mine.u_upper, -np.inf)
        self._set_bounds(
            2,
            np.where(self._can_saturate, lower, mine.u_lower),
            np.where(self._can_saturate, upper, mine.u_upper),
        )
        if len(body.joint_arrays['q']) == len(joints):
            # The body has the rows itself, in one piece.
            self._copies = []
            self._values = body.state_and_effort
            self._above, self._below = self._above.reshape(-1), self._below.reshape(-1)
            self._lower, self._upper = self._lower.reshape(-1), self._upper.reshape(-1)

    def passes(self, dt: float) -> bool:
        """Whether efforts, positions and velocities are within all limits."""
        if self._always_limit:
            return False
        self._look(dt)
        return self._are_bounded()

    def limit(self, dt: float, counts: dict[str, np.ndarray]) -> None:
        """As for all commands; efforts that somebody has clamped to their limits are counted."""
        effort, limits = self._pick(self._array), self._limits
        is_saturated = (effort == limits.u_lower) | (effort == limits.u_upper)
        super().limit(dt, counts)
        counts['effort'][self.joints] += is_saturated & self._can_saturate

    def restart(self) -> None:
        """Take no effort for the last command."""
        self.last[:] = 0.0

    def _look(self, dt: float) -> None:
        for copy in self._copies:
            copy()

    def _range(self) -> Interval:
        return self._limits.u_lower, self._limits.u_upper

    def _slowed(self, scaled: np.ndarray) -> np.ndarray:
        dq = self._pick(self._body.dq)
        slowest, fastest = self._scaled_speed
        pushes_on = ((scaled > 0.0) & (dq > fastest)) | ((scaled < 0.0) & (dq < slowest))
        return np.where(pushes_on, 0.0, scaled)

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


class PositionGroup(CommandGroup):
    """Joints commanded by `q_target`."""

    word = 'position'
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

    def scale(self, share: float, implausible_factor: float) -> None:
        """Leave them: the speed limits slow them down."""

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


class VelocityGroup(CommandGroup):
    """Joints commanded by `dq_target`."""

    word = 'velocity'
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

    def _unscaled_range(self) -> Interval:
        return self._full_speed

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


class GainGroup(CommandGroup):
    """Joints with PID actuators, one of whose gains is commanded: never negative, never too large.

    Attributes:
        word: what is commanded, and the kind of limit.
    """

    rows = 1

    def __init__(
        self,
        body: Body,
        array: np.ndarray,
        joints: np.ndarray,
        limits: JointLimits,
        recovery: float,
        share: float = 1.0,
    ) -> None:
        """Prepare; nothing depends on the state."""
        super().__init__(body, array, joints, limits, recovery, share)
        self._always_limit = False
        self._set_bounds(0, *self._range())

    def restart(self) -> None:
        """Take no gain for the last command."""
        self.last[:] = 0.0

    def _look(self, dt: float) -> None:
        self._values[0] = self._pick(self._array)

    def _largest(self) -> np.ndarray:
        """Largest gains; infinite for any."""
        return np.full(len(self.joints), np.inf)

    def _range(self) -> Interval:
        return np.zeros(len(self.joints)), self._largest()

    def _interval(self, dt: float) -> Interval:
        return self._range()

    def _reasons(self, command: np.ndarray, dt: float) -> list[tuple[str, np.ndarray]]:
        return [(self.word, np.ones(len(self.joints), dtype=bool))]


class StiffnessGroup(GainGroup):
    """Joints whose `kp` is commanded."""

    word = 'stiffness'

    def _largest(self) -> np.ndarray:
        return self._limits.kp_max


class DampingGroup(GainGroup):
    """Joints whose `kd` is commanded."""

    word = 'damping'

    def _largest(self) -> np.ndarray:
        return self._limits.kd_max

    def relax(self) -> None:
        """Go on damping: that never drives a joint."""
        self.repeat()


class IntegralGroup(GainGroup):
    """Joints whose `ki` is commanded; it needs no limit, its part of the effort has one."""

    word = 'integral'
