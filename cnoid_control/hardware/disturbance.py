"""What separates a sensor's values from the truth: bias, noise and delay."""

from __future__ import annotations

import zlib
from collections import deque
from dataclasses import dataclass

import numpy as np

from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.parameters import parameter


@dataclass
class DisturbanceParameters:
    """How a sensor errs; a number for all its values, or one for each of them."""

    noise: float | list[float] = parameter(0.0, 'standard deviation of white noise', minimum=0.0)
    bias: float | list[float] = parameter(0.0, 'constant error')
    delay: float = parameter(0.0, 'age of the values on arrival', unit='s', minimum=0.0)


class Disturbance:
    """Bias, noise and delay of one sensor; repeats itself exactly after `reset`.

    The noise of a sensor depends on the seed and on its name, not on what else is read.
    """

    def __init__(
        self, name: str, size: int, parameters: DisturbanceParameters, period: float, seed: int
    ) -> None:
        """Prepare the errors.

        Args:
            name: name of the sensor.
            size: how many values it has.
            parameters: how it errs.
            period: time between two calls of `apply` [s].
            seed: seed of the run.

        Raises:
            HardwareError: noise or bias have another size than the sensor.
        """
        self._noise = _values(name, 'noise', parameters.noise, size)
        self._bias = _values(name, 'bias', parameters.bias, size)
        self._ticks = round(parameters.delay / period)
        self._seed = [seed, zlib.crc32(name.encode())]
        self.reset()

    def reset(self) -> None:
        """Start anew: the same noise again, nothing on its way."""
        self._random = np.random.default_rng(self._seed)
        self._under_way: deque[np.ndarray] = deque(maxlen=self._ticks + 1)

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Disturb the true values of a tick; before the delay has passed the oldest arrives."""
        disturbed = values + self._bias
        if self._noise.any():
            disturbed += self._noise * self._random.standard_normal(values.size)
        self._under_way.append(disturbed)
        return self._under_way[0]


def _values(name: str, what: str, given: float | list[float], size: int) -> np.ndarray:
    values = np.asarray(given, dtype=float)
    if values.ndim == 1 and values.size != size:
        raise HardwareError(f'sensors.{name}.{what} has {values.size} values, {name} has {size}')
    return np.broadcast_to(values, (size,))
