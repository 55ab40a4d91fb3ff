"""A joystick for controllers: messages, or a script."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from cnoid_control.parameters import ParameterError, parameter
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import Joy

SOURCES = ('messages', 'script')
# Button that must be held while a robot is moved by hand: left, on the shoulder of most gamepads.
ENABLE_BUTTON = 4


@dataclass
class ScriptStage:
    """Sticks and buttons from a time on, until the next stage of the script."""

    at: float = parameter(0.0, 'when it begins', unit='s', minimum=0.0, read_only=True)
    axes: list[float] = parameter(
        [], 'positions of the sticks', minimum=-1.0, maximum=1.0, read_only=True
    )
    buttons: list[int] = parameter([], 'numbers of the pressed buttons', minimum=0, read_only=True)


@dataclass
class JoystickParameters:
    """Where the positions of a joystick come from.

    The sticks are counted as the ROS package joy has it for most gamepads: axis 0 is the left
    stick to the left, 1 the left stick up, 3 the right stick to the left, 4 the right stick up.
    """

    source: str = parameter(
        'messages',
        'messages: the topic; script: the stages below, until a message comes',
        choices=SOURCES,
        read_only=True,
    )
    topic: str = parameter('joy', 'ROS topic of the messages (sensor_msgs/Joy)', read_only=True)
    timeout: float = parameter(
        0.5, 'time for which a message counts', unit='s', minimum=0.0, read_only=True
    )
    dead_zone: float = parameter(
        0.15,
        'position below which a stick counts as released',
        minimum=0.0,
        maximum=0.99,
        read_only=True,
    )
    script: dict[str, ScriptStage] = parameter(
        {},
        'stages of the source script, by name; on a real robot only where '
        'hardware.ros2_control.allow_scripts is true',
        read_only=True,
    )


@dataclass
class SticksAndButtons:
    """Positions of all sticks and buttons at one time; what does not exist is at rest."""

    axes: np.ndarray = field(default_factory=lambda: np.zeros(0))
    buttons: frozenset[int] = frozenset()


RELEASED = SticksAndButtons()


class Script:
    """Stages one after the other."""

    def __init__(self, stages: dict[str, ScriptStage], key: str) -> None:
        """Order the stages.

        Raises:
            ParameterError: there is none, or two begin at the same time.
        """
        if not stages:
            raise ParameterError(key, 'a script needs at least one stage')
        names = sorted(stages, key=lambda name: stages[name].at)
        for name, other in pairwise(names):
            if stages[name].at == stages[other].at:
                raise ParameterError(
                    f'{key}.{other}.at', f'{stages[name].at} s is when {name!r} begins already'
                )
        self._stages = [
            (
                stages[name].at,
                SticksAndButtons(np.array(stages[name].axes), frozenset(stages[name].buttons)),
            )
            for name in names
        ]

    def read(self, time: float) -> SticksAndButtons:
        """Sticks and buttons of the last stage that has begun."""
        # A tick that begins a rounding error before the stage belongs to it.
        begun = [state for at, state in self._stages if at <= time + 1e-9]
        return begun[-1] if begun else RELEASED


def allows_script(io: ControllerIO, key: str) -> bool:
    """Whether a script may move the robot; where not, it is said.

    Args:
        io: the controller's io.
        key: key of the script.
    """
    if not io.allows_scripts:
        print(
            f'warning: {io.controller_name}.{key} does not count: it would set a robot off by '
            'itself; for a simulated one, and where it is wanted, '
            'hardware.ros2_control.allow_scripts: true (scripts:=true of the launch files)',
            file=io.os,
        )
    return io.allows_scripts


class Joystick:
    """Sticks and buttons, refreshed once a tick.

    A message that comes through the mailbox `joy` takes over from the script for good; sticks and
    buttons are released when no message has come for the time-out.

    Attributes:
        state: how sticks and buttons stand in this tick.
        has_come: whether there ever was a message.
    """

    def __init__(self, io: ControllerIO, parameters: JoystickParameters, key: str) -> None:
        """Open the mailbox, and read the script.

        Args:
            io: the controller's io, in initialize().
            parameters: options.
            key: key of the options, for messages.

        Raises:
            ParameterError: the script cannot be used; the message says why.
        """
        self._parameters = parameters
        self._messages = io.mailbox('joy', Joy, parameters.topic)
        self._valid_until = float('-inf')
        is_script = parameters.source == 'script'
        self._script = Script(parameters.script, f'{key}.script') if is_script else None
        if self._script is not None and not allows_script(io, f'{key}.script'):
            self._script = None
        self._before: frozenset[int] = frozenset()
        self.has_come = False
        self.state = RELEASED

    def read(self, time: float) -> None:
        """Refresh sticks and buttons; called once at the start of a tick.

        Args:
            time: time of the run [s].
        """
        self._before = self.state.buttons
        message = self._messages.take_latest()
        if message is not None:
            self.has_come = True
            pressed = frozenset(i for i, button in enumerate(message.buttons) if button)
            self.state = SticksAndButtons(np.clip(message.axes, -1.0, 1.0), pressed)
            self._valid_until = time + self._parameters.timeout
        elif time > self._valid_until:
            by_script = self._script is not None and not self.has_come
            self.state = self._script.read(time) if by_script and self._script else RELEASED

    def axis(self, index: int) -> float:
        """Position of a stick in [-1, 1]; 0 in the dead zone and for a stick that is not there."""
        position = float(self.state.axes[index]) if 0 <= index < len(self.state.axes) else 0.0
        return position if abs(position) >= self._parameters.dead_zone else 0.0

    def is_down(self, button: int) -> bool:
        """Whether a button is held."""
        return button in self.state.buttons

    def was_pressed(self, button: int) -> bool:
        """Whether a button went down in this tick."""
        return button in self.state.buttons and button not in self._before
