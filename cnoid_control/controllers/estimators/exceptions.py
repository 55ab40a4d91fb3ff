"""What estimators cannot do without."""

from __future__ import annotations

from cnoid_control.exceptions import CnoidControlError


class EstimatorError(CnoidControlError):
    """A robot that lacks what an estimator needs."""

    def __init__(self, name: str, reason: str) -> None:
        """Name the robot or the sensor and what is missing."""
        super().__init__(f'{name}: {reason}')
