"""The interpolator that does nothing."""

from __future__ import annotations

import numpy as np

from cnoid_control.controllers.tasks.interpolators.interpolator import Interpolator


class IdentityInterpolator(Interpolator):
    """Output is the goal at once."""

    def step(self, dt: float) -> np.ndarray:
        """Jump to the goal."""
        self.output = self.goal
        return self.output
