"""Where a picture is taken from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class View:
    """A pinhole camera, upright with respect to the world's Z axis.

    Attributes:
        position: where it stands, world frame [m].
        target: the point in the middle of the picture, world frame [m].
        field_of_view: vertical opening angle [rad].
        size: height and width of the picture [pixel].
    """

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    field_of_view: float = 0.5
    size: tuple[int, int] = (600, 800)

    @classmethod
    def framing(
        cls,
        points: np.ndarray,
        azimuth: float = 0.6,
        elevation: float = 0.25,
        size: tuple[int, int] = (600, 800),
    ) -> View:
        """Return a view that shows all points.

        Args:
            points: positions, world frame [m], shape (n, 3).
            azimuth: direction from the points to the camera, about Z from the X axis [rad].
            elevation: the same above the horizon [rad].
            size: height and width of the picture [pixel].
        """
        centre = (points.min(axis=0) + points.max(axis=0)) / 2
        outward = np.array(
            [
                np.cos(elevation) * np.cos(azimuth),
                np.cos(elevation) * np.sin(azimuth),
                np.sin(elevation),
            ]
        )
        view = cls(tuple(centre + outward), tuple(centre), size=size)
        local = (points - centre) @ view.axes.T
        half = np.tan(view.field_of_view / 2)
        half_wide = half * size[1] / size[0]
        # Each point needs a distance at which it is just inside the edge of the picture.
        needed = np.maximum(np.abs(local[:, 0]) / half_wide, np.abs(local[:, 1]) / half)
        distance = 1.08 * float((needed - local[:, 2]).max())
        return cls(tuple(centre + distance * outward), tuple(centre), size=size)

    @property
    def axes(self) -> np.ndarray:
        """Right, down and forward as rows, in world axes, shape (3, 3)."""
        forward = np.subtract(self.target, self.position)
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, (0.0, 0.0, 1.0))
        right = right / np.linalg.norm(right)
        return np.array([right, np.cross(forward, right), forward])

    @property
    def focal_length(self) -> float:
        """Distance of the picture plane [pixel]."""
        return self.size[0] / 2 / float(np.tan(self.field_of_view / 2))

    def project(self, points: np.ndarray) -> np.ndarray:
        """Return column and row of points in front of the camera [pixel], shape (..., 2).

        Args:
            points: positions, world frame [m], shape (..., 3).
        """
        local = (points - np.array(self.position)) @ self.axes.T
        plane = local[..., :2] / local[..., 2:] * self.focal_length
        return plane + np.array([self.size[1] / 2, self.size[0] / 2])

    def directions(self, shift: tuple[float, float]) -> np.ndarray:
        """Return the unit line of sight through each pixel, world axes, shape (h * w, 3).

        Args:
            shift: row and column of the ray inside its pixel, from 0 to 1.
        """
        height, width = self.size
        rows, columns = np.mgrid[0:height, 0:width]
        local = np.stack(
            [
                (columns + shift[1] - width / 2) / self.focal_length,
                (rows + shift[0] - height / 2) / self.focal_length,
                np.ones(self.size),
            ],
            axis=2,
        ).reshape(-1, 3)
        local /= np.linalg.norm(local, axis=1, keepdims=True)
        return local @ self.axes
