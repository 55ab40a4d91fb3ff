"""What can be wrong with a motion that was asked for."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError


class MotionRefused(CnoidControlError):
    """A motion cannot be taken into the queue; what was queued goes on as it was."""


def wrong_size(name: str, value: object, size: int, expected: int) -> MotionRefused:
    """The error about a vector that does not have one element for each joint."""
    return MotionRefused(f'{name} has {size} elements for {expected} joints: {value}')


def not_finite(name: str, joint: str, value: float) -> MotionRefused:
    """The error about a number that is NaN or infinite."""
    return MotionRefused(f'{name} of joint {joint!r} is {value}; it must be finite')


def invalid_duration(name: str, value: float, allowed: str) -> MotionRefused:
    """The error about a duration in which nothing can happen."""
    return MotionRefused(f'{name} has duration {value} s; it must be {allowed}')


def goal_unreachable(joints: Iterable[str], reason: str) -> MotionRefused:
    """The error about a goal for which no motion within the limits exists."""
    return MotionRefused(f'no motion within the limits for {", ".join(joints)}: {reason}')
