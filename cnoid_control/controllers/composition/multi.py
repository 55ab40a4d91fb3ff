"""Several blocks side by side in one controller."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cnoid_control.controllers.composition.base_controller import BaseController, Message, named
from cnoid_control.controllers.composition.controller import (
    ComposedParameters,
    CompositionController,
)
from cnoid_control.controllers.composition.exceptions import composition_cycle, unknown_item
from cnoid_control.controllers.composition.link_commands import WRENCH
from cnoid_control.controllers.composition.stage import make_stage
from cnoid_control.parameters import PluginName, parameter

logger = logging.getLogger(__name__)


class MultiController(BaseController):
    """Runs controllers in order; what one puts out, the ones behind it get as inputs.

    A controller in front of the producer sees what was put out in the tick before. The output is
    what was produced in the tick, or the part of it that `map_my_output` names. Wrenches on the
    same link add up. Of any other item that two controllers command, the joints (elements) that
    the later one leaves at NaN stay with the earlier one.

    Attributes:
        controllers: controllers by name, in their order.
        register: the blackboard: the last value of every item.
    """

    def __init__(
        self, controllers: Mapping[Any, BaseController] | Sequence[BaseController] = ()
    ) -> None:
        """Take the controllers; those of a list are known by number."""
        self.controllers = named(controllers)  # type: ignore[arg-type]
        self.register: Message = {}
        self._inputs: dict[Any, dict[str, str]] = {}
        self._outputs: dict[Any, dict[str, str]] = {}
        self._mine: dict[str, str] = {}

    def launch(self, controller: BaseController, name: Any = None) -> Any:
        """Add a controller at the end, at any time; its name, or its number, is returned."""
        key = len(self.controllers) if name is None else name
        self.controllers[key] = controller
        return key

    def map_input(self, controller: Any, regitem: str, citem: str | None = None) -> None:
        """Give a controller (by name) an item of the register, under a name of its own.

        A controller with mapped inputs gets these, `t` and `dt` only.
        """
        self._check(controller)
        self._inputs.setdefault(controller, {})[citem or regitem] = regitem

    def map_output(self, controller: Any, citem: str, regitem: str | None = None) -> None:
        """Put an output of a controller into the register under another name.

        Of a controller with mapped outputs only these are kept.
        """
        self._check(controller)
        self._outputs.setdefault(controller, {})[citem] = regitem or citem

    def map_my_output(self, regitem: str, outitem: str | None = None) -> None:
        """Put an item of the register out; others are kept inside from then on."""
        self._mine[outitem or regitem] = regitem

    def _check(self, controller: Any) -> None:
        if controller not in self.controllers:
            raise unknown_item(str(controller), [str(key) for key in self.controllers])

    @property
    def finished(self) -> bool:
        """Whether any controller that can finish has done so."""
        return any(controller.finished for controller in self.controllers.values())

    def children(self) -> Mapping[Any, BaseController]:
        """The controllers in their order."""
        return self.controllers

    def links(self) -> list[tuple[Any, str, Any, str]]:
        """Mapped connections, for drawing: producer or None, item, consumer or None, its name."""
        producers = {
            regitem: name for name, items in self._outputs.items() for regitem in items.values()
        }
        found: list[tuple[Any, str, Any, str]] = [
            (producers.get(regitem), regitem, name, citem)
            for name, items in self._inputs.items()
            for citem, regitem in items.items()
        ]
        mine = self._mine.items()
        return found + [(producers.get(item), item, None, out) for out, item in mine]

    def output(self, **inputs: Any) -> Message:
        """What the controllers put out for these inputs."""
        return self._pass(inputs, self.register.copy(), False)

    def advance(self, **inputs: Any) -> None:
        """Advance all controllers and the register."""
        self._pass(inputs, self.register, True)

    def output_and_advance(self, **inputs: Any) -> Message:
        """Output and advance in one pass."""
        return self._pass(inputs, self.register, True)

    def _pass(self, inputs: Message, register: Message, advance: bool) -> Message:
        register.update(inputs)
        produced: Message = {}
        for name, controller in list(self.controllers.items()):
            given = self._given(name, register)
            run = controller.output_and_advance if advance else controller.output
            for item, value in self._kept(name, run(**given) or {}).items():
                joined = merge(produced.get(item), value)
                if item.startswith(WRENCH) and item in produced:
                    joined = np.add(produced[item], value)
                produced[item] = register[item] = joined
        if not self._mine:
            return produced
        for item in self._mine.values():
            if item not in register:
                logger.warning('item %r was asked for and is not in the register', item)
        mapped = self._mine.items()
        return {outitem: register[item] for outitem, item in mapped if item in register}

    def _given(self, name: Any, register: Message) -> Message:
        if name not in self._inputs:
            return register
        given: Message = {key: register[key] for key in ('t', 'dt') if key in register}
        for citem, regitem in self._inputs[name].items():
            if regitem in register:
                given[citem] = register[regitem]
        return given

    def _kept(self, name: Any, result: Message) -> Message:
        if name not in self._outputs:
            return result
        names = self._outputs[name]
        return {names[item]: value for item, value in result.items() if item in names}

    def signal(self, type: str, **inputs: Any) -> None:
        """Pass a signal on to all."""
        if type in ('enter', 'reset'):
            self.register.clear()
        for controller in self.controllers.values():
            controller.signal(type, **inputs)


def merge(earlier: Any, later: Any) -> Any:
    """Later value, with its NaN elements taken from the earlier one of the same shape."""
    if earlier is None or not isinstance(later, np.ndarray):
        return later
    if not isinstance(earlier, np.ndarray) or earlier.shape != later.shape:
        return later
    return np.where(np.isnan(later), earlier, later)


@dataclass
class MultiStage:
    """One of several controllers."""

    controller: PluginName = parameter(
        description='entry point, module:Class or file.py:Class', read_only=True
    )
    options: dict[str, Any] = parameter({}, "the controller's options")
    inputs: dict[str, str] = parameter(
        {}, 'item of the register for each input; the whole register where empty', read_only=True
    )
    outputs: dict[str, str] = parameter(
        {},
        'item of the register for each output; all under their own names where empty',
        read_only=True,
    )
    after: list[str] = parameter(
        [], 'controllers that must run before it in a tick', read_only=True
    )
    joints: list[str] = parameter(
        [], 'joints that it may command; all that it does where empty', read_only=True
    )


@dataclass
class MultiParameters(ComposedParameters):
    """Options of `controller: multi`."""

    stages: dict[str, MultiStage] = parameter({}, 'controllers by name')
    outputs: dict[str, str] = parameter(
        {},
        'item of the register for each output; all that was produced where empty',
        read_only=True,
    )
    delayed: list[str] = parameter(
        [],
        'items that are read as they were in the tick before, which opens a cycle',
        read_only=True,
    )


class ConfiguredMultiController(CompositionController):
    """Runs the configured controllers together, producers of an item before its consumers."""

    Parameters: ClassVar[type | None] = MultiParameters

    @classmethod
    def build(cls, parameters: MultiParameters, folder: Path | None = None) -> BaseController:
        """Make the controllers and put them in order.

        Raises:
            CompositionError: controllers need each other's outputs of the same tick, or one shall
                run after one that does not exist.
        """
        stages = parameters.stages
        multi = MultiController()
        for name in _in_order(stages, set(parameters.delayed)):
            stage = stages[name]
            part = make_stage(name, stage.controller, stage.options, stage.joints, folder)
            multi.launch(part, name)
            for citem, regitem in stage.inputs.items():
                multi.map_input(name, regitem, citem)
            for citem, regitem in stage.outputs.items():
                multi.map_output(name, citem, regitem)
        for outitem, regitem in parameters.outputs.items():
            multi.map_my_output(regitem, outitem)
        return multi

    @staticmethod
    def part_options(parameters: MultiParameters) -> dict[str, Mapping[str, Any]]:
        """Options of the controllers by name."""
        return {name: part.options for name, part in parameters.stages.items()}

    def update_parameters(self, old: MultiParameters, new: MultiParameters) -> None:
        """Use new gains, and pass changed options of the controllers on to them."""
        super().update_parameters(old, new)


def _in_order(stages: dict[str, MultiStage], delayed: set[str]) -> list[str]:
    """Names so that what a stage needs of this tick is there before it; file order else."""
    needs: dict[str, list[str]] = {}
    for name, stage in stages.items():
        for other in stage.after:
            if other not in stages:
                raise unknown_item(other, stages)
        wanted = set(stage.inputs.values()) - delayed
        producers = [
            other
            for other, source in stages.items()
            if other != name and wanted & set(source.outputs.values())
        ]
        if wanted & set(stage.outputs.values()):
            raise composition_cycle([name, name])
        needs[name] = [*stage.after, *producers]
    order: list[str] = []

    def place(name: str, waiting: list[str]) -> None:
        if name in waiting:
            raise composition_cycle([*waiting[waiting.index(name) :], name])
        if name not in order:
            for other in needs[name]:
                place(other, [*waiting, name])
            order.append(name)

    for name in stages:
        place(name, [])
    return order
