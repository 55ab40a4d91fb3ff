"""Uneven ground in the place of the floor."""

from __future__ import annotations

import math
import zlib

import mujoco
import numpy as np

from cnoid_control.hardware.mujoco.parameters import MujocoParameters, TerrainParameters

# Name of the height field, and of the geom that stands for the ground.
FIELD, FLOOR = 'terrain', 'floor'
# Steepest slope [deg] and highest bumps [m] that the field has room for.
STEEPEST, ROUGHEST = 30.0, 0.5
# Thickness of the ground below its lowest point [m].
BASE = 0.2


def half_range(given: TerrainParameters) -> float:
    """Height up to which the field reaches, and depth [m]."""
    # The corners of the square are the highest and lowest points of a slope.
    corner = given.size / 2.0 * math.sqrt(2.0)
    return corner * math.tan(math.radians(STEEPEST)) + ROUGHEST


def nodes(given: TerrainParameters) -> int:
    """Points of the grid in each direction."""
    return 2 * math.ceil(given.size / 2.0 / given.cell) + 1


class Terrain:
    """Heights of the ground on a square grid; between its points MuJoCo has triangles.

    Attributes:
        heights: [m], rows along y and columns along x, both from the lowest.
        spacing: distance of the grid's points [m].
    """

    def __init__(self, parameters: MujocoParameters) -> None:
        """Make the ground of the options; bumps depend on the seed alone."""
        given = parameters.terrain
        count = nodes(given)
        self.spacing = given.size / (count - 1)
        self._edge = given.size / 2.0
        self._half = half_range(given)
        along = np.linspace(-self._edge, self._edge, count)
        x, y = np.meshgrid(along, along)
        angle = math.radians(given.heading)
        rise = math.tan(math.radians(given.slope))
        random = np.random.default_rng([parameters.seed, zlib.crc32(FIELD.encode())])
        bumps = given.roughness * (random.random((count, count)) - 0.5)
        # In units of the field, as MuJoCo keeps them: what is asked for here is what is there.
        slope = rise * (x * math.cos(angle) + y * math.sin(angle))
        share = (slope + bumps + self._half) / (2.0 * self._half)
        self._data = share.astype(np.float32)
        self.heights = self._data.astype(float) * 2.0 * self._half - self._half

    def put(self, model: mujoco.MjModel) -> None:
        """Give the field of a compiled model these heights."""
        field = model.hfield(FIELD).id
        start = model.hfield_adr[field]
        model.hfield_data[start : start + self._data.size] = self._data.reshape(-1)

    def height(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Height of the ground at places [m]; beyond the field that of its edge."""
        last = len(self.heights) - 1
        u = np.clip((np.asarray(x) + self._edge) / self.spacing, 0.0, last)
        v = np.clip((np.asarray(y) + self._edge) / self.spacing, 0.0, last)
        column = np.minimum(u.astype(int), last - 1)
        row = np.minimum(v.astype(int), last - 1)
        u, v = u - column, v - row
        here = self.heights[row, column]
        right = self.heights[row, column + 1]
        above = self.heights[row + 1, column]
        across = self.heights[row + 1, column + 1]
        # MuJoCo cuts each cell from its lowest corner to the highest one.
        upper = here + v * (above - here) + u * (across - above)
        lower = here + u * (right - here) + v * (across - right)
        return np.where(v > u, upper, lower)

    def around(self, x: float, y: float, radius: float) -> tuple[float, float]:
        """Lowest and highest point of the ground around a place [m]."""
        last = len(self.heights) - 1

        def span(value: float) -> slice:
            low = math.floor((value - radius + self._edge) / self.spacing)
            high = math.ceil((value + radius + self._edge) / self.spacing)
            return slice(min(max(low, 0), last), min(max(high, 0), last) + 1)

        part = self.heights[span(y), span(x)]
        return float(part.min()), float(part.max())
