"""Controllers side by side, from a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cnoid_control.controllers.composition.base_controller import BaseController
from cnoid_control.controllers.composition.composed_controller import (
    ComposedController,
    ComposedParameters,
)
from cnoid_control.controllers.composition.exceptions import CompositionCycle, UnknownItem
from cnoid_control.controllers.composition.multi_controller import MultiController
from cnoid_control.controllers.composition.stage_factory import make_stage
from cnoid_control.parameters import parameter


@dataclass
class MultiStage:
    """One of several controllers."""

    controller: str = parameter(description='entry point, module:Class or file.py:Class')
    options: dict[str, Any] = parameter({}, "the controller's options")
    inputs: dict[str, str] = parameter(
        {}, 'item of the register for each input; the whole register where empty'
    )
    outputs: dict[str, str] = parameter(
        {}, 'item of the register for each output; all under their own names where empty'
    )
    after: list[str] = parameter([], 'controllers that must run before it in a tick')
    joints: list[str] = parameter([], 'joints that it may command; all that it does where empty')


@dataclass
class MultiParameters(ComposedParameters):
    """Options of `controller: multi`."""

    stages: dict[str, MultiStage] = parameter({}, 'controllers by name')
    outputs: dict[str, str] = parameter(
        {}, 'item of the register for each output; all that was produced where empty'
    )
    delayed: list[str] = parameter(
        [], 'items that are read as they were in the tick before, which opens a cycle'
    )


class ConfiguredMultiController(ComposedController):
    """Runs the configured controllers together, producers of an item before its consumers."""

    Parameters: ClassVar[type | None] = MultiParameters

    @classmethod
    def build(cls, parameters: MultiParameters) -> BaseController:
        """Make the controllers and put them in order.

        Raises:
            CompositionCycle: controllers need each other's outputs of the same tick.
            UnknownItem: a controller shall run after one that does not exist.
        """
        stages = parameters.stages
        multi = MultiController()
        for name in _in_order(stages, set(parameters.delayed)):
            stage = stages[name]
            multi.launch(make_stage(name, stage.controller, stage.options, stage.joints), name)
            for citem, regitem in stage.inputs.items():
                multi.map_input(name, regitem, citem)
            for citem, regitem in stage.outputs.items():
                multi.map_output(name, citem, regitem)
        for outitem, regitem in parameters.outputs.items():
            multi.map_my_output(regitem, outitem)
        return multi


def _in_order(stages: dict[str, MultiStage], delayed: set[str]) -> list[str]:
    """Names so that what a stage needs of this tick is there before it; file order else."""
    needs: dict[str, list[str]] = {}
    for name, stage in stages.items():
        for other in stage.after:
            if other not in stages:
                raise UnknownItem(other, stages)
        wanted = set(stage.inputs.values()) - delayed
        producers = [
            other
            for other, source in stages.items()
            if other != name and wanted & set(source.outputs.values())
        ]
        if wanted & set(stage.outputs.values()):
            raise CompositionCycle([name, name])
        needs[name] = [*stage.after, *producers]
    order: list[str] = []

    def place(name: str, waiting: list[str]) -> None:
        if name in waiting:
            raise CompositionCycle([*waiting[waiting.index(name) :], name])
        if name not in order:
            for other in needs[name]:
                place(other, [*waiting, name])
            order.append(name)

    for name in stages:
        place(name, [])
    return order
