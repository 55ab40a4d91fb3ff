"""Controllers side by side, over a blackboard."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cnoid_control.controllers.composition.base_controller import BaseController, Message, named
from cnoid_control.controllers.composition.exceptions import UnknownItem

logger = logging.getLogger(__name__)


class MultiController(BaseController):
    """Runs controllers in order; what one puts out, the ones behind it get as inputs.

    A controller in front of the producer sees what was put out in the tick before. The output is
    what was produced in the tick, or the part of it that `map_my_output` names. Where two
    controllers command the same item, the joints (elements) that the later one leaves at NaN
    stay with the earlier one.

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
            raise UnknownItem(str(controller), [str(key) for key in self.controllers])

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
                produced[item] = register[item] = merge(produced.get(item), value)
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
