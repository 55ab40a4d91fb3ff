"""Pixel and ray directions of cameras and range sensors."""

from __future__ import annotations

import numpy as np

from cnoid_control.body.devices import Camera, LensType, RangeSensor


def camera_directions(camera: Camera) -> tuple[np.ndarray, np.ndarray]:
    """Directions of a camera's pixels, row by row from the top.

    Returns:
        Unit directions in GL axes (right, up, back), shape (height * width, 3), and whether each
        pixel sees anything at all: a fisheye lens leaves the corners dark.
    """
    if camera.lens_type is LensType.NORMAL:
        return _pinhole(camera), np.ones(camera.width * camera.height, dtype=bool)
    if camera.lens_type is LensType.FISHEYE:
        return _fisheye(camera.width, camera.height, camera.field_of_view)
    # Two lenses back to back, half of the picture each: the left half looks ahead.
    half = camera.width // 2
    ahead, seen = _fisheye(half, camera.height, camera.field_of_view)
    behind = ahead * np.array([-1.0, 1.0, -1.0])
    both = np.concatenate(
        [
            ahead.reshape(camera.height, half, 3),
            behind.reshape(camera.height, half, 3),
        ],
        axis=1,
    )
    mask = seen.reshape(camera.height, half)
    filler = camera.width - 2 * half
    both = np.pad(both, ((0, 0), (0, filler), (0, 0)), constant_values=-1.0 / np.sqrt(3.0))
    mask = np.pad(np.concatenate([mask, mask], axis=1), ((0, 0), (0, filler)))
    return both.reshape(-1, 3), mask.reshape(-1)


def range_directions(sensor: RangeSensor) -> np.ndarray:
    """Unit directions of a range sensor's samples in GL axes: pitch slow, yaw fast."""
    return sensor.directions @ (sensor.R_local.T @ sensor.R_optical)


def _pixel_centers(width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Pixels' places right of and above the middle of the picture, in pixels."""
    rows, columns = np.mgrid[0:height, 0:width]
    return columns + 0.5 - width / 2.0, height / 2.0 - rows - 0.5


def _pinhole(camera: Camera) -> np.ndarray:
    x, y = _pixel_centers(camera.width, camera.height)
    focal = camera.height / 2.0 / np.tan(camera.vertical_field_of_view / 2.0)
    directions = np.stack([x / focal, y / focal, -np.ones(x.shape)], axis=-1).reshape(-1, 3)
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def _fisheye(width: int, height: int, field_of_view: float) -> tuple[np.ndarray, np.ndarray]:
    """Equidistant lens: the angle from the axis grows evenly with the distance from the middle."""
    x, y = _pixel_centers(width, height)
    radius = np.hypot(x, y)
    angle = radius / (min(width, height) / 2.0) * field_of_view / 2.0
    side = np.sin(angle) / np.maximum(radius, 1e-12)
    directions = np.stack([x * side, y * side, -np.cos(angle)], axis=-1).reshape(-1, 3)
    return directions, (angle <= field_of_view / 2.0).reshape(-1)
