"""Velocity commands from outside, as long as they are fresh."""

from __future__ import annotations

import numpy as np

from cnoid_control.parameters import not_allowed
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import Twist


class TwistInput:
    """The newest twist of the mailbox `cmd_vel` (geometry_msgs/TwistStamped).

    Twists that are not finite are refused.

    Attributes:
        has_come: whether there ever was one.
    """

    def __init__(self, io: ControllerIO, topic: str = 'cmd_vel') -> None:
        """Open the mailbox."""
        self.has_come = False
        self._mailbox = io.mailbox('cmd_vel', Twist, topic)
        self._mailbox.validate = _check
        self._twist = Twist()
        self._since = float('-inf')

    def read(self, time: float, timeout: float) -> Twist | None:
        """Twist that counts in this tick; None where there is none.

        Args:
            time: now [s].
            timeout: age up to which a twist counts [s].
        """
        twist = self._mailbox.take_latest()
        if twist is not None:
            self.has_come, self._twist, self._since = True, twist, time
        return self._twist if time - self._since <= timeout else None


def _check(message: Twist) -> None:
    if not (np.isfinite(message.linear).all() and np.isfinite(message.angular).all()):
        raise not_allowed('cmd_vel', [*message.linear, *message.angular], 'finite values expected')
