"""Force sensors, gyros, accelerometers and IMUs, measured by MuJoCo."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import mujoco
import numpy as np

from cnoid_control.body import Body, Device
from cnoid_control.body.devices import ForceSensor
from cnoid_control.hardware.disturbance import Disturbance
from cnoid_control.hardware.mujoco_devices import sensors_of
from cnoid_control.hardware.mujoco_model import MujocoModel
from cnoid_control.hardware.mujoco_parameters import MujocoParameters


@dataclass
class _Measured:
    """One device, where its values come from and where they go."""

    device: Device
    source: slice | np.ndarray
    # MuJoCo's force sensor gives what the parent does to the child, ours the opposite.
    sign: float
    targets: list[tuple[np.ndarray, slice]]
    limit: np.ndarray | None
    disturbance: Disturbance | None


class MotionSensors:
    """Copies what MuJoCo measured into the requested devices, every tick."""

    def __init__(
        self,
        mapping: MujocoModel,
        data: mujoco.MjData,
        body: Body,
        parameters: MujocoParameters,
        period: float,
    ) -> None:
        """Attach to a simulation; nothing is measured before `open`."""
        self._mapping = mapping
        self._sensordata = data.sensordata
        self._body = body
        self._parameters = parameters
        self._period = period
        self._measured: list[_Measured] = []

    @property
    def active(self) -> bool:
        """Whether any device is measured."""
        return bool(self._measured)

    def open(self, names: Collection[str]) -> None:
        """Measure the devices of these names that are motion or force sensors."""
        self._measured = [
            self._prepare(device)
            for device in self._body.devices
            if device.name in names and sensors_of(device)
        ]

    def _prepare(self, device: Device) -> _Measured:
        addresses = self._mapping.devices.addresses(self._mapping.model, device.name)
        limits, targets, start = [], [], 0
        for field in device.measured_fields:
            values = getattr(device, field)
            targets.append((values, slice(start, start + values.size)))
            limits.append(getattr(device, f'{field}_max'))
            start += values.size
        limit = np.concatenate(limits)
        errors = self._parameters.sensors.get(device.name)
        return _Measured(
            device,
            _as_slice(addresses),
            -1.0 if isinstance(device, ForceSensor) else 1.0,
            targets,
            limit if np.isfinite(limit).any() else None,
            None
            if errors is None
            else Disturbance(device.name, start, errors, self._period, self._parameters.seed),
        )

    def take(self) -> None:
        """Give every device that is on its new values and say so."""
        for measured in self._measured:
            device = measured.device
            if not device.on:
                continue
            values = self._sensordata[measured.source] * measured.sign
            if measured.disturbance is not None:
                values = measured.disturbance.apply(values)
            if measured.limit is not None:
                values = np.clip(values, -measured.limit, measured.limit)
            for target, part in measured.targets:
                target[:] = values[part]
            device.notify_state_change()


def _as_slice(addresses: np.ndarray) -> slice | np.ndarray:
    first, last = int(addresses[0]), int(addresses[-1])
    contiguous = np.array_equal(addresses, np.arange(first, last + 1))
    return slice(first, last + 1) if contiguous else addresses
