"""A linear function of the inputs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from cnoid_control.controllers.composition.base_controller import BaseController, Message

logger = logging.getLogger(__name__)


class LinearController(BaseController):
    """Puts out the sum of K x over some inputs x, plus an offset.

    Attributes:
        type: item of the result, such as 'torquecmd'.
        gains: gain matrix, or scalar, of each item.
        offset: added to the sum.
    """

    def __init__(
        self, type: str, gains: Mapping[str, Any] | None = None, offset: Any = 0.0
    ) -> None:
        """Take the item to put out, the gains by item and the offset."""
        self.type = type
        self.gains = {item: np.asarray(gain, float) for item, gain in (gains or {}).items()}
        self.offset = np.asarray(offset, dtype=float)

    def output(self, **inputs: Any) -> Message:
        """The sum; an item that is missing is left out with a warning."""
        total = self.offset
        for item, gain in self.gains.items():
            if item not in inputs:
                logger.warning('item %r of a linear controller is missing', item)
                continue
            value = np.asarray(inputs[item], dtype=float)
            total = total + (gain @ value if gain.ndim == 2 else gain * value)
        return {self.type: total}
