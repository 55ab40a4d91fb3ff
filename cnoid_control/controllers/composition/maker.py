"""Controllers that a function or a class makes, with its arguments as options."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from cnoid_control.body import Body
from cnoid_control.controllers.composition.base_controller import BaseController
from cnoid_control.exceptions import describe
from cnoid_control.parameters import parse_parameters
from cnoid_control.plugin.exceptions import ControllerLoadError
from cnoid_control.plugin.simple_controller import SimpleController

NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

Field = tuple[str, Any, Any]


class Maker:
    """Makes a controller: a function `make(robot, ...)`, or a class derived from BaseController.

    The arguments behind the robot, which a class may do without, are options: an annotation is
    the type of the option, a default makes it one that may be left out. A class with a dataclass
    `Parameters` has the options of that, and is made from an instance of it.

    Attributes:
        name: how it was named, for messages.
        found: the function or class.
        fields: its options as fields of a dataclass: name, type, field.
    """

    def __init__(self, name: str, found: Any) -> None:
        """Look at the arguments.

        Raises:
            ControllerLoadError: it makes no controllers, or its arguments cannot be options.
        """
        self.name = name
        self.found: Callable[..., Any] = found
        self.is_class = isinstance(found, type)
        if self.is_class and not issubclass(found, BaseController):
            raise ControllerLoadError(
                f'{name!r} is {found!r}, which is not a class derived from SimpleController or '
                'BaseController'
            )
        if not callable(found):
            raise ControllerLoadError(
                f'{name!r} is {found!r}, which is neither a controller class nor a function that '
                'makes a controller'
            )
        schema = getattr(found, 'Parameters', None) if self.is_class else None
        self._schema: type | None = schema
        # Whether a part of a composition may have options beside the named ones (**options).
        self._is_open = False
        self._takes_robot = not self.is_class
        if schema is not None:
            hints = typing.get_type_hints(schema)
            self.fields: list[Field] = [
                (field.name, hints[field.name], _like(field))
                for field in dataclasses.fields(schema)
            ]
        else:
            self.fields = self._arguments()
        self._options = dataclasses.make_dataclass('Options', self.fields, kw_only=True)

    def _arguments(self) -> list[Field]:
        try:
            parameters = list(inspect.signature(self.found).parameters.values())
        except (TypeError, ValueError) as error:
            raise ControllerLoadError(f'{self.name!r}: {error}') from error
        if not self.is_class:
            if not parameters or parameters[0].kind is inspect.Parameter.KEYWORD_ONLY:
                raise ControllerLoadError(
                    f'{self.name!r} is a function without arguments; it must take the robot: '
                    'control(robot, t) or make(robot, ...)'
                )
            if parameters[0].kind is not inspect.Parameter.VAR_POSITIONAL:
                parameters = parameters[1:]
        elif parameters and parameters[0].name == 'robot':
            # A class as it is written for Klamp't, used without the function around it.
            self._takes_robot = True
            parameters = parameters[1:]
        hints = _hints(self.found.__init__ if self.is_class else self.found)  # type: ignore[misc]
        fields: list[Field] = []
        for one in parameters:
            if one.kind in OPEN:
                self._is_open |= one.kind is inspect.Parameter.VAR_KEYWORD
                continue
            if one.kind not in NAMED:
                raise ControllerLoadError(
                    f'{self.name!r}: argument {one.name!r} is positional only, and options are '
                    'given by name'
                )
            if one.default is inspect.Parameter.empty:
                default = dataclasses.field()
            else:
                default = dataclasses.field(default_factory=partial(_same, one.default))
            fields.append((one.name, hints.get(one.name, Any), default))
        return fields

    def parse(self, options: Mapping[str, Any], prefix: str, folder: Path | None = None) -> Any:
        """Options checked, for `make`.

        Raises:
            ParameterError: one is unknown, missing, of the wrong type or out of range.
        """
        known = {name for name, _, _ in self.fields}
        others = {key: value for key, value in options.items() if key not in known}
        if not self._is_open:
            return parse_parameters(self._options, options, prefix, folder)
        named = {key: value for key, value in options.items() if key in known}
        parsed: Any = parse_parameters(self._options, named, prefix, folder)
        parsed.others = others
        return parsed

    def make(self, robot: Body | None, options: Any) -> BaseController | SimpleController:
        """Make the controller.

        Args:
            robot: the robot's model, for a function, and for a class whose first argument is
                called `robot`.
            options: what has the options as attributes.

        Raises:
            ControllerLoadError: it raised, or made something else.
        """
        values = {name: getattr(options, name) for name, _, _ in self.fields}
        values |= getattr(options, 'others', {})
        try:
            if self._schema is not None:
                made = self.found(self._schema(**values))
            elif self._takes_robot:
                made = self.found(robot, **values)
            else:
                made = self.found(**values)
        except Exception as error:
            raise ControllerLoadError(f'{self.name!r} raised {describe(error)}') from error
        if not isinstance(made, (BaseController, SimpleController)):
            raise ControllerLoadError(
                f'{self.name!r} returned {made!r}; it must return a BaseController or a '
                'SimpleController, or be a function of robot and time: control(robot, t)'
            )
        return made

    def make_block(self, options: Any) -> BaseController:
        """Make a block of a class, which needs no robot for that.

        Raises:
            ControllerLoadError: it raised, or wants the robot.
        """
        if self._takes_robot:
            raise ControllerLoadError(
                f'{self.name!r} takes the robot; parts of a composition are made without it: '
                'name a function make(robot, ...) that returns one'
            )
        made = self.make(None, options)
        assert isinstance(made, BaseController)  # The class is derived from it.
        return made


def _same(value: Any) -> Any:
    return value


def _like(field: dataclasses.Field[Any]) -> Any:
    """Another field with the same default and description."""
    given: dict[str, Any] = {'metadata': field.metadata}
    if field.default is not dataclasses.MISSING:
        given['default'] = field.default
    if field.default_factory is not dataclasses.MISSING:
        given['default_factory'] = field.default_factory
    return dataclasses.field(**given)


def _hints(function: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:
        # An annotation that is for readers alone must not cost the controller.
        return {}
