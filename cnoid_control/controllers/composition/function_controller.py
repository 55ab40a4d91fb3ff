"""A plain function `control(robot, t)` as the controller of a robot."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.controllers.composition.maker import Maker
from cnoid_control.controllers.sensor_reading import chosen_devices
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO, SimpleController
from cnoid_control.plugin.exceptions import ControllerLoadError

# What the second argument of such a function is called.
TIMES = ('t', 'time')
MODES = {
    'effort': (StateFlag.JOINT_EFFORT, 'u'),
    'position': (StateFlag.JOINT_DISPLACEMENT, 'q_target'),
    'velocity': (StateFlag.JOINT_VELOCITY, 'dq_target'),
}
ROOT_STATE = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST


@dataclass
class FunctionParameters:
    """What a function commands and reads."""

    command: str = parameter(
        'effort', 'what it commands of every joint', choices=tuple(MODES), read_only=True
    )
    read_root: bool = parameter(
        True, 'whether it reads pose and motion of a floating base', read_only=True
    )
    sensors: list[str] = parameter(
        [], "devices that it reads; 'all' for every one", read_only=True
    )


class FunctionController(SimpleController):
    """Calls a function once per tick, which commands all joints.

    The function reads the robot's state (`robot.q`, `robot.dq`, `robot.root_link`) and returns
    one command per joint, in joint-id order, or writes it itself (`robot.u[:] = ...`,
    `robot.q_target`, `robot.dq_target`). It returns False when there is nothing more to do.
    Further arguments of it are options.
    """

    Parameters: ClassVar[type | None] = FunctionParameters
    function: ClassVar[Callable[..., Any]]
    options: ClassVar[tuple[str, ...]] = ()

    def initialize(self, io: ControllerIO) -> bool:
        """Command all joints; read joints, and the root and devices where they are asked for."""
        given = io.parameters
        self.io, self.body = io, io.body
        mode, array = MODES[given.command]
        for joint in self.body.joints:
            joint.actuation_mode = mode
            io.enable_io(joint)
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
        if given.read_root and not self.body.is_fixed_root:
            io.enable_input(self.body.root_link, ROOT_STATE)
        for device in chosen_devices(self.body, given.sensors):
            io.enable_input(device)
        self._command = getattr(self.body, array)
        self._name = type(self).__name__
        self._use(given)
        return True

    def _use(self, given: Any) -> None:
        self._values = {name: getattr(given, name) for name in self.options}

    def update_parameters(self, old: Any, new: Any) -> None:
        """Call the function with other values of its arguments."""
        self._use(new)

    def control(self) -> bool:
        """Call the function.

        Raises:
            CnoidControlError: it returned something that is no command.
        """
        result = type(self).function(self.body, self.io.current_time, **self._values)
        if result is None or result is True:
            return True
        if result is False:
            return False
        try:
            command = np.asarray(result, dtype=float)
        except (TypeError, ValueError):
            command = np.zeros(0)
        if command.shape != self._command.shape:
            raise CnoidControlError(
                f'{self._name}() returned {result!r}; expected None, True, False, or one '
                f'{self.io.parameters.command} per joint: {self._command.size} values'
            )
        self._command[:] = command
        return True


def is_control_function(found: Any) -> bool:
    """Whether it is a function of robot and time: its second argument is `t` or `time`."""
    if isinstance(found, type) or not callable(found):
        return False
    try:
        parameters = list(inspect.signature(found).parameters.values())
    except (TypeError, ValueError):
        return False
    return (
        len(parameters) > 1
        and parameters[1].name in TIMES
        and parameters[1].default is inspect.Parameter.empty
    )


def function_controller(name: str, found: Callable[..., Any]) -> type[SimpleController]:
    """Controller class around a function `control(robot, t, ...)`.

    Args:
        name: how it was named, for messages.
        found: the function.

    Raises:
        ControllerLoadError: its arguments cannot be options.
    """

    @functools.wraps(found)
    def without_time(robot: Any, **values: Any) -> Any:
        """Take the same arguments without the time."""

    signature = inspect.signature(found)
    arguments = list(signature.parameters.values())
    without_time.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[arguments[0], *arguments[2:]]
    )
    fields = Maker(name, without_time).fields
    own = [field.name for field in dataclasses.fields(FunctionParameters)]
    for option, _, _ in fields:
        if option in own:
            raise ControllerLoadError(
                f'{name!r}: argument {option!r} has the name of an option of every function: '
                f'{", ".join(own)}'
            )
    schema = dataclasses.make_dataclass(
        'Parameters', fields, bases=(FunctionParameters,), kw_only=True
    )
    return type(
        getattr(found, '__name__', type(found).__name__),
        (FunctionController,),
        {
            'function': staticmethod(found),
            'options': tuple(option for option, _, _ in fields),
            'Parameters': schema,
            # It speaks for the options of this class too.
            'update_parameters': FunctionController.update_parameters,
            '__doc__': found.__doc__,
        },
    )
