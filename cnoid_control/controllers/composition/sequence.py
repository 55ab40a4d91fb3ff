"""Blocks one after another, each for a set time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from cnoid_control.controllers.composition.base_controller import BaseController
from cnoid_control.controllers.composition.controller import (
    ComposedParameters,
    CompositionController,
)
from cnoid_control.controllers.composition.exceptions import CompositionError
from cnoid_control.controllers.composition.stage import make_stage
from cnoid_control.controllers.composition.state_machine import FINISHED, StateMachineController
from cnoid_control.parameters import PluginName, parameter


class TimedControllerSequence(StateMachineController):
    """Runs each controller until its time, then the next one; finished after the last.

    Attributes:
        times: time until which each controller runs [s], increasing.
    """

    def __init__(
        self,
        controllers: Mapping[Any, BaseController] | Sequence[BaseController],
        times: Sequence[float],
        relative: bool = False,
    ) -> None:
        """Begin with the first controller.

        Args:
            controllers: controllers in their order.
            times: when each one ends [s].
            relative: whether times count from when the sequence is entered; they are the input
                `t` otherwise.

        Raises:
            CompositionError: there is not one time a controller, or they do not increase.
        """
        count = len(controllers)
        increasing = all(a < b for a, b in itertools.pairwise(times))
        if len(times) != count or not increasing or not count:
            raise CompositionError(
                f'{count} controllers need {count} increasing times, got {list(times)}'
            )
        keys = list(controllers) if isinstance(controllers, Mapping) else list(range(count))
        super().__init__(controllers, keys[0])
        self.times = [float(time) for time in times]
        self._order = keys
        self._relative = relative
        self._begin: float | None = None

    def next_state(self, current: Any, **inputs: Any) -> Any:
        """The next controller once the time has come."""
        now = inputs['t']
        if self._relative:
            if self._begin is None:
                self._begin = now
            # The period that has just been commanded is over when the next tick begins.
            now = now - self._begin + inputs.get('dt', 0.0)
        place = self._order.index(current)
        if now < self.times[place] - 1e-9:
            return current
        return self._order[place + 1] if place + 1 < len(self._order) else FINISHED

    def transitions(self) -> list[tuple[Any, Any, str]]:
        """From, to and when of all transitions."""
        targets = [*self._order[1:], FINISHED]
        return [
            (state, target, f't >= {time:g} s')
            for state, target, time in zip(self._order, targets, self.times, strict=True)
        ]

    def signal(self, type: str, **inputs: Any) -> None:
        """Count relative times anew when the sequence is entered."""
        if type in ('enter', 'reset'):
            self._begin = inputs.get('t')
        super().signal(type, **inputs)


@dataclass
class SequenceStage:
    """One controller of a sequence."""

    controller: PluginName = parameter(
        description='entry point, module:Class or file.py:Class', read_only=True
    )
    until: float = parameter(
        description='when it ends, from the start of the sequence',
        unit='s',
        minimum=0.0,
        read_only=True,
    )
    options: dict[str, Any] = parameter({}, "the controller's options")


@dataclass
class SequenceParameters(ComposedParameters):
    """Options of `controller: sequence`."""

    stages: dict[str, SequenceStage] = parameter({}, 'controllers by name, in order of `until`')


class SequenceController(CompositionController):
    """Runs the configured controllers one after the other, each until its time."""

    Parameters: ClassVar[type | None] = SequenceParameters

    @classmethod
    def build(cls, parameters: SequenceParameters, folder: Path | None = None) -> BaseController:
        """Make the sequence."""
        stages = sorted(parameters.stages.items(), key=lambda item: item[1].until)
        controllers = {
            name: make_stage(name, stage.controller, stage.options, folder=folder)
            for name, stage in stages
        }
        times = [stage.until for _, stage in stages]
        return TimedControllerSequence(controllers, times, relative=True)

    @staticmethod
    def part_options(parameters: SequenceParameters) -> dict[str, Mapping[str, Any]]:
        """Options of the controllers by name."""
        return {name: part.options for name, part in parameters.stages.items()}

    def update_parameters(self, old: SequenceParameters, new: SequenceParameters) -> None:
        """Use new gains, and pass changed options of the controllers on to them."""
        super().update_parameters(old, new)
