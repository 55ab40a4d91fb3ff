"""Sensors and cameras of an MJCF file as devices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from cnoid_control.body.description import BodyDescription
from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    GenericDevice,
    Imu,
    OpticalFrame,
    RangeSensor,
    RateGyroSensor,
)
from cnoid_control.body.devices.base import Device
from cnoid_control.body.formats.mjcf_file import sensor_word
from cnoid_control.exceptions import listed

if TYPE_CHECKING:
    import mujoco

# Keys in the description's `info`: MuJoCo's sensors of each device in the order of its values,
# sensors that the file lacks (name -> kind, site), and MuJoCo's camera of each camera.
SENSORS, ADDED_SENSORS, CAMERAS = 'mjcf_sensors', 'mjcf_added_sensors', 'mjcf_cameras'

# What the joints' own state tells already.
STATE_SENSORS = ('jointpos', 'jointvel', 'jointactfrc')

# Two sensors on one site that are one device.
PAIRS = {('gyro', 'accelerometer'): Imu, ('force', 'torque'): ForceSensor}

# Distance up to which a range finder without a cutoff sees [m].
FAR = 1000.0


def read_devices(model: mujoco.MjModel, description: BodyDescription, bodies: np.ndarray) -> None:
    """Give a description the sensors and cameras on some bodies of a compiled model."""
    _SensorReader(model, description, set(bodies.tolist())).read()


class _SensorReader:
    def __init__(
        self, model: mujoco.MjModel, description: BodyDescription, bodies: set[int]
    ) -> None:
        self._model, self._description, self._bodies = model, description, bodies
        self._sensors: dict[str, list[str]] = {}
        self._added: dict[str, tuple[str, str]] = {}
        self._cameras: dict[str, str] = {}
        self._generic: list[str] = []

    def read(self) -> None:
        import mujoco

        model = self._model
        kinds = [sensor_word(mujoco.mjtSensor(int(kind))) for kind in model.sensor_type]
        at_site: dict[int, dict[str, int]] = {}
        for sensor, kind in enumerate(kinds):
            if model.sensor_objtype[sensor] == int(mujoco.mjtObj.mjOBJ_SITE):
                site = int(model.sensor_objid[sensor])
                at_site.setdefault(site, {}).setdefault(kind, sensor)
        done: set[int] = set()
        for sensor, kind in enumerate(kinds):
            if sensor in done or kind in STATE_SENSORS:
                continue
            body, pose = self._place(sensor)
            if body not in self._bodies:
                continue
            partners = {}
            if model.sensor_objtype[sensor] == int(mujoco.mjtObj.mjOBJ_SITE):
                partners = at_site[int(model.sensor_objid[sensor])]
            done.add(sensor)
            for pair, device_class in PAIRS.items():
                # Another sensor of the kind on the same site stands for itself.
                if kind in pair and partners.get(kind) == sensor:
                    other = partners.get(pair[1 - pair.index(kind)])
                    if other is not None:
                        done.add(other)
                        place = str(model.site(int(model.sensor_objid[sensor])).name)
                        names = [str(model.sensor(partners[part]).name) for part in pair]
                        self._add(body, device_class(self._free_name(place), T_local=pose), names)
                        break
            else:
                self._add_single(sensor, kind, body, pose)
        for camera in range(model.ncam):
            self._add_camera(camera)
        info = self._description.info
        info[SENSORS], info[ADDED_SENSORS], info[CAMERAS] = (
            self._sensors,
            self._added,
            self._cameras,
        )
        if self._generic:
            self._description.warnings.append(
                f'{len(self._generic)} sensors without a device class are generic devices: '
                f'{listed(self._generic)}'
            )

    def _place(self, sensor: int) -> tuple[int, np.ndarray]:
        """Body that a sensor is on, or measures against, and its pose there."""
        model = self._model
        place = self._object_place(
            int(model.sensor_objtype[sensor]), int(model.sensor_objid[sensor])
        )
        if place[0] in self._bodies or model.sensor_refid[sensor] < 0:
            return place
        return self._object_place(
            int(model.sensor_reftype[sensor]), int(model.sensor_refid[sensor])
        )

    def _object_place(self, kind: int, index: int) -> tuple[int, np.ndarray]:
        """Body that an object is on, and its pose there; the root for what is on nothing."""
        import mujoco

        model, kinds = self._model, mujoco.mjtObj
        if kind == int(kinds.mjOBJ_SITE):
            pose = _pose(model.site_pos[index], model.site_quat[index])
            return int(model.site_bodyid[index]), pose
        if kind == int(kinds.mjOBJ_BODY):
            return index, _pose(model.body_ipos[index], model.body_iquat[index])
        if kind == int(kinds.mjOBJ_XBODY):
            return index, np.eye(4)
        if kind == int(kinds.mjOBJ_GEOM):
            pose = _pose(model.geom_pos[index], model.geom_quat[index])
            return int(model.geom_bodyid[index]), pose
        if kind == int(kinds.mjOBJ_CAMERA):
            pose = _pose(model.cam_pos[index], model.cam_quat[index])
            return int(model.cam_bodyid[index]), pose
        return min(self._bodies), np.eye(4)

    def _free_name(self, wanted: str) -> str:
        taken = {device.name for _, device in self._description.devices}
        name, number = wanted, 2
        while name in taken:
            name, number = f'{wanted}_{number}', number + 1
        return name

    def _add(self, body: int, device: Device, sensors: list[str]) -> None:
        self._description.devices.append((str(self._model.body(body).name), device))
        if sensors:
            self._sensors[device.name] = sensors

    def _add_single(self, sensor: int, kind: str, body: int, pose: np.ndarray) -> None:
        model = self._model
        label = str(model.sensor(sensor).name)
        name = self._free_name(label)
        device: Device
        names = [label]
        if kind == 'gyro':
            device = RateGyroSensor(name, T_local=pose)
        elif kind == 'accelerometer':
            device = AccelerationSensor(name, T_local=pose)
        elif kind in ('force', 'torque'):
            device = ForceSensor(name, T_local=pose)
            # The device has both halves: the file's lacking one is added to the physics.
            other = 'torque' if kind == 'force' else 'force'
            site = str(model.site(int(model.sensor_objid[sensor])).name)
            self._added[f'{label}/{other}'] = (other, site)
            names = [label, f'{label}/{other}']
            names = names if kind == 'force' else names[::-1]
        elif kind == 'rangefinder' and int(model.sensor_dim[sensor]) == 1:
            device = RangeSensor(
                name,
                yaw_range=0.0,
                min_distance=0.0,
                max_distance=float(model.sensor_cutoff[sensor]) or FAR,
                frame_rate=0.0,
                optical_frame=OpticalFrame.CV,
                T_local=pose,
            )
        else:
            size = int(model.sensor_dim[sensor])
            device = GenericDevice(name, kind, size=size, T_local=pose)
            self._generic.append(f'{name} ({kind})')
        self._add(body, device, names)

    def _add_camera(self, index: int) -> None:
        import mujoco

        model = self._model
        body, label = int(model.cam_bodyid[index]), str(model.camera(index).name)
        if body not in self._bodies:
            return
        if model.cam_mode[index] != int(mujoco.mjtCamLight.mjCAMLIGHT_FIXED):
            # It follows the robot to show it, and is not carried by it.
            return
        width, height = model.cam_resolution[index].tolist()
        if width <= 1 or height <= 1:
            width, height = 640, 480
        field_of_view = math.radians(float(model.cam_fovy[index]))
        if width < height:
            field_of_view = 2.0 * math.atan(math.tan(field_of_view / 2.0) * width / height)
        extent, clip = float(model.stat.extent), model.vis.map
        camera = Camera(
            self._free_name(label),
            width=width,
            height=height,
            field_of_view=field_of_view,
            near=float(clip.znear) * extent,
            far=float(clip.zfar) * extent,
            T_local=_pose(model.cam_pos[index], model.cam_quat[index]),
        )
        self._cameras[camera.name] = label
        self._add(body, camera, [])


def _pose(position: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion.tolist()
    pose = np.eye(4)
    pose[:3, :3] = pin.Quaternion(w, x, y, z).normalized().toRotationMatrix()
    pose[:3, 3] = position
    return pose
