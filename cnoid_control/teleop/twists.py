"""Sticks as twists."""

from __future__ import annotations

import numpy as np

from cnoid_control.controllers.joystick import ENABLE_BUTTON
from cnoid_control.controllers.velocity_command import sticks_to_velocity
from cnoid_control.plugin.mailbox import Joy, Twist

# Sticks for vx, vy and yaw rate.
TWIST_AXES = (1, 0, 3)


def twist_of(joy: Joy, ahead: np.ndarray, enable_button: int = ENABLE_BUTTON) -> Twist | None:
    """Twist that sticks ask for; None while the enabling button is not held.

    Args:
        joy: sticks and buttons.
        ahead: vx, vy [m/s] and yaw rate [rad/s] at full stick, shape (3,).
        enable_button: button that must be held; negative for none.
    """
    if enable_button >= 0 and not (
        enable_button < len(joy.buttons) and joy.buttons[enable_button]
    ):
        return None
    sticks = [float(joy.axes[i]) if i < len(joy.axes) else 0.0 for i in TWIST_AXES]
    vx, vy, yaw = sticks_to_velocity(sticks, -ahead, ahead)
    return Twist(linear=np.array([vx, vy, 0.0]), angular=np.array([0.0, 0.0, yaw]))
