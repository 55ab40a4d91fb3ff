"""Camera."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import numpy as np

from cnoid_control.body.devices.vision_sensor import VisionSensor


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
        width, height: size of the picture [pixels].
        field_of_view: angle over the shorter side of the picture [rad].
        near, far: distances between which things are seen [m].
        image: rows from the top, shape (height, width, 3) or (height, width), uint8; empty before
            the first picture.
    """

    state_fields = (*VisionSensor.state_fields, 'field_of_view', 'near', 'far')
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
