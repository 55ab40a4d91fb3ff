"""Which feet carry the robot, by their force sensors."""

from __future__ import annotations

import numpy as np


class ContactDetector:
    """Trust in each foot's contact, from 0 (in the air) to 1 (carries its share).

    Between the two bounds of the vertical force the trust rises steadily, so that an estimate
    passes over from one foot to the other without a jump.
    """

    def __init__(self, low: float, high: float) -> None:
        """Take the force below which a foot is in the air and above which it stands [N]."""
        self.low = low
        self.high = high

    def trust(self, vertical_forces: np.ndarray) -> np.ndarray:
        """Trust in each foot for its upward force [N], shape of the forces."""
        return np.clip((vertical_forces - self.low) / (self.high - self.low), 0.0, 1.0)
