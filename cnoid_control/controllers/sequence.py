"""Controllers one after the other, from a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cnoid_control.controllers.composition.base_controller import BaseController
from cnoid_control.controllers.composition.composed_controller import (
    ComposedController,
    ComposedParameters,
)
from cnoid_control.controllers.composition.stage_factory import make_stage
from cnoid_control.controllers.composition.timed_controller_sequence import (
    TimedControllerSequence,
)
from cnoid_control.parameters import parameter


@dataclass
class SequenceStage:
    """One controller of a sequence."""

    controller: str = parameter(description='entry point, module:Class or file.py:Class')
    until: float = parameter(
        description='when it ends, from the start of the sequence', unit='s', minimum=0.0
    )
    options: dict[str, Any] = parameter({}, "the controller's options")


@dataclass
class SequenceParameters(ComposedParameters):
    """Options of `controller: sequence`."""

    stages: dict[str, SequenceStage] = parameter({}, 'controllers by name, in order of `until`')


class SequenceController(ComposedController):
    """Runs the configured controllers one after the other, each until its time."""

    Parameters: ClassVar[type | None] = SequenceParameters

    @classmethod
    def build(cls, parameters: SequenceParameters) -> BaseController:
        """Make the sequence."""
        stages = sorted(parameters.stages.items(), key=lambda item: item[1].until)
        controllers = {
            name: make_stage(name, stage.controller, stage.options) for name, stage in stages
        }
        times = [stage.until for _, stage in stages]
        return TimedControllerSequence(controllers, times, relative=True)
