"""What a camera sees: colours by MuJoCo's renderer or by rays, and distances by rays."""

from __future__ import annotations

import logging
import math

import mujoco
import numpy as np

from cnoid_control.body.devices import Camera, ImageType, LensType, RangeCamera, RangeSensor
from cnoid_control.hardware.exceptions import RenderingUnavailable
from cnoid_control.hardware.gl_renderer import GlRenderer
from cnoid_control.hardware.lights import Lights
from cnoid_control.hardware.mujoco_devices import AMBIENT, HEADLIGHT
from cnoid_control.hardware.mujoco_model import MujocoModel
from cnoid_control.hardware.optics import camera_directions, range_directions
from cnoid_control.hardware.ray_caster import RayCaster
from cnoid_control.hardware.scene_parameters import SceneParameters

LUMA = np.array([0.299, 0.587, 0.114])
SKY = np.array([0.0, 0.0, 0.0])

logger = logging.getLogger(__name__)


class PictureMaker:
    """Makes the pictures and scans of all vision sensors of a robot.

    Colours come from MuJoCo's renderer where a graphics library is there and the lens is a plain
    one, and from rays otherwise; distances always come from rays.
    """

    def __init__(
        self,
        mapping: MujocoModel,
        data: mujoco.MjData,
        lights: Lights,
        parameters: SceneParameters,
    ) -> None:
        """Prepare; the graphics library is opened for the first picture."""
        self._mapping, self._model, self._data = mapping, mapping.model, data
        self._lights = lights
        self._parameters = parameters
        self._renderer: GlRenderer | None = None
        self._by_rays = parameters.camera_renderer == 'rays'
        self._casters: dict[str, tuple[RayCaster, np.ndarray]] = {}

    def color(self, camera: Camera) -> np.ndarray:
        """Picture of a camera, shape (height, width, 3) or (height, width), uint8.

        Raises:
            RenderingUnavailable: the graphics library was asked for and there is none.
        """
        if camera.lens_type is LensType.NORMAL and not self._by_rays:
            picture = self._drawn(camera)
        else:
            picture = None
        if picture is None:
            picture = self._cast_picture(camera)
        if camera.image_type is ImageType.GRAYSCALE:
            return np.rint(picture @ LUMA).astype(np.uint8)
        return picture

    def _drawn(self, camera: Camera) -> np.ndarray | None:
        """Picture by the graphics library; None where there is none and rays may replace it."""
        if self._renderer is None:
            cameras = [d for d in self._mapping.body.devices if isinstance(d, Camera)]
            try:
                self._renderer = GlRenderer(
                    self._model,
                    max(each.width for each in cameras),
                    max(each.height for each in cameras),
                )
            except RenderingUnavailable as error:
                if self._parameters.camera_renderer == 'gl':
                    raise
                logger.info('cameras see by rays: %s', error)
                self._by_rays = True
                return None
        index = self._mapping.devices.camera(camera.name)
        self._model.cam_fovy[index] = math.degrees(camera.vertical_field_of_view)
        size = (camera.width, camera.height)
        return self._renderer.render(self._data, index, size, camera.near, camera.far)

    def _cast_picture(self, camera: Camera) -> np.ndarray:
        caster, seen = self._camera_caster(camera)
        origin, axes = self._pose(camera)
        rays = caster.cast(origin, axes, camera.near, camera.far)
        picture = np.tile(SKY, (len(rays), 1))
        hit = np.flatnonzero((caster.geoms >= 0) & seen)
        if hit.size:
            geoms, normals = caster.geoms[hit], caster.normals[hit]
            points = origin + rays[hit] * caster.distances[hit, None]
            facing = np.abs(np.einsum('ij,ij->i', normals, rays[hit]))
            own = self._parameters.ambient_light * (AMBIENT + HEADLIGHT * facing)
            light = own[:, None] + self._lights.brightness(points, normals)
            picture[hit] = self._surface_colors(geoms) * light
        shape = (camera.height, camera.width, 3)
        return np.rint(255.0 * np.clip(picture, 0.0, 1.0)).astype(np.uint8).reshape(shape)

    def _surface_colors(self, geoms: np.ndarray) -> np.ndarray:
        model = self._model
        colors = model.geom_rgba[geoms, :3].astype(float)
        materials = model.geom_matid[geoms]
        painted = materials >= 0
        colors[painted] = model.mat_rgba[materials[painted], :3]
        return colors

    def points(self, camera: RangeCamera, random: np.random.Generator) -> np.ndarray:
        """Points that a range camera sees, in its optical frame [m], shape (n, 3), float32."""
        caster, seen = self._camera_caster(camera)
        origin, axes = self._pose(camera)
        caster.cast(origin, axes, camera.min_distance, camera.max_distance)
        distances = np.where(seen, caster.distances, np.inf)
        distances = _with_errors(distances, camera, random)
        # From GL axes to the device's own.
        directions = caster.directions @ (camera.R_local.T @ camera.R_optical).T
        missing = np.isinf(distances)
        distances[missing] = 0.0
        points = directions * distances[:, None]
        points[missing] = np.inf
        if not camera.organized:
            points = points[~missing]
        return points.astype(np.float32)

    def scan(self, sensor: RangeSensor, random: np.random.Generator) -> np.ndarray:
        """Distances that a range sensor measures [m]; infinite for nothing."""
        if sensor.name not in self._casters:
            directions = range_directions(sensor)
            caster = RayCaster(self._model, self._data, directions, self._body_of(sensor))
            self._casters[sensor.name] = (caster, np.ones(len(directions), dtype=bool))
        caster, _ = self._casters[sensor.name]
        origin, axes = self._pose(sensor)
        caster.cast(origin, axes, sensor.min_distance, sensor.max_distance)
        return _with_errors(caster.distances.copy(), sensor, random)

    def _camera_caster(self, camera: Camera) -> tuple[RayCaster, np.ndarray]:
        if camera.name not in self._casters:
            directions, seen = camera_directions(camera)
            caster = RayCaster(self._model, self._data, directions, self._body_of(camera))
            self._casters[camera.name] = (caster, seen)
        return self._casters[camera.name]

    def _body_of(self, device: Camera | RangeSensor) -> int:
        assert device.link is not None  # Devices of a body have one.
        return int(self._mapping.links[device.link.index])

    def _pose(self, device: Camera | RangeSensor) -> tuple[np.ndarray, np.ndarray]:
        """Place and GL axes of a vision sensor in the world."""
        body = self._body_of(device)
        rotation = self._data.xmat[body].reshape(3, 3)
        origin = self._data.xpos[body] + rotation @ device.p_local
        return origin, rotation @ device.R_optical

    def close(self) -> None:
        """Free the graphics library."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


def _with_errors(
    distances: np.ndarray, sensor: RangeCamera | RangeSensor, random: np.random.Generator
) -> np.ndarray:
    """Distances as an imperfect sensor measures them."""
    if sensor.error_deviation > 0.0:
        distances = distances + random.normal(0.0, sensor.error_deviation, distances.size)
    if sensor.detection_rate < 1.0:
        distances = np.where(
            random.random(distances.size) < sensor.detection_rate, distances, np.inf
        )
    return distances
