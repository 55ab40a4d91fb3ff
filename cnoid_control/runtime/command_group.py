"""The joints that are commanded through one channel, and how their commands are limited.

Each group has two ways that give the same commands: `passes` finds cheaply that nothing is to be
done, which is nearly always; `limit` applies the rules where that was not so.
"""

from __future__ import annotations

import abc

import numpy as np

from cnoid_control.body import Body
from cnoid_control.runtime.joint_limits import JointLimits
from cnoid_control.runtime.limit_rules import Interval

# Bound once: looking these up takes time in every tick.
fmin, fmax = np.fmin, np.fmax

# Nothing is limited to infinity: a command that is infinite is none.
LARGEST = np.finfo(float).max
CLAMP_KINDS = ('position', 'velocity', 'acceleration', 'effort', 'soft')


def plausible_interval(lower: np.ndarray, upper: np.ndarray, max_excess: float) -> Interval:
    """Where commands may lie that can be meant; always finite, so that none other is in it.

    Args:
        lower: lower limits of the commands.
        upper: upper limits of the commands.
        max_excess: times a limit from which on they cannot be meant.
    """
    with np.errstate(invalid='ignore', over='ignore'):
        middle = np.where(np.isfinite(lower) & np.isfinite(upper), 0.5 * (lower + upper), 0.0)
        reach = max_excess * 0.5 * (upper - lower)
        return np.fmax(middle - reach, -LARGEST), np.fmin(middle + reach, LARGEST)


class CommandGroup(abc.ABC):
    """Base of the groups.

    Attributes:
        joints: ids of the group's joints.
        last: commands sent last, shape (len(joints),).
    """

    # Rows of values that are compared with constant bounds to find that nothing is to be done.
    rows = 0

    def __init__(
        self,
        body: Body,
        array: np.ndarray,
        joints: np.ndarray,
        limits: JointLimits,
        recovery: float,
    ) -> None:
        """Prepare the index arrays and the scratch space.

        Args:
            body: the robot, whose commands are limited in place.
            array: the body's array that holds the commands.
            joints: ids of the joints.
            limits: limits of all joints of the body.
            recovery: speed of the way back into position limits [rad/s] or [m/s].
        """
        self.joints = joints
        self.last = np.zeros(len(joints))
        self._body = body
        self._array = array
        self._limits = limits.take(joints)
        self._recovery = recovery
        self._all = len(joints) == body.num_joints
        self._values = np.zeros((self.rows, len(joints)))
        self._bounded = np.zeros((self.rows, len(joints)))
        self._lower = np.full((self.rows, len(joints)), -LARGEST)
        self._upper = np.full((self.rows, len(joints)), LARGEST)
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

    def is_plausible(self, max_excess: float) -> bool:
        """Whether all commands are numbers that can be meant.

        Args:
            max_excess: times a limit from which on they cannot.
        """
        command = self._pick(self._array)
        lower, upper = plausible_interval(*self._range(), max_excess)
        return bool(((command >= lower) & (command <= upper)).all())

    @abc.abstractmethod
    def _range(self) -> Interval:
        """The constant limits of the commands themselves."""

    def repeat(self) -> None:
        """Put the last commands in the place of the present ones."""
        self._array[self.joints] = self.last

    def relax(self) -> None:
        """Put commands that move nothing in the place of the present ones."""
        self._array[self.joints] = 0.0

    def remember(self) -> None:
        """Take the present commands for those sent last."""
        self.last[:] = self._array if self._all else self._array.take(self.joints)

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
        # fmin and fmax drop NaN, which thus differs from the outcome as every excess does.
        values, bounded = self._values, self._bounded
        fmin(values, self._upper, bounded)
        fmax(bounded, self._lower, bounded)
        return bounded.tobytes() == values.tobytes()
