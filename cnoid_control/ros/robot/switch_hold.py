"""Holds joints whose command controller is active but not yet driven, during a switch."""

from __future__ import annotations

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.channels import BY_INTERFACE
from cnoid_control.ros.robot.command_controllers import CommandPlan
from cnoid_control.ros.robot.command_publisher import JointCommandPublisher
from cnoid_control.runtime.safety.safe_command import SafeCommand

# Time in which efforts fade to zero when states are no longer known [s].
FADE_TIME = 0.5


class SwitchHold:
    """Sends a hold of the measured posture to takers that are activated but not in use yet.

    Without it they would have nothing to pass on between their activation and the first command
    of the controllers that need them.

    Attributes:
        channels: the takers; empty for none.
    """

    def __init__(self, body: Body, time_step: float) -> None:
        """Have nobody to hold for."""
        self.channels: tuple[JointCommandPublisher, ...] = ()
        self._safe = SafeCommand(body, time_step, fade_time=FADE_TIME)
        self._time_step = time_step

    @property
    def effort_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest efforts [N m] or [N], shape (num_joints,) each."""
        return self._safe.effort_limits

    @effort_limits.setter
    def effort_limits(self, limits: tuple[np.ndarray, np.ndarray]) -> None:
        self._safe.effort_limits = limits

    def begin(self, plan: CommandPlan, present: CommandPlan) -> None:
        """Hold for the takers of a plan that the present one does not have."""
        used = [channel.name for channel in present.channels]
        self._safe.commands.u[:] = 0.0
        self._safe.capture('hold', every_mode=True)
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
        self._safe.effort = 'zero' if stopped else 'hold'
        commands = self._safe.update(self._time_step, fresh)
        for channel in self.channels:
            values = getattr(commands, BY_INTERFACE[channel.interface].command)
            channel.send_values(values[channel.joint_ids], stamp)
