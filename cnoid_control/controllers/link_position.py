"""The root of a robot is put where the controller says."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.controllers.circle import Circle, CircleParameters
from cnoid_control.plugin import ControllerIO, SimpleController, StateFlag
from cnoid_control.plugin.messages import Twist

# Time for which a received velocity is in force [s].
TIME_TO_LIVE = 0.5


class LinkPositionController(SimpleController):
    """Moves the root on a circle, facing along it; a received twist takes over.

    Twists come through the mailbox `cmd_vel`, in the root's own axes; each is in force for half
    a second, then the root stays where it is.
    """

    Parameters = CircleParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Command the pose of the root."""
        self.io, self.root = io, io.body.root_link
        io.enable_output(self.root, StateFlag.LINK_POSITION)
        self.circle: Circle | None = Circle(self.root.p, io.parameters)
        self.pose = pin.SE3(np.array(self.root.R), self.root.p.copy())
        self.twists = io.mailbox('cmd_vel', Twist)
        self.twist = Twist()
        self.twist_ends = 0.0
        return True

    def control(self) -> bool:
        """Put the root where it is to be in this tick."""
        twist = self.twists.take_latest()
        if twist is not None:
            self.circle = None
            self.twist = twist
            self.twist_ends = self.io.current_time + TIME_TO_LIVE
        if self.circle is not None:
            time = self.io.current_time
            turn = pin.exp3(np.array([0.0, 0.0, self.circle.angle(time)]))
            self.root.p, self.root.R = self.circle.position(time), turn @ self.pose.rotation
        elif self.io.current_time < self.twist_ends:
            now = pin.SE3(np.array(self.root.R), self.root.p.copy())
            step = self.io.time_step
            moved = now * pin.SE3(pin.exp3(self.twist.angular * step), self.twist.linear * step)
            self.root.p, self.root.R = moved.translation, moved.rotation
        return True
