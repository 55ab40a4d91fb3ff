"""Holds joints whose command controller is active but not yet driven, during a switch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.channels import BY_INTERFACE
from cnoid_control.ros.robot.command_publisher import JointCommandPublisher
from cnoid_control.runtime.safety.safe_command import SafeCommand

# Time in which efforts fade to zero when states are no longer known [s].
FADE_TIME = 0.5


class SwitchHold:
    """Sends the safe command to command controllers that are activated but not in use yet.

    Without it they would have nothing to pass on between their activation and the first command
    of the controllers that need them.

    Attributes:
        publishers: publishers to those command controllers; empty for none.
    """

    def __init__(self, body: Body, time_step: float) -> None:
        """Hold a robot, tick by tick of `time_step` [s]; `begin` begins."""
        self.publishers: tuple[JointCommandPublisher, ...] = ()
        self._body = body
        self._safe = SafeCommand(body, time_step, fade_time=FADE_TIME)
        self._time_step = time_step

    def begin(
        self,
        publishers: Sequence[JointCommandPublisher],
        effort_limits: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Hold the joints of some command controllers at the measured posture.

        Args:
            publishers: publishers to the command controllers.
            effort_limits: least and largest efforts [N m] or [N]; the body's where None.
        """
        self._safe.commands.u[:] = 0.0
        self._safe.effort_limits = effort_limits or (self._body.u_lower, self._body.u_upper)
        self._safe.capture('hold', every_mode=True)
        self.publishers = tuple(publishers)

    def end(self) -> None:
        """Hold nothing any more."""
        self.publishers = ()

    def send(self, stamp: int, fresh: bool, stopped: bool) -> None:
        """Send the safe command; in the loop's thread.

        Args:
            stamp: that of the state that it answers [ns].
            fresh: whether the measured state is up to date; efforts fade where it is not.
            stopped: whether there is an emergency stop: no effort at all.
        """
        self._safe.effort = 'zero' if stopped else 'hold'
        commands = self._safe.update(self._time_step, fresh)
        for publisher in self.publishers:
            values = getattr(commands, BY_INTERFACE[publisher.interface].command)
            publisher.send_values(values[publisher.joint_ids], stamp)
