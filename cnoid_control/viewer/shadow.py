"""Which points a light from far away reaches."""

from __future__ import annotations

import numpy as np

from cnoid_control.viewer.rasterizer import rasterize

SIZE = 1024
# Points this far [m] behind what the light sees first still count as seen by it.
BIAS = 0.004


class ShadowMap:
    """The scene as the light sees it.

    Attributes:
        nearness: nearness to the light of what it sees at each pixel; -inf where nothing is.
    """

    def __init__(self, corners: np.ndarray, light: np.ndarray) -> None:
        """Draw the scene from the light.

        Args:
            corners: corners of the triangles, world frame [m], shape (m, 3, 3).
            light: direction towards the light, world axes, unit length, shape (3,).
        """
        across = np.cross(light, (0.0, 0.0, 1.0))
        across = across / np.linalg.norm(across)
        # Columns, rows and nearness; a left-handed frame, as pictures with rows going down are.
        self._axes = np.array([across, np.cross(across, light), light])
        self._low = np.zeros(2)
        self._scale = 1.0
        if not len(corners):
            self.nearness = np.full((SIZE, SIZE), -np.inf)
            return
        vertices = corners @ self._axes.T
        self._low = vertices[..., :2].min(axis=(0, 1))
        extent = vertices[..., :2].max(axis=(0, 1)) - self._low
        # An empty border of two pixels, so that what lies outside is lit.
        self._scale = (SIZE - 4) / extent.max()
        pixels = self._to_pixels(vertices[..., :2])
        self.nearness = rasterize(pixels, vertices[..., 2], (SIZE, SIZE)).nearness

    def lit(self, points: np.ndarray) -> np.ndarray:
        """Return how much of the light reaches each point, 0 to 1, shape (n,).

        Args:
            points: positions, world frame [m], shape (n, 3).
        """
        seen = points @ self._axes.T
        column, row = np.floor(self._to_pixels(seen[:, :2])).astype(int).T
        reached = np.zeros(len(points))
        # The mean over the neighbouring pixels softens the edge.
        neighbours = (-1, 0, 1)
        for dx in neighbours:
            for dy in neighbours:
                x = np.clip(column + dx, 0, SIZE - 1)
                y = np.clip(row + dy, 0, SIZE - 1)
                reached += self.nearness[y, x] <= seen[:, 2] + BIAS
        return reached / len(neighbours) ** 2

    def _to_pixels(self, positions: np.ndarray) -> np.ndarray:
        return (positions - self._low) * self._scale + 2
