"""What all devices that look at the world have in common."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from cnoid_control.body.device import Device


class OpticalFrame(Enum):
    """Which axes of the device its optics follow."""

    GL = 'gl'
    CV = 'cv'
    ROBOTICS = 'robotics'


# Axes of the GL frame (right, up, back) in each optical frame.
_GL_AXES = {
    OpticalFrame.GL: np.eye(3),
    OpticalFrame.CV: np.diag([1.0, -1.0, -1.0]),
    OpticalFrame.ROBOTICS: np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
}


class VisionSensor(Device):
    """Device that looks at the world at a rate of its own.

    Attributes:
        frame_rate: pictures per second [Hz].
        delay: time from the picture to its arrival [s].
        optical_frame: how the device's axes are meant: GL looks along -Z with Y up, CV along Z
            with Y down, ROBOTICS along X with Z up.
    """

    state_fields = (*Device.state_fields, 'frame_rate', 'delay')

    def __init__(
        self,
        name: str,
        frame_rate: float = 30.0,
        delay: float = 0.0,
        optical_frame: OpticalFrame = OpticalFrame.GL,
        **device: Any,
    ) -> None:
        """Make a sensor that has seen nothing yet.

        Args:
            name: name, unique on the body.
            frame_rate: pictures per second [Hz].
            delay: time from the picture to its arrival [s].
            optical_frame: how the device's axes are meant.
            **device: what every device has: id, T_local, on.
        """
        super().__init__(name, **device)
        self.frame_rate = frame_rate
        self.delay = delay
        self.optical_frame = optical_frame

    @property
    def R_optical(self) -> np.ndarray:
        """Axes of a GL camera (right, up, back) in the link frame, shape (3, 3)."""
        return self.R_local @ _GL_AXES[self.optical_frame]
