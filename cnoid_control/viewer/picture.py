"""Pictures of robots standing on a floor, drawn without any graphics library or display."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cnoid_control.body import Body
from cnoid_control.viewer.camera import NEAR, Camera
from cnoid_control.viewer.rasterizer import rasterize
from cnoid_control.viewer.shadow import ShadowMap
from cnoid_control.viewer.tessellation import tessellate

LIGHT = np.array([0.35, 0.45, 0.82])
AMBIENT = 0.45
SKY = np.array([0.93, 0.95, 0.98])
TILES = np.array([[0.80, 0.82, 0.85], [0.71, 0.74, 0.78]])
TILE_SIZE = 0.5
FLOOR_FADES_AT = 12.0
# Pixels drawn for each pixel of the picture, along each axis: smooths the edges.
OVERSAMPLING = 2

_logger = logging.getLogger(__name__)


class _Scene(NamedTuple):
    corners: np.ndarray  # world positions, (m, 3, 3)
    normals: np.ndarray  # world, unit length, (m, 3)
    colors: np.ndarray  # (m, 3)


def draw(bodies: Sequence[Body], camera: Camera | None = None) -> np.ndarray:
    """Draw the visible shapes of robots, and the floor z = 0 with their shadows.

    Args:
        bodies: robots, with forward kinematics done.
        camera: where from; without one, a view from the front left that shows them all.

    Returns:
        Red, green and blue of each pixel, uint8, shape (h, w, 3).
    """
    scene = _collect(bodies)
    camera = camera or Camera.framing(_in_view(scene))
    fine = replace(camera, size=(camera.size[0] * OVERSAMPLING, camera.size[1] * OVERSAMPLING))
    points, depth = fine.project(scene.corners)
    in_front = (depth > NEAR).all(axis=1)
    scene = _Scene(*(part[in_front] for part in scene))
    raster = rasterize(points[in_front], 1.0 / depth[in_front], fine.size)
    image = _shade(scene, fine, raster.nearness, raster.face)
    height, width = camera.size
    blocks = image.reshape(height, OVERSAMPLING, width, OVERSAMPLING, 3)
    return np.round(blocks.mean(axis=(1, 3)) * 255).astype(np.uint8)


def save_picture(path: str | Path, bodies: Sequence[Body], camera: Camera | None = None) -> None:
    """Write what `draw` returns to a PNG file."""
    from matplotlib.image import imsave

    imsave(path, draw(bodies, camera))


def _collect(bodies: Sequence[Body]) -> _Scene:
    corners, colors = [np.zeros((0, 3, 3))], [np.zeros((0, 3))]
    for body in bodies:
        for link in body.links:
            for shape in link.description.shapes:
                if not shape.visual or shape.color[3] == 0.0:
                    continue
                try:
                    solid = tessellate(shape.geometry)
                except ValueError as error:
                    _logger.warning('%s is drawn without a shape: %s', link.name, error)
                    continue
                local = solid.vertices @ shape.rotation.T + shape.translation
                corners.append((local @ link.R.T + link.p)[solid.faces])
                colors.append(np.tile(shape.color[:3], (len(solid.faces), 1)))
    triangles = np.concatenate(corners)
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    return _Scene(triangles, normals / np.maximum(lengths, 1e-12), np.concatenate(colors))


def _in_view(scene: _Scene) -> np.ndarray:
    if not len(scene.corners):
        return np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 1.0]])
    return scene.corners.reshape(-1, 3)


def _shade(scene: _Scene, camera: Camera, nearness: np.ndarray, face: np.ndarray) -> np.ndarray:
    """Return the colours of all pixels from what is seen there, shape (h, w, 3)."""
    light = LIGHT / np.linalg.norm(LIGHT)
    shadows = ShadowMap(scene.corners, light)
    rays = camera.rays()
    eye = np.array(camera.position)
    with np.errstate(divide='ignore', invalid='ignore'):
        floor_depth = np.where(rays[..., 2] * eye[2] < 0, -eye[2] / rays[..., 2], np.inf)
        solid_depth = np.where(face >= 0, 1.0 / nearness, np.inf)
    on_solid = solid_depth <= floor_depth
    on_floor = ~on_solid & np.isfinite(floor_depth)
    hits = on_solid & (face >= 0)
    image = np.broadcast_to(SKY, (*camera.size, 3)).copy()

    position = eye + rays[hits] * solid_depth[hits][:, None]
    normal = scene.normals[face[hits]]
    facing = np.maximum(normal @ light, 0.0)
    lit = shadows.lit(position + 0.01 * normal) * facing
    image[hits] = scene.colors[face[hits]] * (AMBIENT + (1 - AMBIENT) * lit)[:, None]

    position = eye + rays[on_floor] * floor_depth[on_floor][:, None]
    tile = np.floor(position[:, :2] / TILE_SIZE).sum(axis=1).astype(int) % 2
    lit = 0.55 + 0.45 * shadows.lit(position)
    fade = np.exp(-((floor_depth[on_floor] / FLOOR_FADES_AT) ** 2))[:, None]
    image[on_floor] = fade * TILES[tile] * lit[:, None] + (1 - fade) * SKY
    return np.clip(image, 0.0, 1.0)
