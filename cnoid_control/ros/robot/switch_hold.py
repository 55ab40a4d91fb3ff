"""Holds joints whose command controller is active but not yet driven, during a switch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cnoid_control.body import Body, StateFlag
from cnoid_control.body.channels import BY_INTERFACE, GAINS
from cnoid_control.ros.robot.command_publisher import JointCommandPublisher
from cnoid_control.runtime.safety.joint_limits import JointLimits, model_limits
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
        self._has_effort = np.zeros(body.num_joints, dtype=bool)

    def begin(
        self,
        publishers: Sequence[JointCommandPublisher],
        modes: Mapping[str, StateFlag],
        before: Mapping[str, StateFlag] | None = None,
        limits: JointLimits | None = None,
    ) -> None:
        """Hold the joints of some command controllers at the measured posture.

        A joint that is commanded by effort so far goes on with it: its gains are zero, so that
        nothing is added.

        Args:
            publishers: publishers to the command controllers.
            modes: by what each joint is commanded next, by link name.
            before: the same as it is now.
            limits: limits of efforts and gains; the model's where None.
        """
        joints = self._body.joints
        before = before or {}
        self._safe.commands.u[:] = 0.0
        self._safe.limits = limits or model_limits(self._body)
        self._safe.capture(
            'hold', modes=[modes.get(joint.name, StateFlag.NONE) for joint in joints]
        )
        self._has_effort = np.array(
            [before.get(joint.name) == StateFlag.JOINT_EFFORT for joint in joints], dtype=bool
        )
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
            channel = BY_INTERFACE[publisher.interface]
            values = getattr(commands, channel.command)
            if channel in GAINS:
                values = np.where(self._has_effort, 0.0, values)
            publisher.send_values(values[publisher.joint_ids], stamp)
