"""Commands that hold the robot while other takers of commands are being switched to."""

from __future__ import annotations

import numpy as np

from cnoid_control.body import Body
from cnoid_control.ros.command_channels import CommandChannel
from cnoid_control.ros.command_plan import CommandPlan
from cnoid_control.runtime.hold import Hold


class StandBy:
    """Sends a hold of the measured posture to takers that are activated but not in use yet.

    Without it they would have nothing to pass on between their activation and the first command
    of the controllers that need them.

    Attributes:
        channels: the takers; empty for none.
    """

    def __init__(self, body: Body, time_step: float) -> None:
        """Have nobody to hold for."""
        self.channels: tuple[CommandChannel, ...] = ()
        self._body = body
        self._hold = Hold(body, time_step)

    def begin(self, plan: CommandPlan, present: CommandPlan) -> None:
        """Hold for the takers of a plan that the present one does not have."""
        used = [channel.name for channel in present.channels]
        self._hold.grab()
        self.channels = tuple(one for one in plan.channels if one.name not in used)

    def end(self) -> None:
        """Hold for nobody any more."""
        self.channels = ()

    def send(self, stamp: int) -> None:
        """Send the hold; in the loop's thread."""
        body, hold = self._body, self._hold
        effort = hold.kp * (hold.q - body.q) - hold.kd * body.dq
        values = {
            'position': hold.q,
            'velocity': np.zeros(len(hold.q)),
            'effort': np.clip(effort, body.u_lower, body.u_upper),
        }
        for channel in self.channels:
            channel.send_values(values[channel.interface][channel.joint_ids], stamp)
