"""Enabling switch: a button that must be held while controllers command the robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from cnoid_control.body import Body
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import Joy, Mailbox

# Name under which its messages are recorded.
NAME = 'enable'


@dataclass
class EnableParameters:
    """The `enable` section of a configuration."""

    topic: str = parameter(
        '',
        'topic of the joystick (sensor_msgs/Joy) whose button must be held while controllers '
        'command the robot; where empty nothing must be held',
    )
    button: int = parameter(4, 'number of that button', minimum=0)
    timeout: float = parameter(
        0.5, 'time for which a message counts', unit='s', minimum=0.001, maximum=60.0
    )


class EnablingSwitch:
    """Says in every tick whether the button is held.

    It is not where no message has come within the time-out, or the joystick has no such button.

    Attributes:
        io: holds the mailbox `joy`, which is fed as those of controllers are.
        reason: why the robot is held while the button is not.
        is_held: what the last `check` has found.
    """

    def __init__(
        self,
        parameters: EnableParameters,
        body: Body,
        time_step: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Open the mailbox; the button counts as released.

        Args:
            parameters: the configuration, with a topic.
            body: the robot.
            time_step: period of a tick [s].
            clock: time [s]: steady, or that of a simulation.
        """
        self.io = ControllerIO(NAME, body, time_step)
        self.reason = (
            f'the enabling switch is not held ({parameters.topic}, button {parameters.button})'
        )
        self.is_held = False
        self._mailbox: Mailbox[Joy] = self.io.mailbox('joy', Joy, parameters.topic)
        self._parameters = parameters
        self._clock = clock
        self._valid_until = float('-inf')

    def check(self) -> bool:
        """Look at what has come since the last tick; whether the button is held."""
        message, now = self._mailbox.take_latest(), self._clock()
        if message is not None:
            button = self._parameters.button
            is_down = button < len(message.buttons) and bool(message.buttons[button])
            # A loop that was halted must not take an old message for a new one.
            age = self._mailbox.age if self._clock is monotonic else 0.0
            self._valid_until = now - age + self._parameters.timeout if is_down else float('-inf')
        self.is_held = now <= self._valid_until
        return self.is_held
