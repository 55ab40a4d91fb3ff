"""Gyros, accelerometers and IMUs of a robot whose motion is known exactly."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from cnoid_control.body import Body, Device
from cnoid_control.body.devices import AccelerationSensor, Imu, Light, RateGyroSensor
from cnoid_control.hardware.disturbance import Disturbance
from cnoid_control.hardware.exceptions import UnknownDevice, UnsupportedDevice
from cnoid_control.hardware.kinematic_parameters import KinematicParameters

MEASURED = (RateGyroSensor, AccelerationSensor, Imu)


class IdealSensors:
    """Computes the requested devices from the links of the body that carries them."""

    def __init__(self, body: Body, parameters: KinematicParameters, period: float) -> None:
        """Attach to a body; nothing is measured before `open`."""
        self._body = body
        self._parameters = parameters
        self._period = period
        self._gravity = np.array([0.0, 0.0, -parameters.gravity])
        self._devices: list[tuple[Device, Disturbance | None]] = []

    def open(self, names: Collection[str]) -> None:
        """Measure these devices.

        Raises:
            UnknownDevice: the robot has no such device.
            UnsupportedDevice: only physics could tell what the device feels or sees.
        """
        found = {device.name: device for device in self._body.devices}
        self._devices = []
        for name in sorted(names):
            if name not in found:
                raise UnknownDevice(name, found)
            device = found[name]
            if isinstance(device, MEASURED):
                self._devices.append((device, self._errors_of(device)))
            elif not isinstance(device, Light):
                kinds = [kind.__name__ for kind in (*MEASURED, Light)]
                raise UnsupportedDevice(name, type(device).__name__, 'kinematic', kinds)

    def _errors_of(self, device: Device) -> Disturbance | None:
        errors = self._parameters.sensors.get(device.name)
        if errors is None:
            return None
        size = sum(getattr(device, field).size for field in device.measured_fields)
        return Disturbance(device.name, size, errors, self._period, self._parameters.seed)

    def take(self) -> None:
        """Give every device that is on its new values and say so."""
        for device, errors in self._devices:
            link = device.link
            if not device.on or link is None:
                continue
            axes = link.R @ device.R_local
            true = {'w': axes.T @ link.w, 'dv': axes.T @ (link.dv - self._gravity)}
            values = np.concatenate([true[field] for field in device.measured_fields])
            if errors is not None:
                values = errors.apply(values)
            for i, field in enumerate(device.measured_fields):
                limit = getattr(device, f'{field}_max')
                part = values[3 * i : 3 * i + 3]
                getattr(device, field)[:] = np.clip(part, -limit, limit)
            device.notify_state_change()
