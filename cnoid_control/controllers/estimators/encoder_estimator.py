"""Joint velocities from joint positions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from cnoid_control.controllers.composition.base_controller import Message
from cnoid_control.controllers.estimators.estimator import Estimator
from cnoid_control.parameters import parameter


@dataclass
class EncoderParameters:
    """Options of the encoder estimator."""

    cutoff: float = parameter(
        50.0, 'cut-off frequency of the low-pass filter; 0 for none', unit='Hz', minimum=0.0
    )
    wrap: bool = parameter(
        False, 'whether positions jump by full turns, as encoders of spinning joints do'
    )


class EncoderState(NamedTuple):
    """Position, and what is in the two stages of the filter, shape (2, n)."""

    q: np.ndarray
    dq: np.ndarray


class EncoderEstimator(Estimator[EncoderState]):
    """Velocity `dq` by differences of `q`, with a second-order low-pass behind it.

    The first sample gives 0. The filter is two equal first-order ones, exact for a constant input
    over a period.
    """

    Parameters: ClassVar[type] = EncoderParameters

    def __init__(self, parameters: EncoderParameters | None = None) -> None:
        """Take the options."""
        super().__init__()
        self.parameters = parameters or EncoderParameters()

    def estimate(
        self, state: EncoderState | None, inputs: Message
    ) -> tuple[EncoderState, Message]:
        """Difference and filter."""
        q = np.asarray(inputs['q'], dtype=float)
        if state is None:
            # Both stages of the filter, one row each.
            fresh = EncoderState(q.copy(), np.zeros((2, q.size)))
            return fresh, {'dq': np.zeros(q.size)}
        change = q - state.q
        if self.parameters.wrap:
            change = np.mod(change + math.pi, 2.0 * math.pi) - math.pi
        raw = change / inputs['dt']
        share = 1.0
        if self.parameters.cutoff > 0.0:
            share = -math.expm1(-2.0 * math.pi * self.parameters.cutoff * inputs['dt'])
        first = state.dq[0] + share * (raw - state.dq[0])
        second = state.dq[1] + share * (first - state.dq[1])
        return EncoderState(q.copy(), np.array([first, second])), {'dq': second}
