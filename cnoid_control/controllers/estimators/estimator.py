"""What all state estimators have in common."""

from __future__ import annotations

import abc
from typing import Any, Generic, TypeVar

from cnoid_control.controllers.composition.base_controller import BaseController, Message

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
