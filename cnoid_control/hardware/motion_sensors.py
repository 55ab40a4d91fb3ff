"""Force sensors, gyros, accelerometers and IMUs, measured by MuJoCo."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

import mujoco
import numpy as np

from cnoid_control.body import Body, Device
from cnoid_control.body.devices import ForceSensor
from cnoid_control.hardware.disturbance import Disturbance, DisturbanceParameters
from cnoid_control.hardware.mujoco_devices import sensors_of
from cnoid_control.hardware.mujoco_model import MujocoModel
from cnoid_control.hardware.scene_parameters import SceneParameters

Call = Callable[[], object]


@dataclass
class _Measured:
    """One device, and the calls that bring its values over."""

    device: Device
    calls: list[Call]


class MotionSensors:
    """Copies what MuJoCo measured into the requested devices, every tick."""

    def __init__(
        self,
        mapping: MujocoModel,
        data: mujoco.MjData,
        body: Body,
        parameters: SceneParameters,
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
        fields = [getattr(device, field) for field in device.measured_fields]
        limit = np.concatenate(
            [getattr(device, f'{field}_max') for field in device.measured_fields]
        )
        # MuJoCo's force sensor gives what the parent does to the child, ours the opposite.
        sign = -1.0 if isinstance(device, ForceSensor) else 1.0
        errors = self._parameters.sensors.get(device.name)
        if errors is None and np.isinf(limit).all():
            return _Measured(device, self._plain_copies(addresses, fields, sign))
        disturbance = Disturbance(
            device.name,
            addresses.size,
            errors or DisturbanceParameters(),
            self._period,
            self._parameters.seed,
        )

        def measure() -> None:
            values = disturbance.apply(self._sensordata[addresses] * sign)
            values = np.clip(values, -limit, limit)
            for field, part in zip(fields, np.split(values, ends), strict=True):
                field[:] = part

        ends = np.cumsum([field.size for field in fields])[:-1]
        return _Measured(device, [measure])

    def _plain_copies(
        self, addresses: np.ndarray, fields: list[np.ndarray], sign: float
    ) -> list[Call]:
        """Calls that copy a faultless sensor's values, three numbers each."""
        calls: list[Call] = []
        parts = [part for field in fields for part in field.reshape(-1, 3)]
        for part, start in zip(parts, addresses[::3], strict=True):
            source = self._sensordata[start : start + 3]
            if sign < 0.0:
                calls.append(partial(np.negative, source, part))
            else:
                calls.append(partial(part.__setitem__, Ellipsis, source))
        return calls

    def take(self) -> None:
        """Give every device that is on its new values and say so."""
        for measured in self._measured:
            device = measured.device
            if device.on:
                for call in measured.calls:
                    call()
                device.notify_state_change()
