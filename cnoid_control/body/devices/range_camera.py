"""Camera that measures distances too."""

from __future__ import annotations

from typing import Any

import numpy as np

from cnoid_control.body.devices.camera import Camera


class RangeCamera(Camera):
    """Camera whose pixels have a place in space.

    Attributes:
        points: what was seen, in the optical frame [m], shape (n, 3), float32; empty before the
            first picture. Where `organized`, row-major from the top with infinity for nothing.
        organized: whether there is a point for every pixel; else only for those that saw
            something.
        min_distance, max_distance: distances between which things are measured [m].
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
