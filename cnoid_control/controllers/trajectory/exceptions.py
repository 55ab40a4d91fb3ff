"""What the shipped controllers refuse: one class per fact."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.plugin.trajectory_goal import TrajectoryResult


class InvalidTrajectory(CnoidControlError):
    """A trajectory that cannot be followed.

    Attributes:
        code: what joint_trajectory_controller would call it.
    """

    code = TrajectoryResult.INVALID_GOAL


class InvalidTrajectoryJoints(InvalidTrajectory):
    """A trajectory for joints that are not there, or not for all that are."""

    code = TrajectoryResult.INVALID_JOINTS

    def __init__(self, problem: str, names: Iterable[str], known: Iterable[str]) -> None:
        """Name what is wrong, the joints it is about and the controller's joints."""
        super().__init__(f'{problem}: {", ".join(names)}; {choices(known)}')


class TrajectoryInThePast(InvalidTrajectory):
    """A trajectory whose last point has gone by."""

    code = TrajectoryResult.OLD_HEADER_TIMESTAMP

    def __init__(self, end: float) -> None:
        """Say how long ago it ended [s]."""
        super().__init__(f'the trajectory ended {-end:.3f} s ago')


class TrajectoryFileError(InvalidTrajectory):
    """A file that holds no trajectory."""

    def __init__(self, path: object, line: int, reason: str) -> None:
        """Name the file, the line (0 for the whole file) and what is wrong."""
        where = f'{path}, line {line}' if line else str(path)
        super().__init__(f'{where}: {reason}')
