"""Velocity commands: from a mailbox, from a script, within ranges, and zero when they are old."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnoid_control.controllers.twist_input import TwistInput
from cnoid_control.parameters import not_allowed, parameter
from cnoid_control.plugin import ControllerIO


@dataclass
class ScriptStep:
    """A velocity from a time on."""

    time: float = parameter(0.0, 'when it begins', unit='s', minimum=0.0)
    velocity: list[float] = parameter(
        [0.0, 0.0, 0.0], 'forward, to the left [m/s], turning left [rad/s]'
    )


@dataclass
class VelocityParameters:
    """The `velocity` section of a policy."""

    topic: str = parameter('cmd_vel', 'topic of geometry_msgs/TwistStamped', read_only=True)
    timeout: float = parameter(
        0.5, 'age from which on a command counts as zero', unit='s', minimum=0.0
    )
    lower: list[float] = parameter(
        [], "least vx, vy [m/s] and yaw rate [rad/s]; the policy's own where empty"
    )
    upper: list[float] = parameter([], 'largest ones')
    script: dict[str, ScriptStep] = parameter(
        {}, 'velocities from a time on, by name, as long as no message has come'
    )


class VelocityCommand:
    """The velocity that a policy is asked for.

    Attributes:
        clamped: number of messages or steps that were beyond the ranges.
    """

    def __init__(
        self, io: ControllerIO, given: VelocityParameters, lower: np.ndarray, upper: np.ndarray
    ) -> None:
        """Open the mailbox.

        Args:
            io: inputs of the controller.
            given: the options.
            lower: least velocities of the policy, shape (3,).
            upper: largest ones.
        """
        self.clamped = 0
        self._twists = TwistInput(io, given.topic)
        self._policy_range = lower, upper
        self.use(given)

    def use(self, given: VelocityParameters) -> None:
        """Use other options.

        Raises:
            ParameterError: a range or a step has not three values, or a range is empty.
        """
        bounds = [
            _three(f'velocity.{name}', getattr(given, name), own)
            for name, own in zip(('lower', 'upper'), self._policy_range, strict=True)
        ]
        if (bounds[0] > bounds[1]).any():
            listed = [bound.tolist() for bound in bounds]
            raise not_allowed(
                'velocity.lower', listed[0], f'it is above velocity.upper {listed[1]}'
            )
        steps = [
            (step.time, _three(f'velocity.script.{name}.velocity', step.velocity, np.zeros(3)))
            for name, step in given.script.items()
        ]
        self._lower, self._upper = bounds
        self._steps = sorted(steps, key=lambda step: step[0])
        self._timeout = given.timeout

    def read(self, time: float) -> np.ndarray:
        """Velocity for this period: forward and to the left [m/s], turning left [rad/s].

        Args:
            time: time since the policy has begun [s].
        """
        wanted = np.zeros(3)
        twist = self._twists.read(time, self._timeout)
        if twist is not None:
            wanted = np.array([*twist.linear[:2], twist.angular[2]])
        elif not self._twists.has_come:
            begun = [velocity for start, velocity in self._steps if start <= time]
            wanted = begun[-1] if begun else wanted
        clamped = np.clip(wanted, self._lower, self._upper)
        if (clamped != wanted).any():
            self.clamped += 1
        return clamped


def _three(key: str, values: list[float], default: np.ndarray) -> np.ndarray:
    if not values:
        return default
    if len(values) != 3:
        raise not_allowed(key, values, 'it needs vx, vy and the yaw rate')
    return np.array(values, dtype=float)
