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
    """Adds devices to a MuJoCo spec, and finds them again in the compiled model."""

    def __init__(self, spec: mujoco.MjSpec, exact_accelerometer: bool) -> None:
        """Begin without devices.

        Args:
            spec: what they are added to.
            exact_accelerometer: whether accelerometers feel the acceleration at their own place,
                not at the origin of the link.
        """
        self._spec = spec
        self._exact = exact_accelerometer
        self._sensors: dict[str, list[mujoco.MjsSensor]] = {}
        self._cameras: dict[str, mujoco.MjsCamera] = {}
        self._lights: dict[str, mujoco.MjsLight] = {}

    def add(self, body: mujoco.MjsBody, device: Device) -> None:
        """Add one device to the MuJoCo body of its link."""
        for kind in sensor_kind(device).sensors:
            at_origin = kind == ACCELEROMETER and not self._exact
            site = body.add_site(
                name=f'device/{device.name}/{kind.name}',
                pos=np.zeros(3) if at_origin else device.p_local,
                quat=quaternion(device.R_local),
                group=5,
            )
            sensor = self._spec.add_sensor(
                type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site.name
            )
            self._sensors.setdefault(device.name, []).append(sensor)
        # Other lenses are beyond MuJoCo's renderer.
        if isinstance(device, Camera) and device.lens_type is LensType.NORMAL:
            self._cameras[device.name] = body.add_camera(
                name=f'device/{device.name}',
                pos=device.p_local,
                quat=quaternion(device.R_optical),
                fovy=math.degrees(device.vertical_field_of_view),
            )
        if isinstance(device, Light):
            self._lights[device.name] = self._add_light(body, device)

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

    def addresses(self, model: mujoco.MjModel, name: str) -> np.ndarray:
        """Places in `sensordata` of all values of a device, in the device's order."""
        starts = [int(model.sensor_adr[sensor.id]) for sensor in self._sensors[name]]
        return np.concatenate([np.arange(start, start + 3) for start in starts])

    def camera(self, name: str) -> int:
        """MuJoCo camera of a device."""
        return self._cameras[name].id

    def light(self, name: str) -> int:
        """MuJoCo light of a device."""
        return self._lights[name].id
