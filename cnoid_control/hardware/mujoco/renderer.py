"""Pictures of the scene: by OpenGL or by ray casting."""

from __future__ import annotations

import atexit
import ctypes.util
import importlib
import logging
import math
import os
import threading
from typing import Any

import mujoco
import numpy as np

from cnoid_control.body import Body, Device
from cnoid_control.body.devices import (
    Camera,
    ImageType,
    LensType,
    Light,
    PointLight,
    RangeCamera,
    RangeSensor,
    SpotLight,
)
from cnoid_control.hardware.exceptions import RenderingUnavailable
from cnoid_control.hardware.mujoco.camera_models import camera_directions, range_directions
from cnoid_control.hardware.mujoco.devices import AMBIENT, HEADLIGHT
from cnoid_control.hardware.mujoco.geometry import UNSEEN_GROUP
from cnoid_control.hardware.mujoco.model import MujocoModel
from cnoid_control.hardware.mujoco.parameters import SceneParameters


class Lights:
    """Copies the state of the robot's lights to MuJoCo whenever a change is announced."""

    def __init__(self, mapping: MujocoModel, data: mujoco.MjData, body: Body) -> None:
        self._mapping = mapping
        self._data = data
        self.lamps = [device for device in body.devices if isinstance(device, Light)]
        for lamp in self.lamps:
            self._follow(lamp)
            lamp.state_changed.connect(self._follow)

    def _follow(self, device: Device) -> None:
        assert isinstance(device, Light)  # Only lamps are connected.
        model, light = self._mapping.model, self._mapping.devices.light(device.name)
        model.light_active[light] = device.on
        model.light_diffuse[light] = device.color * device.intensity
        if isinstance(device, PointLight):
            model.light_attenuation[light] = _attenuation(device)
        if isinstance(device, SpotLight):
            model.light_cutoff[light] = np.degrees(device.cut_off_angle)
            model.light_exponent[light] = device.cut_off_exponent
            model.light_dir[light] = device.R_local @ device.direction

    def brightness(self, points: np.ndarray, normals: np.ndarray) -> np.ndarray:
        """Light of all lamps on surface points.

        Args:
            points: places in the world [m], shape (n, 3).
            normals: outward unit normals there, shape (n, 3).

        Returns:
            Red, green and blue, shape (n, 3); 1 for full light.
        """
        model, data = self._mapping.model, self._data
        total = np.zeros(points.shape)
        for lamp in self.lamps:
            light = self._mapping.devices.light(lamp.name)
            if not model.light_active[light]:
                continue
            ray = data.light_xpos[light] - points
            distance = np.maximum(np.linalg.norm(ray, axis=1), 1e-6)
            ray /= distance[:, None]
            share = np.maximum(np.einsum('ij,ij->i', ray, normals), 0.0)
            constant, linear, quadratic = model.light_attenuation[light]
            share /= np.maximum(constant + distance * (linear + distance * quadratic), 1e-6)
            if isinstance(lamp, SpotLight):
                along = np.clip(-ray @ data.light_xdir[light], 0.0, 1.0)
                inside = along >= np.cos(np.radians(model.light_cutoff[light]))
                share *= np.where(inside, along ** float(model.light_exponent[light]), 0.0)
            total += share[:, None] * model.light_diffuse[light]
        return total


def _attenuation(device: PointLight) -> list[float]:
    return [
        device.constant_attenuation,
        device.linear_attenuation,
        device.quadratic_attenuation,
    ]


# What can be seen: the floor and the things that are drawn.
SEEN_GROUPS = np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8)


class RayCaster:
    """A bundle of rays from one point of a link.

    Shapes that begin nearer than the near distance are left out as a whole: a camera sits inside
    its own housing.

    Attributes:
        directions: unit directions in the sensor's axes, shape (n, 3).
        distances: where each ray hit something last [m], infinite for nothing, shape (n,).
        geoms: what it hit, -1 for nothing, shape (n,).
        normals: outward unit normals of what it hit, world axes, shape (n, 3).
    """

    def __init__(
        self, model: mujoco.MjModel, data: mujoco.MjData, directions: np.ndarray, body: int
    ) -> None:
        """Prepare the buffers.

        Args:
            model: the simulated world.
            data: its state.
            directions: unit directions in the sensor's axes, shape (n, 3).
            body: MuJoCo body that carries the sensor.
        """
        self._model, self._data = model, data
        self._body = body
        self.directions = directions
        count = len(directions)
        self.distances = np.full(count, np.inf)
        self.geoms = np.full(count, -1, dtype=np.int32)
        self.normals = np.zeros((count, 3))
        # What is too near on the sensor's own link is so for ever: it is looked for only once.
        self._housing: set[int] = set()

    def cast(
        self, origin: np.ndarray, rotation: np.ndarray, near: float, far: float
    ) -> np.ndarray:
        """Cast all rays.

        Args:
            origin: where they start, in the world [m], shape (3,).
            rotation: the sensor's axes in the world, shape (3, 3).
            near: distance within which nothing is hit [m].
            far: distance beyond which nothing is hit [m].

        Returns:
            The directions in world axes, shape (n, 3).
        """
        rays = np.ascontiguousarray(self.directions @ rotation.T)
        hidden = set(self._housing)
        while True:
            self._cast_once(origin, rays, far, sorted(hidden))
            blocking = np.unique(self.geoms[(self.distances < near) & (self.geoms >= 0)])
            if not blocking.size:
                break
            hidden.update(blocking.tolist())
            own = self._model.geom_bodyid[blocking] == self._body
            self._housing.update(blocking[own].tolist())
        self.distances[self.distances > far] = np.inf
        self.geoms[np.isinf(self.distances)] = -1
        return rays

    def _cast_once(
        self, origin: np.ndarray, rays: np.ndarray, far: float, hidden: list[int]
    ) -> None:
        model = self._model
        groups = model.geom_group[hidden].copy()
        model.geom_group[hidden] = UNSEEN_GROUP
        # MuJoCo (as of 3.17) leaves out bodies by boxes that do not enclose all their shapes: not
        # those that only are seen, nor those of links without mass. Without boxes all are tried.
        boxes = model.body_bvhadr.copy()
        model.body_bvhadr[:] = -1
        try:
            mujoco.mj_multiRay(
                model,
                self._data,
                np.array(origin),
                rays.reshape(-1),
                SEEN_GROUPS,
                True,
                -1,
                self.geoms,
                self.distances,
                self.normals.reshape(-1),
                len(rays),
                far,
            )
        finally:
            model.geom_group[hidden] = groups
            model.body_bvhadr[:] = boxes
        self.distances[self.geoms < 0] = np.inf


# Libraries that draw without a display, with MuJoCo's module for each; tried in this order.
PLATFORMS = {'egl': ('EGL', 'mujoco.egl'), 'osmesa': ('OSMesa', 'mujoco.osmesa')}
MAX_GEOMS = 10000


class GlRenderer:
    """Draws what a camera of the model sees, in colour.

    All calls must come from one thread: a graphics context belongs to the thread that uses it.
    Where a controller never returns and keeps that thread, the context stays with it.
    """

    def __init__(
        self, model: mujoco.MjModel, width: int, height: int, shadows: bool = False
    ) -> None:
        """Open a graphics context.

        Args:
            model: what is drawn.
            width: largest width of pictures [pixel], where the model has no larger one.
            height: likewise.
            shadows: whether lights throw shadows.

        Raises:
            RenderingUnavailable: this machine has no library to draw with.
        """
        self._model = model
        self._thread = threading.get_ident()
        model.vis.global_.offwidth = max(width, model.vis.global_.offwidth)
        model.vis.global_.offheight = max(height, model.vis.global_.offheight)
        self._gl = _open_context(width, height)
        self._gl.make_current()
        try:
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        except mujoco.FatalError as error:
            self._gl.free()
            raise RenderingUnavailable(str(error)) from error
        self._scene = mujoco.MjvScene(model, MAX_GEOMS)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
        self._option = mujoco.MjvOption()
        self._option.sitegroup[:] = 0
        # The graphics library ends with the program: what is open then is closed before it.
        atexit.register(self.close)

    def render(
        self,
        data: mujoco.MjData,
        camera: int | mujoco.MjvCamera,
        size: tuple[int, int],
        near: float,
        far: float,
    ) -> np.ndarray:
        """Draw what a camera sees now.

        Args:
            data: state of the world.
            camera: index of a camera of the model, or one of its own.
            size: width and height [pixels].
            near: distance of the nearest thing that is seen [m].
            far: distance of the farthest thing that is seen [m].

        Returns:
            Rows from the top, shape (height, width, 3), uint8.
        """
        model = self._model
        self._gl.make_current()
        model.vis.map.znear = near / model.stat.extent
        model.vis.map.zfar = far / model.stat.extent
        if isinstance(camera, mujoco.MjvCamera):
            view = camera
        else:
            view = mujoco.MjvCamera()
            view.type = mujoco.mjtCamera.mjCAMERA_FIXED
            view.fixedcamid = camera
        mujoco.mjv_updateScene(
            model,
            data,
            self._option,
            None,
            view,
            mujoco.mjtCatBit.mjCAT_ALL.value,
            self._scene,
        )
        width, height = size
        viewport = mujoco.MjrRect(0, 0, width, height)
        picture = np.empty((height, width, 3), dtype=np.uint8)
        mujoco.mjr_render(viewport, self._scene, self._context)
        mujoco.mjr_readPixels(picture, None, viewport, self._context)
        return picture[::-1].copy()

    def close(self) -> None:
        """Free the graphics context, where this thread can."""
        atexit.unregister(self.close)
        try:
            self._gl.make_current()
        except Exception:
            if threading.get_ident() == self._thread:
                raise
            return
        self._context.free()
        self._gl.free()


def _open_context(width: int, height: int) -> Any:
    """Graphics context of the first platform that works here."""
    chosen = os.environ.get('MUJOCO_GL', '').lower() or os.environ.get('PYOPENGL_PLATFORM', '')
    reasons = []
    for platform, (library, module) in PLATFORMS.items():
        if chosen in PLATFORMS and platform != chosen:
            continue
        if ctypes.util.find_library(library) is None:
            reasons.append(f'no lib{library}')
            continue
        try:
            return importlib.import_module(module).GLContext(width, height)
        # Whatever the driver raises, another platform may still work.
        except Exception as error:
            reasons.append(f'{platform}: {error}')
    raise RenderingUnavailable('; '.join(reasons))


LUMA = np.array([0.299, 0.587, 0.114])
SKY = np.array([0.0, 0.0, 0.0])

logger = logging.getLogger(__name__)


class CameraRenderer:
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
        self._mapping, self._model, self._data = mapping, mapping.model, data
        self._lights = lights
        self._parameters = parameters
        self._renderer: GlRenderer | None = None
        self._by_rays = parameters.camera_renderer == 'rays'
        self._casters: dict[str, tuple[RayCaster, np.ndarray]] = {}
        self._optics: dict[str, tuple[float, ...]] = {}

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
            picture[hit] = surface_colors(self._model, geoms) * light
        shape = (camera.height, camera.width, 3)
        return np.rint(255.0 * np.clip(picture, 0.0, 1.0)).astype(np.uint8).reshape(shape)

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

    def is_measured(self, device: Device) -> bool:
        """Whether MuJoCo's own sensors measure a device, and no rays are cast for it here."""
        return self._mapping.devices.is_measured(device.name)

    def scan(self, sensor: RangeSensor, random: np.random.Generator) -> np.ndarray:
        """Distances that a range sensor measures [m]; infinite for nothing."""
        if self.is_measured(sensor):
            measured = self._data.sensordata[self._mapping.devices.sensors(sensor.name)[0]]
            return _with_errors(np.where(measured < 0.0, np.inf, measured), sensor, random)
        grid = (sensor.yaw_range, sensor.yaw_step, sensor.pitch_range, sensor.pitch_step)
        if self._is_new(sensor.name, grid):
            directions = range_directions(sensor)
            caster = RayCaster(self._model, self._data, directions, self._body_of(sensor))
            self._casters[sensor.name] = (caster, np.ones(len(directions), dtype=bool))
        caster, _ = self._casters[sensor.name]
        origin, axes = self._pose(sensor)
        caster.cast(origin, axes, sensor.min_distance, sensor.max_distance)
        return _with_errors(caster.distances.copy(), sensor, random)

    def _camera_caster(self, camera: Camera) -> tuple[RayCaster, np.ndarray]:
        if self._is_new(camera.name, (camera.field_of_view, camera.width, camera.height)):
            directions, seen = camera_directions(camera)
            caster = RayCaster(self._model, self._data, directions, self._body_of(camera))
            self._casters[camera.name] = (caster, seen)
        return self._casters[camera.name]

    def _is_new(self, name: str, optics: tuple[float, ...]) -> bool:
        """Whether a device has other optics than when its directions were found."""
        before, self._optics[name] = self._optics.get(name), optics
        return before != optics

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


def surface_colors(model: mujoco.MjModel, geoms: np.ndarray) -> np.ndarray:
    """Red, green and blue of geoms, or of their materials where they have one, shape (n, 3)."""
    colors = model.geom_rgba[geoms, :3].astype(float)
    materials = model.geom_matid[geoms]
    painted = materials >= 0
    colors[painted] = model.mat_rgba[materials[painted], :3]
    return colors


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
