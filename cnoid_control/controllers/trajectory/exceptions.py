"""What is wrong with a trajectory."""

from __future__ import annotations

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin.trajectory_goal import TrajectoryResult


class InvalidTrajectory(CnoidControlError):
    """A trajectory that cannot be followed.

    Attributes:
        code: what joint_trajectory_controller would call it.
    """

    def __init__(
        self, message: str, code: TrajectoryResult = TrajectoryResult.INVALID_GOAL
    ) -> None:
        super().__init__(message)
        self.code = code
