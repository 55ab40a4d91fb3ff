"""Laser range finder."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cnoid_control.body.devices.vision_sensor import VisionSensor


class RangeSensor(VisionSensor):
    """Distances along a grid of directions, pitch by pitch, yaw from right to left.

    Attributes:
        yaw_range: full angle from the rightmost to the leftmost direction [rad].
        yaw_step: angle between neighbours [rad].
        pitch_range: full angle from the lowest to the highest direction [rad].
        pitch_step: angle between neighbours [rad].
        min_distance, max_distance: distances between which things are measured [m].
        detection_rate: share of the directions that give a measurement, in [0, 1].
        error_deviation: standard deviation of the distance [m].
        range_data: distances [m], shape (num_pitch_samples * num_yaw_samples,), infinite where
            nothing was hit; empty before the first scan.
    """

    state_fields = (
        *VisionSensor.state_fields,
        'yaw_range',
        'yaw_step',
        'pitch_range',
        'pitch_step',
        'min_distance',
        'max_distance',
        'detection_rate',
        'error_deviation',
    )
    data_fields: tuple[str, ...] = ('range_data',)

    def __init__(
        self,
        name: str,
        yaw_range: float = math.radians(120.0),
        yaw_step: float = 1.0,
        pitch_range: float = 0.0,
        pitch_step: float = 1.0,
        min_distance: float = 0.1,
        max_distance: float = 10.0,
        frame_rate: float = 10.0,
        detection_rate: float = 1.0,
        error_deviation: float = 0.0,
        **vision: Any,
    ) -> None:
        """Make a sensor that has measured nothing yet.

        Args:
            name: name, unique on the body.
            yaw_range: full angle from the rightmost to the leftmost direction [rad].
            yaw_step: angle between neighbours [rad].
            pitch_range: full angle from the lowest to the highest direction [rad].
            pitch_step: angle between neighbours [rad].
            min_distance: shortest distance that is measured [m].
            max_distance: longest distance that is measured [m].
            frame_rate: scans per second [Hz].
            detection_rate: share of the directions that give a measurement, in [0, 1].
            error_deviation: standard deviation of the distance [m].
            **vision: what every vision sensor has: delay, optical_frame, id, T_local, on.
        """
        super().__init__(name, frame_rate=frame_rate, **vision)
        self.yaw_range = yaw_range
        self.yaw_step = yaw_step
        self.pitch_range = pitch_range
        self.pitch_step = pitch_step
        self.min_distance = min_distance
        self.max_distance = max_distance
        self.detection_rate = detection_rate
        self.error_deviation = error_deviation
        self.range_data = np.empty(0)

    @property
    def scan_rate(self) -> float:
        """Scans per second [Hz]; another name for `frame_rate`."""
        return self.frame_rate

    @property
    def yaw_angles(self) -> np.ndarray:
        """Yaw of every column [rad], positive to the left, shape (num_yaw_samples,)."""
        return _grid(self.yaw_range, self.yaw_step)

    @property
    def pitch_angles(self) -> np.ndarray:
        """Pitch of every row [rad], positive upwards, shape (num_pitch_samples,)."""
        return _grid(self.pitch_range, self.pitch_step)

    @property
    def num_yaw_samples(self) -> int:
        """Directions in a row."""
        return len(self.yaw_angles)

    @property
    def num_pitch_samples(self) -> int:
        """Rows of a scan."""
        return len(self.pitch_angles)


def _grid(full_range: float, step: float) -> np.ndarray:
    # The tolerance keeps the last direction where range / step is whole but for rounding.
    count = 1 + math.floor(full_range / step + 1e-6) if full_range > 0.0 else 1
    return step * np.arange(count) - full_range / 2.0
