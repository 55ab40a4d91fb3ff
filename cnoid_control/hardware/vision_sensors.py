"""Cameras and range sensors: when each of them looks, and when what it saw arrives."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Collection
from typing import Any

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.devices import Camera, ImageType, RangeCamera, RangeSensor, VisionSensor
from cnoid_control.hardware.picture_maker import PictureMaker

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

    def __init__(self, body: Body, maker: PictureMaker, seed: int) -> None:
        """Attach to a simulation; nothing is looked at before `open`."""
        self._body = body
        self._maker = maker
        self._seed = seed
        self._eyes: list[_Eye] = []

    @property
    def active(self) -> bool:
        """Whether any sensor is looking."""
        return bool(self._eyes)

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
            if time >= eye.next_look - EPSILON:
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
        seen: dict[str, Any] = {}
        if isinstance(device, RangeSensor):
            seen['range_data'] = maker.scan(device, eye.random)
        if isinstance(device, Camera) and device.image_type is not ImageType.NONE:
            seen['image'] = maker.color(device)
        if isinstance(device, RangeCamera):
            seen['points'] = maker.points(device, eye.random)
        return seen
