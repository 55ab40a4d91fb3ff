"""Which triangle is seen at which pixel: a z-buffer in numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Raster(NamedTuple):
    """What is seen at each pixel.

    Attributes:
        nearness: nearness of the nearest triangle, -inf where there is none, shape (h, w).
        face: index of that triangle, -1 where there is none, shape (h, w).
    """

    nearness: np.ndarray
    face: np.ndarray


def rasterize(points: np.ndarray, nearness: np.ndarray, size: tuple[int, int]) -> Raster:
    """Draw triangles, the nearest on top.

    Triangles that run clockwise on the picture (its rows going down) are seen from their back
    and left out.

    Args:
        points: column and row of each corner on the picture [pixel], shape (m, 3, 2).
        nearness: any quantity that is affine on the picture and grows towards the viewer, at
            each corner, shape (m, 3): for a perspective view 1/depth, for a parallel one -depth.
        size: height and width of the picture [pixel].
    """
    height, width = size
    best = np.full(size, -np.inf)
    face = np.full(size, -1)
    columns = np.arange(width) + 0.5
    rows = np.arange(height)[:, None] + 0.5
    corner, edge1, edge2 = points[:, 0], points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]
    area = edge1[:, 1] * edge2[:, 0] - edge1[:, 0] * edge2[:, 1]
    low = np.clip(np.floor(points.min(axis=1)), 0, (width, height)).astype(int)
    high = np.clip(np.ceil(points.max(axis=1)), 0, (width, height)).astype(int)
    drawn = (area > 1e-12) & (high > low).all(axis=1)
    for i in np.flatnonzero(drawn):
        window = (slice(low[i, 1], high[i, 1]), slice(low[i, 0], high[i, 0]))
        x = columns[window[1]] - corner[i, 0]
        y = rows[window[0]] - corner[i, 1]
        (x1, y1), (x2, y2) = edge1[i], edge2[i]
        # Weights of the second and third corner.
        second = (y * x2 - x * y2) / area[i]
        third = (x * y1 - y * x1) / area[i]
        first = 1.0 - second - third
        value = nearness[i, 0] * first + nearness[i, 1] * second + nearness[i, 2] * third
        seen = (first >= 0) & (second >= 0) & (third >= 0) & (value > best[window])
        best[window][seen] = value[seen]
        face[window][seen] = i
    return Raster(best, face)
