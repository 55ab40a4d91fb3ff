"""A controller that is made once the robot is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cnoid_control.controllers.composition.base_controller import BaseController, Message
from cnoid_control.controllers.composition.exceptions import StageRefused
from cnoid_control.plugin import ControllerIO


class MadeController(BaseController):
    """What a function `make(robot, ...)` returns, as Klamp't's controller files have it.

    Attributes:
        controller: the controller; a block that does nothing before `attach`.
    """

    def __init__(self, name: str, make: Callable[..., Any], options: Mapping[str, Any]) -> None:
        """Take the function and its options; it is called with the robot's body in `attach`."""
        self.name = name
        self.controller = BaseController()
        self._make = make
        self._options = dict(options)

    def attach(self, io: ControllerIO) -> None:
        """Make the controller.

        Raises:
            StageRefused: the function returned something else.
        """
        made = self._make(io.body.clone(), **self._options)
        if not isinstance(made, BaseController):
            raise StageRefused(
                self.name, f'{self._make.__name__} made {made!r}, no BaseController'
            )
        self.controller = made
        self.controller.attach(io)

    def children(self) -> Mapping[Any, BaseController]:
        """The controller that was made."""
        return {} if type(self.controller) is BaseController else {'made': self.controller}

    def describe(self) -> str:
        """Name of the function."""
        return f'{self._make.__name__}()'

    @property
    def finished(self) -> bool:
        """Whether the controller is."""
        return self.controller.finished

    def output(self, **inputs: Any) -> Message | None:
        """Output of the controller."""
        return self.controller.output(**inputs)

    def advance(self, **inputs: Any) -> None:
        """Advance the controller."""
        self.controller.advance(**inputs)

    def output_and_advance(self, **inputs: Any) -> Message | None:
        """Output and advance the controller."""
        return self.controller.output_and_advance(**inputs)

    def signal(self, type: str, **inputs: Any) -> None:
        """Pass a signal on."""
        self.controller.signal(type, **inputs)
