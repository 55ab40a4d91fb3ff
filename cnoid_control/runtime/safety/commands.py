"""The commands of all joints, apart from the body that they are for."""

from __future__ import annotations

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.channels import COMMAND_CHANNELS
from cnoid_control.body.joint_values import BLOCK_ARRAYS

# The first rows of a body's block of arrays are its commands.
ROWS = BLOCK_ARRAYS[: len(COMMAND_CHANNELS)]
assert set(ROWS) == {channel.command for channel in COMMAND_CHANNELS}


class Commands:
    """Commands of every channel, one element per joint in joint-id order.

    Attributes:
        values: all of them, one row per array, shape (6, num_joints).
        u: efforts [N m] or [N].
        q_target: positions [rad] or [m].
        dq_target: velocities [rad/s] or [m/s].
        kp, ki, kd: gains of PID actuators.
    """

    def __init__(self, values: np.ndarray) -> None:
        """Keep the array itself, not a copy."""
        self.values = values
        self.u, self.q_target, self.dq_target, self.kp, self.ki, self.kd = values

    @classmethod
    def of(cls, body: Body) -> Commands:
        """The body's own commands: to write here is to command the body."""
        return cls(body.joint_block[: len(ROWS), : body.num_joints])

    def copy(self) -> Commands:
        """Commands of the same values that share nothing."""
        return Commands(self.values.copy())

    def take(self, other: Commands) -> None:
        """Take over the values of other commands."""
        self.values[:] = other.values

    def blend(self, other: Commands, weight: float) -> None:
        """Come nearer to other commands: weight 0 leaves these, weight 1 takes the others'."""
        self.values += weight * (other.values - self.values)

    def pid_effort(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        """Efforts of PID actuators with these commands, their integrals apart [N m] or [N].

        Args:
            q: measured positions [rad] or [m].
            dq: measured velocities [rad/s] or [m/s].
        """
        return self.kp * (self.q_target - q) + self.kd * (self.dq_target - dq) + self.u
