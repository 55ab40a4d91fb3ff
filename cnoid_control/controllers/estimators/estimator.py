"""Estimators as blocks: base class, true state, encoders."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.controllers.composition.base_controller import BaseController, Message
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO


class EstimatorError(CnoidControlError):
    """A robot that lacks what an estimator needs."""

    def __init__(self, name: str, reason: str) -> None:
        """Name the robot or the sensor and what is missing."""
        super().__init__(f'{name}: {reason}')


StateT = TypeVar('StateT')


class Estimator(BaseController, abc.ABC, Generic[StateT]):
    """A block that finds out about the robot's state, to be put in front of a controller.

    Subclasses say in `estimate` what follows from the last state and the inputs; it must not
    change anything, so that `output` has no side effects.

    Attributes:
        state: what is known after the last tick; None before the first.
    """

    def __init__(self) -> None:
        """Know nothing."""
        self.state: StateT | None = None

    @abc.abstractmethod
    def estimate(self, state: StateT | None, inputs: Message) -> tuple[StateT, Message]:
        """New state, and what to put out, from the last state and the inputs of a tick."""

    def output(self, **inputs: Any) -> Message:
        """Estimate of this tick."""
        return self.estimate(self.state, inputs)[1]

    def advance(self, **inputs: Any) -> None:
        """Keep the estimate of this tick for the next one."""
        self.state = self.estimate(self.state, inputs)[0]

    def output_and_advance(self, **inputs: Any) -> Message:
        """Estimate and keep it, with the work done once."""
        self.state, result = self.estimate(self.state, inputs)
        return result

    def signal(self, type: str, **inputs: Any) -> None:
        """Forget everything on 'reset'."""
        if type == 'reset':
            self.state = None


class TrueStateEstimator(BaseController):
    """Puts out the joints' state and the root's pose and motion as the hardware has them.

    Only a simulation has these of a floating root; there it is what estimators are held against.
    """

    def attach(self, io: ControllerIO) -> None:
        """Read joints and root."""
        self._io = io
        for joint in io.body.joints:
            if joint.name:
                io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        io.enable_input(io.body.root_link, StateFlag.LINK_POSITION | StateFlag.LINK_TWIST)

    def output(self, **inputs: object) -> Message:
        """The state."""
        body, root = self._io.body, self._io.body.root_link
        return {
            'q': body.q.copy(),
            'dq': body.dq.copy(),
            'root_p': root.p.copy(),
            'root_R': root.R.copy(),
            'root_v': root.v.copy(),
            'root_w': root.w.copy(),
        }


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
