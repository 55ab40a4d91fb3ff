"""What can be wrong with a motion that was asked for: one class per fact."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class MotionRefused(CnoidControlError):
    """A motion cannot be taken into the queue; what was queued goes on as it was."""


class WrongSize(MotionRefused):
    """A vector that does not have one element for each joint."""

    def __init__(self, name: str, value: object, size: int, expected: int) -> None:
        """Name the vector, its value, its size and the number of joints."""
        super().__init__(f'{name} has {size} elements for {expected} joints: {value}')


class NotFinite(MotionRefused):
    """A number that is NaN or infinite."""

    def __init__(self, name: str, joint: str, value: float) -> None:
        """Name the quantity, the joint and the value."""
        super().__init__(f'{name} of joint {joint!r} is {value}; it must be finite')


class BeyondLimit(MotionRefused):
    """A goal or a velocity that a limit does not allow."""

    def __init__(self, name: str, joint: str, value: float, lower: float, upper: float) -> None:
        """Name the quantity, the joint, the value and the range."""
        super().__init__(
            f'{name} of joint {joint!r} is {value:g}; it must lie in [{lower:g}, {upper:g}]'
        )


class JointCannotMove(MotionRefused):
    """A joint that must move although a limit of it is zero."""

    def __init__(self, joint: str, limit: str, change: float) -> None:
        """Name the joint, the limit that is zero and how far the joint should go."""
        super().__init__(f'joint {joint!r} must move by {change:g} but its {limit} limit is 0')


class InvalidDuration(MotionRefused):
    """A duration in which nothing can happen."""

    def __init__(self, name: str, value: float, allowed: str) -> None:
        """Name the motion, its duration [s] and what is allowed."""
        super().__init__(f'{name} has duration {value} s; it must be {allowed}')


class InvalidMotionLimit(MotionRefused):
    """A velocity, acceleration or jerk limit that is negative or NaN."""

    def __init__(self, name: str, joint: str, value: float) -> None:
        """Name the limit, the joint and the value."""
        super().__init__(f'{name} limit of joint {joint!r} is {value}; it must be >= 0')


class InvalidFeedRate(MotionRefused):
    """A feed rate outside [0, 1]."""

    def __init__(self, value: float) -> None:
        """Name the value."""
        super().__init__(f'feed rate is {value}; it must lie in [0, 1], 0 pauses')


class UnknownQueueJoint(MotionRefused):
    """A joint that the queue does not move."""

    def __init__(self, joint: object, known: Iterable[str]) -> None:
        """Name the joint and the joints of the queue."""
        super().__init__(f'unknown joint {joint!r}; {choices(known)}')


class GoalUnreachable(MotionRefused):
    """A goal for which no motion within the limits exists."""

    def __init__(self, joints: Iterable[str], reason: str) -> None:
        """Name the joints that are in the way and why."""
        super().__init__(f'no motion within the limits for {", ".join(joints)}: {reason}')
