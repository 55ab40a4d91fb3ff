"""Devices of a robot as MuJoCo sites, sensors, cameras and lights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from cnoid_control.body import Device
from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    Imu,
    LensType,
    Light,
    RateGyroSensor,
    SpotLight,
)
from cnoid_control.hardware.mujoco.elements import DeviceElements
from cnoid_control.hardware.mujoco.geometry import quaternion

FORCE = mujoco.mjtSensor.mjSENS_FORCE
TORQUE = mujoco.mjtSensor.mjSENS_TORQUE
GYRO = mujoco.mjtSensor.mjSENS_GYRO
ACCELEROMETER = mujoco.mjtSensor.mjSENS_ACCELEROMETER

# Shares of the world's own light that come from everywhere and from the onlooker.
AMBIENT, HEADLIGHT = 0.35, 0.55


@dataclass(frozen=True)
class SensorKind:
    """How MuJoCo measures a kind of device.

    Attributes:
        sensors: MuJoCo's sensors, in the order of the device's own values.
        sign: factor of MuJoCo's values.
    """

    sensors: tuple[mujoco.mjtSensor, ...] = ()
    sign: float = 1.0


# The kinds of devices that MuJoCo's sensors measure: a new one is a line here.
SENSOR_KINDS: dict[type[Device], SensorKind] = {
    # MuJoCo's force sensor gives what the parent does to the child, ours the opposite.
    ForceSensor: SensorKind((FORCE, TORQUE), sign=-1.0),
    RateGyroSensor: SensorKind((GYRO,)),
    AccelerationSensor: SensorKind((ACCELEROMETER,)),
    Imu: SensorKind((GYRO, ACCELEROMETER)),
}


def sensor_kind(device: Device) -> SensorKind:
    """How MuJoCo measures a device; a kind without sensors where it does not."""
    for device_type, kind in SENSOR_KINDS.items():
        if isinstance(device, device_type):
            return kind
    return SensorKind()


class DeviceBuilder:
    """Adds devices to a MuJoCo spec."""

    def __init__(
        self, spec: mujoco.MjSpec, elements: DeviceElements, exact_accelerometer: bool
    ) -> None:
        """Begin without devices.

        Args:
            spec: what they are added to.
            elements: where it is noted what they are called there.
            exact_accelerometer: whether accelerometers feel the acceleration at their own place,
                not at the origin of the link.
        """
        self._spec = spec
        self._elements = elements
        self._exact = exact_accelerometer

    def add(self, body: mujoco.MjsBody, device: Device) -> None:
        """Add one device to the MuJoCo body of its link."""
        for kind in sensor_kind(device).sensors:
            at_origin = kind == ACCELEROMETER and not self._exact
            name = f'device/{device.name}/{kind.name}'
            body.add_site(
                name=name,
                pos=np.zeros(3) if at_origin else device.p_local,
                quat=quaternion(device.R_local),
                group=5,
            )
            self._spec.add_sensor(
                name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=name
            )
            self._elements.sensors.setdefault(device.name, []).append(name)
        # Other lenses are beyond MuJoCo's renderer.
        if isinstance(device, Camera) and device.lens_type is LensType.NORMAL:
            camera = body.add_camera(
                name=f'device/{device.name}',
                pos=device.p_local,
                quat=quaternion(device.R_optical),
                fovy=math.degrees(device.vertical_field_of_view),
            )
            self._elements.cameras[device.name] = camera.name
        if isinstance(device, Light):
            self._elements.lights[device.name] = self._add_light(body, device).name

    def _add_light(self, body: mujoco.MjsBody, device: Light) -> mujoco.MjsLight:
        light = body.add_light(
            name=f'device/{device.name}',
            pos=device.p_local,
            # MuJoCo's renderer draws spots only; one that is open all round is a point.
            type=mujoco.mjtLightType.mjLIGHT_SPOT,
            cutoff=180.0,
            exponent=0.0,
            castshadow=False,
        )
        # How bright and how wide it is, `Lights` keeps up to date.
        if isinstance(device, SpotLight):
            light.dir = device.R_local @ device.direction
        return light


class DeviceMap:
    """Where the devices of a robot are in a compiled model."""

    def __init__(self, model: mujoco.MjModel, elements: DeviceElements, prefix: str = '') -> None:
        """Look into a model.

        Args:
            model: the compiled model.
            elements: what the devices are called.
            prefix: what stands before these names in the model.
        """
        self._model = model
        self._elements = elements
        self._prefix = prefix

    def is_measured(self, name: str) -> bool:
        """Whether MuJoCo's sensors measure a device."""
        return name in self._elements.sensors

    def sensors(self, name: str) -> list[np.ndarray]:
        """Places in `sensordata` of the values of a device, by sensor, in the device's order."""
        places = []
        for sensor in self._elements.sensors[name]:
            index = element_id(self._model, mujoco.mjtObj.mjOBJ_SENSOR, self._prefix + sensor)
            start = int(self._model.sensor_adr[index])
            places.append(np.arange(start, start + int(self._model.sensor_dim[index])))
        return places

    def camera(self, name: str) -> int:
        """MuJoCo camera of a device."""
        camera = self._prefix + self._elements.cameras[name]
        return element_id(self._model, mujoco.mjtObj.mjOBJ_CAMERA, camera)

    def light(self, name: str) -> int:
        """MuJoCo light of a device."""
        light = self._prefix + self._elements.lights[name]
        return element_id(self._model, mujoco.mjtObj.mjOBJ_LIGHT, light)


def element_id(model: mujoco.MjModel, kind: mujoco.mjtObj, name: str) -> int:
    """Index of an element of a compiled model by its name.

    Raises:
        KeyError: there is none.
    """
    index = mujoco.mj_name2id(model, kind, name)
    if index < 0:
        raise KeyError(f'the MuJoCo model has no {kind.name} {name!r}')
    return index
