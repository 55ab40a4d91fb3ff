"""Pictures of robots on a floor, without a display: by OpenGL, or by ray casting everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Protocol

import mujoco
import numpy as np

from cnoid_control.body import Body
from cnoid_control.exceptions import choices
from cnoid_control.hardware.exceptions import HardwareError, RenderingUnavailable
from cnoid_control.hardware.mujoco.picture_scene import (
    AMBIENT,
    FLOOR_AMBIENT,
    LAMP_DIRECTION,
    SKY,
    TILE_SIZE,
    TILES,
    PictureScene,
)
from cnoid_control.hardware.mujoco.picture_view import View
from cnoid_control.hardware.mujoco.renderer import GlRenderer, RayCaster, surface_colors

FLOOR_FADES_AT = 12.0
MAX_DISTANCE = 1000.0
# Rays per pixel at edges, along each axis, and the contrast that makes an edge.
OVERSAMPLING, EDGE_CONTRAST = 3, 0.02
# Distance behind the first hit of a lamp's ray that still counts as lit [m].
SHADOW_TOLERANCE = 1e-3
# Nearest thing that the graphics library draws, in distances of the target.
NEAR = 0.05

AUTO, GL, RAYS = 'auto', 'gl', 'rays'


class Drawer(Protocol):
    """What makes pictures of a scene.

    Attributes:
        name: 'gl' or 'rays'.
    """

    name: str

    def draw(self, view: View) -> np.ndarray:
        """Red, green and blue of each pixel, uint8, shape (h, w, 3)."""

    def close(self) -> None:
        """Free what it draws with."""


def open_drawer(
    scene: PictureScene, kind: str = AUTO, size: tuple[int, int] = View.size
) -> Drawer:
    """What draws a scene: the graphics library where there is one, rays elsewhere.

    Args:
        scene: what is drawn.
        kind: 'auto', 'gl' or 'rays'.
        size: height and width of the pictures that are expected [pixel].

    Raises:
        HardwareError: there is no such kind.
        RenderingUnavailable: the graphics library is asked for, and there is none.
    """
    if kind not in (AUTO, GL, RAYS):
        raise HardwareError(f'unknown renderer {kind!r}; {choices((AUTO, GL, RAYS))}')
    if kind == RAYS:
        return RayDrawer(scene)
    try:
        return GlDrawer(scene, size)
    except RenderingUnavailable:
        if kind == GL:
            raise
        return RayDrawer(scene)


def draw(
    bodies: Sequence[Body],
    view: View | None = None,
    size: tuple[int, int] = View.size,
    renderer: str = AUTO,
) -> np.ndarray:
    """Draw the visible shapes of robots, and the floor z = 0 with their shadows.

    Args:
        bodies: robots, with forward kinematics done.
        view: the camera; where None, one that shows all robots from the front left.
        size: height and width of the picture [pixel], where there is no view.
        renderer: 'auto', 'gl' or 'rays', see `open_drawer`.

    Returns:
        Red, green and blue of each pixel, uint8, shape (h, w, 3).

    Raises:
        HardwareError: MuJoCo refuses a shape.
    """
    scene = PictureScene(bodies)
    view = view or View.framing(scene.corners(), size=size)
    drawer = open_drawer(scene, renderer, view.size)
    try:
        return drawer.draw(view)
    finally:
        drawer.close()


def save_picture(
    path: str | Path, bodies: Sequence[Body], view: View | None = None, renderer: str = AUTO
) -> None:
    """Write the picture that `draw` returns to a PNG file."""
    from matplotlib.image import imsave

    imsave(path, draw(bodies, view, renderer=renderer))


class GlDrawer:
    """Draws by the graphics library.

    All calls must come from one thread.
    """

    name = GL

    def __init__(self, scene: PictureScene, size: tuple[int, int]) -> None:
        """Open a graphics context for pictures of this height and width [pixel].

        Raises:
            RenderingUnavailable: this machine has no library to draw with.
        """
        self._scene = scene
        self._size = size[1], size[0]
        self._renderer = GlRenderer(scene.model, *self._size, shadows=True)

    def draw(self, view: View) -> np.ndarray:
        """Red, green and blue of each pixel, uint8, shape (h, w, 3)."""
        model = self._scene.model
        corners = self._scene.corners()
        # What is within the size of the scene throws shadows.
        model.stat.extent = 1.2 * float(np.ptp(corners, axis=0).max())
        model.stat.center = corners.mean(axis=0)
        model.vis.global_.fovy = math.degrees(view.field_of_view)
        offset = np.subtract(view.target, view.position)
        distance = float(np.linalg.norm(offset))
        camera = mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        camera.lookat[:] = view.target
        camera.distance = distance
        camera.azimuth = math.degrees(math.atan2(offset[1], offset[0]))
        camera.elevation = math.degrees(math.asin(offset[2] / distance))
        height, width = view.size
        self._fit(width, height)
        near, far = NEAR * distance, MAX_DISTANCE
        return self._renderer.render(self._scene.data, camera, (width, height), near, far)

    def _fit(self, width: int, height: int) -> None:
        """Open a larger context where the picture is larger than all before."""
        if width > self._size[0] or height > self._size[1]:
            self._renderer.close()
            self._size = max(width, self._size[0]), max(height, self._size[1])
            self._renderer = GlRenderer(self._scene.model, *self._size, shadows=True)

    def close(self) -> None:
        """Free the graphics context."""
        self._renderer.close()


class RayDrawer:
    """Draws by casting rays, which works everywhere and takes its time."""

    name = RAYS

    def __init__(self, scene: PictureScene) -> None:
        """Prepare for a scene."""
        self._scene = scene

    def draw(self, view: View) -> np.ndarray:
        """Red, green and blue of each pixel, uint8, shape (h, w, 3)."""
        eye = np.array(view.position)
        colors = self._colors(eye, view.directions((0.5, 0.5)))
        # One ray per pixel is enough but at edges.
        edge = _edges(colors.reshape(*view.size, 3)).reshape(-1)
        shifts = (np.arange(OVERSAMPLING) + 0.5) / OVERSAMPLING
        finer = [
            self._colors(eye, view.directions(shift)[edge]) for shift in product(shifts, shifts)
        ]
        colors[edge] = np.mean(finer, axis=0)
        return np.round(colors * 255).astype(np.uint8).reshape(*view.size, 3)

    def close(self) -> None:
        """Nothing is left open."""

    def _colors(self, eye: np.ndarray, rays: np.ndarray) -> np.ndarray:
        """Colours of what rays from the eye hit, from 0 to 1, shape (n, 3)."""
        seen = self._cast(eye, rays)
        colors = np.tile(SKY, (len(rays), 1))
        hit = np.flatnonzero(seen.geoms >= 0)
        geoms, normals, distances = seen.geoms[hit], seen.normals[hit], seen.distances[hit]
        points = eye + rays[hit] * distances[:, None]
        lit = self._lit(points)
        # Both sides of a surface are seen alike: faces of many models look inwards.
        away = np.einsum('ij,ij->i', normals, rays[hit]) > 0.0
        normals[away] *= -1.0
        facing = np.maximum(normals @ LAMP_DIRECTION, 0.0)
        shade = AMBIENT + (1.0 - AMBIENT) * lit * facing
        surface = surface_colors(self._scene.model, geoms) * shade[:, None]
        on_floor = geoms == self._scene.floor
        tiles = np.floor(points[on_floor, :2] / TILE_SIZE).sum(axis=1).astype(int) % 2
        shade = FLOOR_AMBIENT + (1.0 - FLOOR_AMBIENT) * lit[on_floor]
        fade = np.exp(-((distances[on_floor] / FLOOR_FADES_AT) ** 2))[:, None]
        surface[on_floor] = fade * TILES[tiles] * shade[:, None] + (1.0 - fade) * SKY
        colors[hit] = surface
        return np.clip(colors, 0.0, 1.0)

    def _lit(self, points: np.ndarray) -> np.ndarray:
        """Whether the lamp reaches each point."""
        lamp = self._scene.lamp
        rays = points - lamp
        distances = np.linalg.norm(rays, axis=1)
        first = self._cast(lamp, rays / distances[:, None]).distances
        return first > distances - SHADOW_TOLERANCE

    def _cast(self, origin: np.ndarray, rays: np.ndarray) -> RayCaster:
        caster = RayCaster(self._scene.model, self._scene.data, rays, body=0)
        caster.cast(origin, np.eye(3), 0.0, MAX_DISTANCE)
        return caster


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
