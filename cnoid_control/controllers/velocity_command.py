"""Velocity commands: from twists, a joystick or a script, within ranges, and not when old."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cnoid_control.controllers.joystick import (
    ENABLE_BUTTON,
    RELEASED,
    Joystick,
    JoystickParameters,
    allows_script,
)
from cnoid_control.parameters import not_allowed, parameter
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import Twist

# Velocities at full stick where no range says them: vx, vy [m/s], yaw rate [rad/s].
FULL_STICK = np.array([0.5, 0.5, 1.0])
MESSAGES = {
    'any': '',
    'Twist': 'geometry_msgs/msg/Twist',
    'TwistStamped': 'geometry_msgs/msg/TwistStamped',
}


@dataclass
class ScriptStep:
    """A velocity from a time on."""

    time: float = parameter(0.0, 'when it begins', unit='s', minimum=0.0)
    velocity: list[float] = parameter(
        [0.0, 0.0, 0.0], 'forward, to the left [m/s], turning left [rad/s]'
    )


@dataclass
class VelocityParameters:
    """The `velocity` section of a controller: vx, vy [m/s] and yaw rate [rad/s], left positive."""

    topic: str = parameter('cmd_vel', 'topic of twists', read_only=True)
    message: str = parameter(
        'any',
        'type of the twists on the topic (geometry_msgs); any: what is published there',
        choices=tuple(MESSAGES),
        read_only=True,
    )
    timeout: float = parameter(0.5, 'time for which a twist counts', unit='s', minimum=0.0)
    lower: list[float] = parameter(
        [], 'least vx, vy and yaw rate; where empty, those that a policy was trained for'
    )
    upper: list[float] = parameter([], 'largest ones')
    acceleration: list[float] = parameter(
        [],
        'changes per second of vx, vy and yaw rate, 0 for at once; all at once where empty',
        unit='m/s^2 or rad/s^2',
        minimum=0.0,
    )
    full_stick: list[float] = parameter(
        [], 'vx, vy and yaw rate at full stick; where empty, the ranges', minimum=0.0
    )
    axes: list[int] = parameter(
        [1, 0, 3], 'sticks for vx, vy and yaw rate; negative for none', minimum=-1
    )
    enable_button: int = parameter(
        ENABLE_BUTTON,
        'button that must be held while sticks command velocities; negative for none',
        minimum=-1,
    )
    joystick: JoystickParameters = field(default_factory=JoystickParameters)
    script: dict[str, ScriptStep] = parameter(
        {},
        'velocities from a time on, by name, as long as no message has come; the time is that of '
        'the controller, and begins when it begins; on a real robot only where '
        'hardware.ros2_control.allow_scripts is true',
    )


STILL = np.zeros(3)
STILL.flags.writeable = False


class VelocityCommand:
    """The velocity that a robot is asked for.

    A twist of the mailbox `cmd_vel` counts for the time-out and wins over the joystick (mailbox
    `joy`), whose sticks count while the enabling button is held. A script counts until one of
    them has come, in a simulation and where it was allowed. With none of them the velocity is
    zero.

    Attributes:
        velocity: vx, vy [m/s] and yaw rate [rad/s] of this tick, shape (3,), always this array.
        sticks: positions for vx, vy and yaw rate in this tick; 0 where others command.
        by_sticks: whether it comes from the sticks.
        joystick: the joystick, read in this tick.
        clamped: number of ticks in which more was asked for than the ranges allow.
    """

    def __init__(
        self,
        io: ControllerIO,
        given: VelocityParameters,
        key: str,
        lower: np.ndarray | None = None,
        upper: np.ndarray | None = None,
    ) -> None:
        """Open the mailboxes; stand still.

        Args:
            io: the controller's io, in initialize().
            given: the options.
            key: key of the options, for messages.
            lower: least velocities where the options say none, shape (3,); endless where None.
            upper: largest ones.

        Raises:
            ParameterError: an option cannot be used.
        """
        self.velocity = np.zeros(3)
        self._is_moving = False
        self.sticks = [0.0, 0.0, 0.0]
        self.by_sticks = True
        self.clamped = 0
        self.joystick = Joystick(io, given.joystick, f'{key}.joystick')
        self._mailbox = io.mailbox('cmd_vel', Twist, given.topic)
        self._mailbox.message_type = MESSAGES[given.message]
        self._mailbox.validate = _check
        self._twist = np.zeros(3)
        self._has_come = False
        self._valid_until = float('-inf')
        self._key = key
        self._allows_script: bool | None = None
        self._io = io
        self._own_range = (
            np.full(3, -np.inf) if lower is None else lower,
            np.full(3, np.inf) if upper is None else upper,
        )
        self.use(given)

    def use(self, given: VelocityParameters) -> None:
        """Use other options; nothing changes where one of them fails.

        Raises:
            ParameterError: one has not three values, or a range is empty.
        """
        lower, upper = (
            self._three(name, getattr(given, name), own)
            for name, own in zip(('lower', 'upper'), self._own_range, strict=True)
        )
        if (lower > upper).any():
            raise not_allowed(
                f'{self._key}.lower',
                lower.tolist(),
                f'it is above {self._key}.upper {upper.tolist()}',
            )
        acceleration = self._three('acceleration', given.acceleration, np.zeros(3))
        full = self._three('full_stick', given.full_stick, np.full(3, np.inf))
        axes = self._three('axes', given.axes, -np.ones(3))
        steps = [
            (step.time, self._three(f'script.{name}.velocity', step.velocity, np.zeros(3)))
            for name, step in given.script.items()
        ]
        if steps and self._allows_script is None:
            self._allows_script = allows_script(self._io, f'{self._key}.script')
        self._lower, self._upper = lower, upper
        # Where neither the option nor the range says it.
        self._back = _first_finite(-full, lower, -FULL_STICK)
        self._ahead = _first_finite(full, upper, FULL_STICK)
        self._axes = [int(axis) for axis in axes]
        self._acceleration = np.where(acceleration > 0.0, acceleration, np.inf)
        self._steps = sorted(steps, key=lambda step: step[0]) if self._allows_script else []
        self._timeout = given.timeout
        self._enable_button = given.enable_button

    def _three(
        self, name: str, values: list[float] | list[int], default: np.ndarray
    ) -> np.ndarray:
        if not values:
            return default
        if len(values) != 3:
            raise not_allowed(f'{self._key}.{name}', values, 'it needs vx, vy and the yaw rate')
        return np.array(values, dtype=float)

    def read(self, time: float, period: float) -> np.ndarray:
        """Refresh `velocity` and return it; called once in a tick or in a period.

        Args:
            time: time since the controller has begun [s].
            period: time since the last call [s].
        """
        self.joystick.read(time)
        message = self._mailbox.take_latest()
        if message is not None:
            self._has_come = True
            self._twist = np.array([*message.linear[:2], message.angular[2]])
            self._valid_until = time + self._timeout
        wanted = self._wanted(time)
        # Standing still is always allowed.
        if wanted is STILL:
            if not self._is_moving:
                return self.velocity
        elif wanted.any():
            within = np.minimum(np.maximum(wanted, self._lower), self._upper)
            self.clamped += bool((within != wanted).any())
            wanted = within
        change = self._acceleration * period
        lowest, highest = self.velocity - change, self.velocity + change
        np.minimum(np.maximum(wanted, lowest), highest, out=self.velocity)
        self._is_moving = bool(self.velocity.any())
        return self.velocity

    def _wanted(self, time: float) -> np.ndarray:
        self.sticks = [0.0, 0.0, 0.0]
        by_twist = time <= self._valid_until
        by_script = bool(self._steps) and not (self._has_come or self.joystick.has_come)
        self.by_sticks = not by_twist and not by_script
        if by_twist:
            return self._twist
        if by_script:
            begun = [velocity for start, velocity in self._steps if start <= time + 1e-9]
            return begun[-1] if begun else STILL
        joystick, button = self.joystick, self._enable_button
        if joystick.state is RELEASED:
            return STILL
        # What a script pushes nobody has to hold.
        if not joystick.has_come or button < 0 or joystick.is_down(button):
            self.sticks = [joystick.axis(i) for i in self._axes]
        if not any(self.sticks):
            return STILL
        return sticks_to_velocity(self.sticks, self._back, self._ahead)


def sticks_to_velocity(
    sticks: list[float] | np.ndarray, back: np.ndarray, ahead: np.ndarray
) -> np.ndarray:
    """Velocity that sticks ask for.

    Args:
        sticks: positions in [-1, 1] for vx, vy and yaw rate.
        back: velocities at -1, shape (3,).
        ahead: velocities at 1, shape (3,).
    """
    positions = np.asarray(sticks, dtype=float)
    # Not a sum of both: a stick in the middle must say zero, whatever the ranges are.
    return np.where(positions < 0.0, -positions * back, positions * ahead)


def _first_finite(*choices: np.ndarray) -> np.ndarray:
    """The first finite number of each column."""
    table = np.array(choices)
    return table[np.isfinite(table).argmax(axis=0), np.arange(table.shape[1])]


def _check(message: Twist) -> None:
    if not (np.isfinite(message.linear).all() and np.isfinite(message.angular).all()):
        raise not_allowed('cmd_vel', [*message.linear, *message.angular], 'finite values expected')
