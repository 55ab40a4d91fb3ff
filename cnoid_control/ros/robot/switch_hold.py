"""Holds joints whose command controller is active but not yet driven, during a switch."""

from __future__ import annotations

import math

import numpy as np

from cnoid_control.body import Body
from cnoid_control.ros.robot.command_controllers import CommandPlan
from cnoid_control.ros.robot.command_publisher import JointCommandPublisher
from cnoid_control.runtime.safety.hold import Hold

# Time in which efforts fall to a third when states are no longer known [s].
FADING_TIME = 0.15


class SwitchHold:
    """Sends a hold of the measured posture to takers that are activated but not in use yet.

    Without it they would have nothing to pass on between their activation and the first command
    of the controllers that need them.

    Attributes:
        channels: the takers; empty for none.
        effort_limits: least and largest efforts [N m] or [N], shape (num_joints,) each.
    """

    def __init__(self, body: Body, time_step: float) -> None:
        """Have nobody to hold for."""
        self.channels: tuple[JointCommandPublisher, ...] = ()
        self.effort_limits = body.u_lower, body.u_upper
        self._body = body
        self._hold = Hold(body, time_step)
        self._effort = np.zeros(body.num_joints)
        self._fading = math.exp(-time_step / FADING_TIME)

    def begin(self, plan: CommandPlan, present: CommandPlan) -> None:
        """Hold for the takers of a plan that the present one does not have."""
        used = [channel.name for channel in present.channels]
        self._hold.capture()
        self._effort[:] = 0.0
        self.channels = tuple(one for one in plan.channels if one.name not in used)

    def end(self) -> None:
        """Hold for nobody any more."""
        self.channels = ()

    def send(self, stamp: int, fresh: bool, stopped: bool) -> None:
        """Send the hold; in the loop's thread.

        Args:
            stamp: that of the state that it answers [ns].
            fresh: whether the measured state is up to date; efforts fade where it is not.
            stopped: whether there is an emergency stop: no effort at all.
        """
        body, hold = self._body, self._hold
        if stopped:
            self._effort[:] = 0.0
        elif fresh:
            effort = hold.kp * (hold.q - body.q) - hold.kd * body.dq
            np.clip(effort, *self.effort_limits, out=self._effort)
        else:
            self._effort *= self._fading
        values = {
            'position': hold.q,
            'velocity': np.zeros(len(hold.q)),
            'effort': self._effort,
        }
        for channel in self.channels:
            channel.send_values(values[channel.interface][channel.joint_ids], stamp)
