"""Blocks and functions that make controllers, as the controller of a robot."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from cnoid_control.controllers.composition.base_controller import BaseController
from cnoid_control.controllers.composition.controller import (
    ComposedParameters,
    CompositionController,
)
from cnoid_control.controllers.composition.function_controller import (
    function_controller,
    is_control_function,
)
from cnoid_control.controllers.composition.maker import Maker
from cnoid_control.parameters import ParameterError
from cnoid_control.plugin import ControllerConfig, ControllerIO, SimpleController
from cnoid_control.plugin.options import check_options

DRIVE_OPTIONS = tuple(field.name for field in dataclasses.fields(ComposedParameters))


class MadeController(SimpleController):
    """Runs what a function `make(robot, ...)` returns, or a block, as `klampt_sim` does.

    Its options are the arguments of the function or of the block's class. Where a BaseController
    is made, it has those of a composition too (`joints`, `actuators`, `kp`, `ki`, `kd`,
    `sensors`, `read_root`): they say what its messages mean to the actuators.

    Attributes:
        made: what was made, from configure() on; a BaseController or a SimpleController.
    """

    Parameters: ClassVar[type | None] = ComposedParameters
    maker: ClassVar[Maker]

    def configure(self, config: ControllerConfig) -> bool:
        """Make the controller, with a model of the robot of its own.

        Raises:
            ControllerLoadError: the function raised, or returned something else.
            ParameterError: an option is for what a BaseController commands, and none was made.
        """
        self.made = self.maker.make(config.body.clone(), config.parameters)
        if isinstance(self.made, BaseController):
            self._inner: SimpleController = CompositionController(self.made)
        else:
            self._refuse_drive_options(config.parameters, ComposedParameters())
            self._inner = self.made
        return self._inner.configure(self._for_inner(config))

    def _for_inner(self, config: ControllerConfig) -> Any:
        """The same door, but with the options of a SimpleController that was made."""
        if not isinstance(self.made, BaseController):
            # What it needs it has from the function: here are its defaults.
            config.parameters = check_options(config.controller_name, type(self.made), {})
        return config

    def _refuse_drive_options(self, given: Any, other: Any) -> None:
        own = {name for name, _, _ in self.maker.fields}
        for name in DRIVE_OPTIONS:
            if name not in own and getattr(given, name) != getattr(other, name):
                raise ParameterError(
                    name,
                    f'{self.maker.name!r} returned a {type(self.made).__name__}, which commands '
                    'the joints itself and has no such option',
                )

    def initialize(self, io: ControllerIO) -> bool:
        """Enable what it needs."""
        return self._inner.initialize(self._for_inner(io))

    def start(self) -> bool:
        """Begin the run."""
        return self._inner.start()

    def control(self) -> bool:
        """One tick."""
        return self._inner.control()

    def stop(self) -> None:
        """End the run."""
        self._inner.stop()

    def pause(self) -> None:
        """The loop has halted."""
        self._inner.pause()

    def resume(self) -> bool:
        """The loop goes on."""
        return self._inner.resume()

    def unconfigure(self) -> None:
        """Undo configure."""
        self._inner.unconfigure()

    def report(self) -> dict[str, Any]:
        """What it has to say of itself."""
        return self._inner.report()

    def update_parameters(self, old: Any, new: Any) -> None:
        """Use new gains; the arguments of the function stay.

        Raises:
            ParameterError: an option cannot change while running.
        """
        if isinstance(self.made, BaseController):
            self._inner.update_parameters(old, new)
        else:
            self._refuse_drive_options(new, old)


def made_controller(name: str, found: Any) -> type[SimpleController]:
    """Controller class around a function or a block.

    Args:
        name: how it was named, for messages.
        found: a function `control(robot, t, ...)` that is called once per tick, a function
            `make(robot, ...)`, or a class derived from BaseController.

    Raises:
        ControllerLoadError: it makes no controllers, or its arguments cannot be options.
    """
    if is_control_function(found):
        return function_controller(name, found)
    maker = Maker(name, found)
    own = [field for field in maker.fields if field[0] not in DRIVE_OPTIONS]
    schema = dataclasses.make_dataclass(
        'Parameters', own, bases=(ComposedParameters,), kw_only=True
    )
    return type(
        getattr(found, '__name__', type(found).__name__),
        (MadeController,),
        {'maker': maker, 'Parameters': schema, '__doc__': found.__doc__},
    )
