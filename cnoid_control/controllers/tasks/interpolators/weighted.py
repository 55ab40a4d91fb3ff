"""Blend between the value at the time of the goal and the goal, by a weight the user moves."""

from __future__ import annotations

import numpy as np

from cnoid_control.controllers.tasks.interpolators.interpolator import Interpolator, polynomial
from cnoid_control.parameters.exceptions import ParameterOutOfRange


class WeightedInterpolator(Interpolator):
    """Output = start + s(weight) (goal - start), s of degree 1, 3 or 5.

    Attributes:
        weight: in ]0, 1]; 1 is the goal itself.
    """

    def __init__(self, degree: int, weight: float = 1.0) -> None:
        """Choose the shape of the blend."""
        super().__init__()
        self.degree = degree
        self.weight = weight
        self._start = self.output

    @property
    def weight(self) -> float:
        """Part of the way that is done, in ]0, 1]."""
        return self._weight

    @weight.setter
    def weight(self, value: float) -> None:
        if not 0.0 < value <= 1.0:
            raise ParameterOutOfRange('weight', value, 'it must lie in ]0, 1]')
        self._weight = value

    def _restart(self) -> None:
        self._start = self.output

    def step(self, dt: float) -> np.ndarray:
        """Blend by the weight of now."""
        blend = polynomial(self.weight, self.degree)
        self.output = self._start + blend * (self.goal - self._start)
        return self.output
