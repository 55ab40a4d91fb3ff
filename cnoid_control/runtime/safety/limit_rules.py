"""Limit rules for position, velocity and effort commands, and for gains."""

from __future__ import annotations

import abc
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.copies import copy_call
from cnoid_control.runtime.safety.joint_limits import (
    Interval,
    JointLimits,
    effort_interval,
    position_interval,
    velocity_interval,
)

Call = Callable[[], object]

# Nothing is limited to infinity: a command that is infinite is none.
LARGEST = np.finfo(float).max
# The number below it, so that even the largest one has a finite one beyond it.
LARGE = np.nextafter(LARGEST, 0.0)
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


def _bounds(lower: np.ndarray, upper: np.ndarray) -> Interval:
    """The least values within finite limits, and the least ones beyond."""
    return np.fmax(lower, -LARGEST), np.nextafter(np.fmin(upper, LARGE), np.inf)


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
        needs_rules: whether the limits depend on the state, so that no comparison with constant
            bounds finds that nothing is to be done.
        looks: calls that write the values that are compared with constant bounds.
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
        """Prepare the index arrays.

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
        self.remember = self._picking(array, self.last)
        self.looks: list[Call] = []
        # Limits that depend on the state everywhere are never trivially kept.
        self._depends_on_state = self._limits.are_soft or self._limits.limit_acceleration
        self.needs_rules = self._depends_on_state

    @abc.abstractmethod
    def restart(self) -> None:
        """Take the measured state for the last command."""

    def go_on_from(self, other: CommandGroup) -> None:
        """Take the last commands over from a group of the same kind, where it has the joint."""
        _, mine, theirs = np.intersect1d(self.joints, other.joints, return_indices=True)
        self.last[mine] = other.last[theirs]

    @abc.abstractmethod
    def line_up(self, values: np.ndarray, lower: np.ndarray, beyond: np.ndarray) -> None:
        """List the looks, and write the bounds.

        Args:
            values: where the values are to be written, shape (rows, len(joints)).
            lower: the least ones that need no rules, same shape.
            beyond: the least ones above these that do, same shape.
        """

    def set_period(self, dt: float) -> None:  # noqa: B027 - some do not depend on it
        """Write what depends on the period [s]; after `line_up`."""

    def _picking(self, array: np.ndarray, row: np.ndarray) -> Call:
        """Call that copies the group's elements of a joint array."""
        if self._all:
            return copy_call(row, array)
        return partial(array.take, self.joints, None, row, 'clip')

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
        self.needs_rules = self._limits.are_soft
        # One at its limit passes, but is counted.
        self._can_saturate = self._limits.u_lower < self._limits.u_upper

    def line_up(self, values: np.ndarray, lower: np.ndarray, beyond: np.ndarray) -> None:
        """Look at positions, velocities and efforts."""
        body, mine = self._body, self._limits
        if values.size == body.state_and_effort.size:
            # The body has the rows itself, in one piece.
            self.looks = [copy_call(values.reshape(-1), body.state_and_effort)]
        else:
            sources = zip((body.q, body.dq, self._array), values, strict=True)
            self.looks = [self._picking(source, row) for source, row in sources]
        # At a position limit itself the rules apply already: only what is inside passes.
        inside = np.nextafter(mine.q_lower, np.inf), np.nextafter(mine.q_upper, -np.inf)
        lower[0], beyond[0] = _bounds(*inside)
        lower[1], beyond[1] = _bounds(mine.dq_lower, mine.dq_upper)
        least, most = np.nextafter(mine.u_lower, np.inf), np.nextafter(mine.u_upper, -np.inf)
        lower[2], beyond[2] = _bounds(
            np.where(self._can_saturate, least, mine.u_lower),
            np.where(self._can_saturate, most, mine.u_upper),
        )

    def limit(self, dt: float, counts: dict[str, np.ndarray]) -> None:
        """As for all commands; efforts that somebody has clamped to their limits are counted."""
        effort, limits = self._pick(self._array), self._limits
        is_saturated = (effort == limits.u_lower) | (effort == limits.u_upper)
        super().limit(dt, counts)
        counts['effort'][self.joints] += is_saturated & self._can_saturate

    def restart(self) -> None:
        """Take no effort for the last command."""
        self.last[:] = 0.0

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

    def line_up(self, values: np.ndarray, lower: np.ndarray, beyond: np.ndarray) -> None:
        """Look at the commands and at their distance from the last ones."""
        position, step = values
        self.looks = [
            self._picking(self._array, position),
            partial(np.subtract, position, self.last, step),
        ]
        lower[0], beyond[0] = _bounds(self._limits.q_lower, self._limits.q_upper)
        self._step_bounds = lower[1], beyond[1]

    def set_period(self, dt: float) -> None:
        """Write how far the commands may go in it."""
        lower, beyond = self._step_bounds
        lower[:], beyond[:] = _bounds(self._limits.dq_lower * dt, self._limits.dq_upper * dt)

    def restart(self) -> None:
        """Take the measured positions for the last command."""
        q = self._pick(self._body.q)
        self.last[:] = np.where(np.isfinite(q), q, np.nan_to_num(self._pick(self._array)))
        # Not known yet to be inside: the first command takes the thorough way.
        self.needs_rules = True

    def relax(self) -> None:
        """Stay at the last positions."""
        self.repeat()

    def limit(self, dt: float, counts: dict[str, np.ndarray]) -> None:
        """Bring the commands into the limits, and see whether they are still on the way back."""
        super().limit(dt, counts)
        command = self._pick(self._array)
        outside = (command < self._limits.q_lower) | (command > self._limits.q_upper)
        self.needs_rules = self._depends_on_state or bool(outside.any())

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

    def line_up(self, values: np.ndarray, lower: np.ndarray, beyond: np.ndarray) -> None:
        """Look at the commands, at the positions, and at those after a period of the commands."""
        velocity, q, end = values
        self._period = np.zeros(())
        self.looks = [
            self._picking(self._array, velocity),
            self._picking(self._body.q, q),
            partial(np.multiply, velocity, self._period, end),
            partial(np.add, q, end, end),
        ]
        lower[0], beyond[0] = _bounds(self._limits.dq_lower, self._limits.dq_upper)
        lower[1:], beyond[1:] = _bounds(self._limits.q_lower, self._limits.q_upper)

    def set_period(self, dt: float) -> None:
        """Take it for how long the commands act."""
        self._period[...] = dt

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
        self.needs_rules = False

    def line_up(self, values: np.ndarray, lower: np.ndarray, beyond: np.ndarray) -> None:
        """Look at the commands."""
        self.looks = [self._picking(self._array, values[0])]
        lower[0], beyond[0] = _bounds(*self._range())

    def restart(self) -> None:
        """Take no gain for the last command."""
        self.last[:] = 0.0

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
