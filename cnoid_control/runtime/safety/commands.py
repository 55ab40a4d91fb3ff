"""The commands of all joints, apart from the body that they are for."""

from __future__ import annotations

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.channels import COMMAND_ARRAYS


class Commands:
    """Position, velocity and effort commands, one element per joint in joint-id order.

    Attributes:
        q_target: [rad] or [m].
        dq_target: [rad/s] or [m/s].
        u: [N m] or [N].
    """

    def __init__(self, q_target: np.ndarray, dq_target: np.ndarray, u: np.ndarray) -> None:
        """Keep the arrays themselves, not copies."""
        self.q_target = q_target
        self.dq_target = dq_target
        self.u = u

    @classmethod
    def of(cls, body: Body) -> Commands:
        """The body's own commands: to write here is to command the body."""
        return cls(*(body.joint_arrays[name][: body.num_joints] for name in COMMAND_ARRAYS))

    def copy(self) -> Commands:
        """Commands of the same values that share nothing."""
        return Commands(self.q_target.copy(), self.dq_target.copy(), self.u.copy())

    def take(self, other: Commands) -> None:
        """Take over the values of other commands."""
        self.q_target[:] = other.q_target
        self.dq_target[:] = other.dq_target
        self.u[:] = other.u

    def blend(self, other: Commands, weight: float) -> None:
        """Come nearer to other commands: weight 0 leaves these, weight 1 takes the others'."""
        self.q_target += weight * (other.q_target - self.q_target)
        self.dq_target += weight * (other.dq_target - self.dq_target)
        self.u += weight * (other.u - self.u)
