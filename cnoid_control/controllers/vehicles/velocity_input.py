"""Velocities that a vehicle is to have: from messages, or from a joystick."""

from __future__ import annotations

from dataclasses import dataclass, field

from cnoid_control.controllers.twist_input import TwistInput
from cnoid_control.controllers.vehicles.joystick import Joystick, JoystickParameters
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO


@dataclass
class VelocityParameters:
    """How fast a vehicle is told to go, and by whom."""

    linear_speed: float = parameter(
        0.5, 'speed at full stick, and highest speed', unit='m/s', minimum=0.0
    )
    angular_speed: float = parameter(
        1.0, 'turning rate at full stick, and highest rate', unit='rad/s', minimum=0.0
    )
    linear_acceleration: float = parameter(
        2.0, 'change of speed; 0 for at once', unit='m/s^2', minimum=0.0
    )
    angular_acceleration: float = parameter(
        6.0, 'change of turning rate; 0 for at once', unit='rad/s^2', minimum=0.0
    )
    timeout: float = parameter(
        0.5, 'time for which a velocity that was received counts', unit='s', minimum=0.0
    )
    forward_axis: int = parameter(1, 'stick for ahead and back', minimum=0, read_only=True)
    turn_axis: int = parameter(0, 'stick for left and right', minimum=0, read_only=True)
    joystick: JoystickParameters = field(default_factory=JoystickParameters)


class VelocityInput:
    """Speed ahead and turning rate in each tick.

    A twist from the mailbox `cmd_vel` (geometry_msgs/TwistStamped) counts for the time-out and
    wins over the joystick. Without either the vehicle stops.

    Attributes:
        linear: speed ahead [m/s].
        angular: turning rate, left positive [rad/s].
        by_message: whether they come from a twist.
        joystick: the joystick, read in this tick.
    """

    def __init__(self, io: ControllerIO, parameters: VelocityParameters, key: str) -> None:
        """Open the mailbox and the joystick; stand still.

        Raises:
            ParameterError: the joystick cannot be used.
        """
        self._io = io
        self._twists = TwistInput(io)
        self.joystick = Joystick(io, parameters.joystick, f'{key}.joystick')
        self.by_message = False
        self.linear = 0.0
        self.angular = 0.0

    def read(self, parameters: VelocityParameters) -> None:
        """Refresh what is wanted; called once at the start of a tick."""
        step = self._io.time_step
        self.joystick.read()
        twist = self._twists.read(self._io.current_time, parameters.timeout)
        self.by_message = twist is not None
        if twist is not None:
            linear, angular = float(twist.linear[0]), float(twist.angular[2])
        else:
            linear = parameters.linear_speed * self.joystick.axis(parameters.forward_axis)
            angular = parameters.angular_speed * self.joystick.axis(parameters.turn_axis)
        linear = _within(linear, 0.0, parameters.linear_speed)
        angular = _within(angular, 0.0, parameters.angular_speed)
        if parameters.linear_acceleration > 0.0:
            linear = _within(linear, self.linear, parameters.linear_acceleration * step)
        if parameters.angular_acceleration > 0.0:
            angular = _within(angular, self.angular, parameters.angular_acceleration * step)
        self.linear, self.angular = linear, angular

    def close(self) -> None:
        """Give the joystick back."""
        self.joystick.close()


def _within(value: float, middle: float, distance: float) -> float:
    return min(max(value, middle - distance), middle + distance)
