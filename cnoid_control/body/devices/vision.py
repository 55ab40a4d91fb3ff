"""Cameras and range sensors."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from cnoid_control.body.devices.base import Device
from cnoid_control.body.read_only import read_only


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


# What no sensor has more of, and a full turn with a little slack [rad].
LARGE = 1e9
FULL_TURN = 2.0 * math.pi + 1e-3
# Where the nearest thing that is seen may be [m].
NEAR_RANGE = (1e-6, 1e6)
# Directions of a scan.
MAX_SAMPLES = 2_000_000
MEASURING_RANGES = {
    'min_distance': (0.0, LARGE),
    'max_distance': (0.0, LARGE),
    'detection_rate': (0.0, 1.0),
    'error_deviation': (0.0, LARGE),
}


class VisionSensor(Device, is_kind=False):
    """Device that looks at the world at a rate of its own.

    Attributes:
        frame_rate: pictures per second [Hz].
        delay: time from the picture to its arrival [s].
        optical_frame: how the device's axes are meant: GL looks along -Z with Y up, CV along Z
            with Y down, ROBOTICS along X with Z up.
    """

    state_fields = (*Device.state_fields, 'frame_rate', 'delay')
    # Pictures that are under way are kept: there must not be endlessly many.
    ranges: ClassVar[dict[str, tuple[float, float]]] = {
        **Device.ranges,
        'frame_rate': (0.0, 1e6),
        'delay': (0.0, 10.0),
    }

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
        return read_only(self.R_local @ _GL_AXES[self.optical_frame])


class ImageType(Enum):
    """What the pixels of a picture hold."""

    NONE = 'none'
    COLOR = 'color'
    GRAYSCALE = 'grayscale'


class LensType(Enum):
    """How the lens maps directions to pixels."""

    NORMAL = 'normal'
    FISHEYE = 'fisheye'
    DUAL_FISHEYE = 'dual_fisheye'


class Camera(VisionSensor):
    """Camera with a picture of 8 bits a channel.

    Attributes:
        image_type: what the pixels hold.
        lens_type: how the lens maps directions to pixels.
        width: width of the picture [pixels].
        height: its height [pixels].
        field_of_view: angle over the shorter side of the picture [rad].
        near: least distance that is seen [m].
        far: largest distance that is seen [m].
        image: rows from the top, shape (height, width, 3) or (height, width), uint8; empty before
            the first picture.
    """

    state_fields = (*VisionSensor.state_fields, 'field_of_view', 'near', 'far')
    ranges: ClassVar[dict[str, tuple[float, float]]] = {
        **VisionSensor.ranges,
        'field_of_view': (1e-3, 2.0 * math.pi),
        'near': NEAR_RANGE,
        'far': (NEAR_RANGE[0], LARGE),
    }
    data_fields: tuple[str, ...] = ('image',)

    def __init__(
        self,
        name: str,
        image_type: ImageType = ImageType.COLOR,
        lens_type: LensType = LensType.NORMAL,
        width: int = 640,
        height: int = 480,
        field_of_view: float = 0.785398,
        near: float = 0.04,
        far: float = 200.0,
        **vision: Any,
    ) -> None:
        """Make a camera that has seen nothing yet.

        Args:
            name: name, unique on the body.
            image_type: what the pixels hold.
            lens_type: how the lens maps directions to pixels.
            width: columns of the picture [pixels].
            height: rows of the picture [pixels].
            field_of_view: angle over the shorter side of the picture [rad].
            near: distance of the nearest thing that is seen [m].
            far: distance of the farthest thing that is seen [m].
            **vision: what every vision sensor has: frame_rate, delay, optical_frame, id, ...
        """
        super().__init__(name, **vision)
        self.image_type = image_type
        self.lens_type = lens_type
        self.width = width
        self.height = height
        self.field_of_view = field_of_view
        self.near = near
        self.far = far
        self.image = np.empty((0, 0, 3), dtype=np.uint8)

    def problem(self) -> str:
        """Why the camera cannot be what a controller has made of it; empty where it can."""
        if self.near >= self.far:
            return f'near of {self.name!r} is {self.near}, not below far, {self.far}'
        return super().problem()

    @property
    def vertical_field_of_view(self) -> float:
        """Angle over the height of the picture [rad]."""
        return self._angle_over(self.height)

    @property
    def horizontal_field_of_view(self) -> float:
        """Angle over the width of the picture [rad]."""
        return self._angle_over(self.width)

    def _angle_over(self, side: int) -> float:
        ratio = side / min(self.width, self.height)
        return 2.0 * math.atan(ratio * math.tan(self.field_of_view / 2.0))


class RangeCamera(Camera):
    """Camera whose pixels have a place in space.

    Attributes:
        points: what was seen, in the optical frame [m], shape (n, 3), float32; empty before the
            first picture. Where `organized`, row-major from the top with infinity for nothing.
        organized: whether there is a point for every pixel; else only for those that saw
            something.
        min_distance: least distance that is measured [m].
        max_distance: largest distance that is measured [m].
        detection_rate: share of the pixels that give a measurement, in [0, 1].
        error_deviation: standard deviation of the distance [m].
    """

    state_fields = (
        *Camera.state_fields,
        'min_distance',
        'max_distance',
        'detection_rate',
        'error_deviation',
    )
    ranges: ClassVar[dict[str, tuple[float, float]]] = {**Camera.ranges, **MEASURING_RANGES}
    data_fields: tuple[str, ...] = (*Camera.data_fields, 'points')

    def __init__(
        self,
        name: str,
        organized: bool = False,
        min_distance: float = 0.1,
        max_distance: float = 10.0,
        detection_rate: float = 1.0,
        error_deviation: float = 0.0,
        **camera: Any,
    ) -> None:
        """Make a camera that has seen nothing yet.

        Args:
            name: name, unique on the body.
            organized: whether there is to be a point for every pixel.
            min_distance: shortest distance that is measured [m].
            max_distance: longest distance that is measured [m].
            detection_rate: share of the pixels that give a measurement, in [0, 1].
            error_deviation: standard deviation of the distance [m].
            **camera: what every camera has: image_type, width, height, field_of_view, ...
        """
        super().__init__(name, **camera)
        self.organized = organized
        self.min_distance = min_distance
        self.max_distance = max_distance
        self.detection_rate = detection_rate
        self.error_deviation = error_deviation
        self.points = np.empty((0, 3), dtype=np.float32)


class RangeSensor(VisionSensor):
    """Distances along a grid of directions, pitch by pitch, yaw from right to left.

    Attributes:
        yaw_range: full angle from the rightmost to the leftmost direction [rad].
        yaw_step: angle between neighbours [rad].
        pitch_range: full angle from the lowest to the highest direction [rad].
        pitch_step: angle between neighbours [rad].
        min_distance: least distance that is measured [m].
        max_distance: largest distance that is measured [m].
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
    ranges: ClassVar[dict[str, tuple[float, float]]] = {
        **VisionSensor.ranges,
        **MEASURING_RANGES,
        'yaw_range': (0.0, FULL_TURN),
        'yaw_step': (1e-6, LARGE),
        'pitch_range': (0.0, FULL_TURN),
        'pitch_step': (1e-6, LARGE),
    }
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

    def problem(self) -> str:
        """Why the sensor cannot be what a controller has made of it; empty where it can."""
        found = super().problem()
        samples = 1.0
        if not found:
            for full, step in (
                (self.yaw_range, self.yaw_step),
                (self.pitch_range, self.pitch_step),
            ):
                samples *= 1.0 + full / step
            if samples > MAX_SAMPLES:
                found = f'{self.name!r} has {samples:.3g} directions, more than {MAX_SAMPLES}'
        return found

    @property
    def scan_rate(self) -> float:
        """Scans per second [Hz]; another name for `frame_rate`."""
        return self.frame_rate

    @property
    def yaw_angles(self) -> np.ndarray:
        """Yaw of every column [rad], positive to the left, shape (num_yaw_samples,)."""
        return read_only(_grid(self.yaw_range, self.yaw_step))

    @property
    def pitch_angles(self) -> np.ndarray:
        """Pitch of every row [rad], positive upwards, shape (num_pitch_samples,)."""
        return read_only(_grid(self.pitch_range, self.pitch_step))

    @property
    def directions(self) -> np.ndarray:
        """Unit direction of every sample in device axes, in the order of `range_data`."""
        pitch, yaw = np.meshgrid(self.pitch_angles, self.yaw_angles, indexing='ij')
        # Right, up and back, as a GL camera has them.
        columns = (-np.sin(yaw) * np.cos(pitch), np.sin(pitch), -np.cos(yaw) * np.cos(pitch))
        gl = np.stack(columns, axis=-1).reshape(-1, 3)
        return read_only(gl @ _GL_AXES[self.optical_frame].T)

    def samples_towards(self, points: np.ndarray) -> np.ndarray:
        """Places in `range_data` of the samples that look at points; -1 outside of the grid.

        Args:
            points: points in device axes [m], shape (n, 3).
        """
        right, up, back = (points @ _GL_AXES[self.optical_frame]).T
        yaw, pitch = np.arctan2(-right, -back), np.arctan2(up, np.hypot(right, back))
        columns = np.rint((yaw - self.yaw_angles[0]) / self.yaw_step).astype(int)
        rows = np.rint((pitch - self.pitch_angles[0]) / self.pitch_step).astype(int)
        width, height = self.num_yaw_samples, self.num_pitch_samples
        inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
        return np.where(inside, rows * width + columns, -1)

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
