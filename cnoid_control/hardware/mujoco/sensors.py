"""Sensors in MuJoCo."""

from __future__ import annotations

import logging
import zlib
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

import mujoco
import numpy as np

from cnoid_control.body import Body, Device
from cnoid_control.body.devices import (
    Camera,
    ImageType,
    RangeCamera,
    RangeSensor,
    VisionSensor,
)
from cnoid_control.hardware.disturbance import Disturbance, DisturbanceParameters
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.mujoco.devices import sensor_kind
from cnoid_control.hardware.mujoco.model import MujocoModel
from cnoid_control.hardware.mujoco.parameters import SceneParameters
from cnoid_control.hardware.mujoco.renderer import CameraRenderer

Call = Callable[[], object]

logger = logging.getLogger(__name__)


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
        self._measured = []
        for device in self._body.devices:
            if device.name not in names or isinstance(device, VisionSensor):
                continue
            if self._mapping.devices.is_measured(device.name):
                self._measured.append(self._prepare(device))
            elif any(getattr(device, field).size for field in device.measured_fields):
                logger.warning('nothing measures device %r here: it stays zero', device.name)

    def _prepare(self, device: Device) -> _Measured:
        sensors = self._mapping.devices.sensors(device.name)
        addresses = np.concatenate(sensors)
        fields = [getattr(device, field) for field in device.measured_fields]
        limit = np.concatenate(
            [
                getattr(device, f'{field}_max', np.full(getattr(device, field).size, np.inf))
                for field in device.measured_fields
            ]
        )
        sign = sensor_kind(device).sign
        errors = self._parameters.sensors.get(device.name)
        if errors is None and np.isinf(limit).all():
            return _Measured(device, self._plain_copies(sensors, fields, sign))
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
        self, sensors: list[np.ndarray], fields: list[np.ndarray], sign: float
    ) -> list[Call]:
        """Calls that copy the values of faultless sensors; a field has those of one or more."""
        calls: list[Call] = []
        remaining = iter(sensors)
        for field in fields:
            begin = 0
            while begin < field.size:
                places = next(remaining)
                part = field[begin : begin + places.size]
                begin += places.size
                source = self._sensordata[places[0] : places[0] + places.size]
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


# Slack for the rounding of tick times [s].
EPSILON = 1e-9


class _Eye:
    """One vision sensor with its clock and what is on its way."""

    def __init__(self, device: VisionSensor, seed: int) -> None:
        self.device = device
        self.random = np.random.default_rng([seed, zlib.crc32(device.name.encode())])
        self.next_look = 0.0
        self.under_way: deque[tuple[float, dict[str, Any]]] = deque()


class VisionSensors:
    """Lets every requested vision sensor look at its own rate, and hands over after its delay."""

    def __init__(self, body: Body, maker: CameraRenderer, seed: int) -> None:
        self._body = body
        self._maker = maker
        self._seed = seed
        self._eyes: list[_Eye] = []
        # Tells whether anybody wants to know what a sensor sees.
        self.is_wanted: Callable[[str], bool] = lambda name: True

    @property
    def active(self) -> bool:
        """Whether any sensor is looking."""
        return bool(self._eyes)

    @property
    def reads_sensors(self) -> bool:
        """Whether any sensor takes what MuJoCo's own sensors measure."""
        return any(self._maker.is_measured(eye.device) for eye in self._eyes)

    def open(self, names: Collection[str], time: float) -> None:
        """Let the vision sensors of these names look from now on."""
        running = {eye.device.name: eye for eye in self._eyes if time > 0.0}
        self._eyes = []
        for device in self._body.devices:
            if device.name in names and isinstance(device, VisionSensor):
                eye = running.get(device.name) or _Eye(device, self._seed)
                eye.next_look = max(eye.next_look, time)
                self._eyes.append(eye)

    def take(self, time: float) -> None:
        """Look where it is time to, and hand over what has arrived."""
        for eye in self._eyes:
            device = eye.device
            if time >= eye.next_look - EPSILON and self.is_wanted(device.name):
                if device.on:
                    eye.under_way.append((time + device.delay, self._look(eye)))
                period = 1.0 / device.frame_rate if device.frame_rate > 0.0 else 0.0
                # A sensor slower than the loop keeps its rate, a faster one sees every tick.
                eye.next_look = max(eye.next_look + period, time)
            while eye.under_way and eye.under_way[0][0] <= time + EPSILON:
                for field, value in eye.under_way.popleft()[1].items():
                    setattr(device, field, value)
                device.notify_state_change()

    def _look(self, eye: _Eye) -> dict[str, Any]:
        device, maker = eye.device, self._maker
        problem = device.problem()
        if problem:
            # MuJoCo would end the process.
            raise HardwareError(problem)
        seen: dict[str, Any] = {}
        if isinstance(device, RangeSensor):
            seen['range_data'] = maker.scan(device, eye.random)
        if isinstance(device, Camera) and device.image_type is not ImageType.NONE:
            seen['image'] = maker.color(device)
        if isinstance(device, RangeCamera):
            seen['points'] = maker.points(device, eye.random)
        return seen
