"""Pictures of robots on a floor by ray casting: the same everywhere, without a display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import mujoco
import numpy as np

from cnoid_control.body import Body
from cnoid_control.hardware.exceptions import not_simulable
from cnoid_control.hardware.mujoco.geometry import SEEN_GROUP, GeometryBuilder, quaternion
from cnoid_control.hardware.mujoco.parameters import MujocoParameters
from cnoid_control.hardware.mujoco.renderer import RayCaster, surface_colors

# Direction of the lamp and its distance from what is drawn [m].
LAMP_DIRECTION = np.array([0.35, 0.45, 0.82]) / np.linalg.norm([0.35, 0.45, 0.82])
LAMP_DISTANCE = 50.0
# Share of the light that is left in a shadow: on robots, on the floor.
AMBIENT, FLOOR_AMBIENT = 0.45, 0.55
SKY = np.array([0.93, 0.95, 0.98])
TILES = np.array([[0.80, 0.82, 0.85], [0.71, 0.74, 0.78]])
TILE_SIZE = 0.5
FLOOR_FADES_AT = 12.0
MAX_DISTANCE = 1000.0
# Rays per pixel at edges, along each axis, and the contrast that makes an edge.
OVERSAMPLING, EDGE_CONTRAST = 3, 0.02
# Distance behind the first hit of a lamp's ray that still counts as lit [m].
SHADOW_TOLERANCE = 1e-3


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


def draw(
    bodies: Sequence[Body], view: View | None = None, size: tuple[int, int] = (600, 800)
) -> np.ndarray:
    """Draw the visible shapes of robots, and the floor z = 0 with their shadows.

    Args:
        bodies: robots, with forward kinematics done.
        view: where from; without one, a view from the front left that shows them all.
        size: height and width of the picture [pixel], where there is no view.

    Returns:
        Red, green and blue of each pixel, uint8, shape (h, w, 3).

    Raises:
        HardwareError: MuJoCo refuses a shape.
    """
    scene = _Scene(bodies)
    view = view or View.framing(scene.corners(), size=size)
    eye = np.array(view.position)
    colors = scene.colors(eye, view.directions((0.5, 0.5)))
    # One ray per pixel is enough but at edges.
    edge = _edges(colors.reshape(*view.size, 3)).reshape(-1)
    shifts = (np.arange(OVERSAMPLING) + 0.5) / OVERSAMPLING
    finer = [scene.colors(eye, view.directions(shift)[edge]) for shift in product(shifts, shifts)]
    colors[edge] = np.mean(finer, axis=0)
    return np.round(colors * 255).astype(np.uint8).reshape(*view.size, 3)


def _edges(picture: np.ndarray) -> np.ndarray:
    """Whether each pixel differs from a neighbour, shape (h, w)."""
    edge = np.zeros(picture.shape[:2], dtype=bool)
    down = np.abs(np.diff(picture, axis=0)).max(axis=2) > EDGE_CONTRAST
    right = np.abs(np.diff(picture, axis=1)).max(axis=2) > EDGE_CONTRAST
    edge[:-1] |= down
    edge[1:] |= down
    edge[:, :-1] |= right
    edge[:, 1:] |= right
    return edge


def save_picture(path: str | Path, bodies: Sequence[Body], view: View | None = None) -> None:
    """Write the picture that `draw` returns to a PNG file."""
    from matplotlib.image import imsave

    imsave(path, draw(bodies, view))


class _Scene:
    """Robots that stand still on a floor, with one lamp."""

    def __init__(self, bodies: Sequence[Body]) -> None:
        spec = mujoco.MjSpec()
        floor = spec.worldbody.add_geom(
            name='floor', type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0]
        )
        for body in bodies:
            builder = GeometryBuilder(spec, body.description, MujocoParameters())
            for link in body.links:
                carrier = spec.worldbody.add_body(pos=link.p, quat=quaternion(link.R))
                builder.add_shapes(carrier, link.description)
        for geom in spec.geoms:
            # MuJoCo's rays miss parts of what collides and has no mass.
            geom.contype = geom.conaffinity = 0
        try:
            self._model: mujoco.MjModel = spec.compile()
        except (ValueError, RuntimeError) as error:
            names = ', '.join(body.name for body in bodies)
            raise not_simulable(names, ' '.join(str(error).split())) from error
        self._data = mujoco.MjData(self._model)
        mujoco.mj_kinematics(self._model, self._data)
        self._floor = floor.id
        self._lamp = self.corners().mean(axis=0) + LAMP_DISTANCE * LAMP_DIRECTION

    def corners(self) -> np.ndarray:
        """Corners of the boxes around everything that is seen [m], shape (n, 3)."""
        model, data = self._model, self._data
        seen = np.flatnonzero((model.geom_group == SEEN_GROUP) & (model.geom_rgba[:, 3] > 0.0))
        if not seen.size:
            return np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 1.0]])
        signs = np.array(list(product((-1.0, 1.0), repeat=3)))
        boxes = model.geom_aabb[seen]
        local = boxes[:, None, :3] + signs * boxes[:, None, 3:]
        axes = data.geom_xmat[seen].reshape(-1, 3, 3)
        placed = np.einsum('nij,nkj->nki', axes, local) + data.geom_xpos[seen, None]
        return placed.reshape(-1, 3)

    def colors(self, eye: np.ndarray, rays: np.ndarray) -> np.ndarray:
        """Colours of what rays from the eye hit, from 0 to 1, shape (n, 3)."""
        seen = self._cast(eye, rays)
        colors = np.tile(SKY, (len(rays), 1))
        hit = np.flatnonzero(seen.geoms >= 0)
        geoms, normals, distances = seen.geoms[hit], seen.normals[hit], seen.distances[hit]
        points = eye + rays[hit] * distances[:, None]
        lit = self._lit(points)
        facing = np.maximum(normals @ LAMP_DIRECTION, 0.0)
        shade = AMBIENT + (1.0 - AMBIENT) * lit * facing
        surface = surface_colors(self._model, geoms) * shade[:, None]
        on_floor = geoms == self._floor
        tiles = np.floor(points[on_floor, :2] / TILE_SIZE).sum(axis=1).astype(int) % 2
        shade = FLOOR_AMBIENT + (1.0 - FLOOR_AMBIENT) * lit[on_floor]
        fade = np.exp(-((distances[on_floor] / FLOOR_FADES_AT) ** 2))[:, None]
        surface[on_floor] = fade * TILES[tiles] * shade[:, None] + (1.0 - fade) * SKY
        colors[hit] = surface
        return np.clip(colors, 0.0, 1.0)

    def _lit(self, points: np.ndarray) -> np.ndarray:
        """Whether the lamp reaches each point."""
        rays = points - self._lamp
        distances = np.linalg.norm(rays, axis=1)
        first = self._cast(self._lamp, rays / distances[:, None]).distances
        return first > distances - SHADOW_TOLERANCE

    def _cast(self, origin: np.ndarray, rays: np.ndarray) -> RayCaster:
        caster = RayCaster(self._model, self._data, rays, body=0)
        caster.cast(origin, np.eye(3), 0.0, MAX_DISTANCE)
        return caster
