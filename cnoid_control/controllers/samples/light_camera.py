"""A robot blinks with its lamp and watches by its camera how bright it gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cnoid_control.body import Device
from cnoid_control.body.devices import Camera, Light
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO, SimpleController


@dataclass
class LightCameraParameters:
    """Options of LightCameraController."""

    camera: str = parameter('', 'name of the camera; the first one where empty', read_only=True)
    light: str = parameter('', 'name of the lamp; the first one where empty', read_only=True)
    period: float = parameter(1.0, 'time from one blink to the next', unit='s', minimum=1e-3)


class LightCameraController(SimpleController):
    """Switches a lamp and measures the mean brightness of the pictures.

    Attributes:
        brightness: mean of the last picture with the lamp on, and with it off, in [0, 255].
        pictures: how many pictures have arrived.
    """

    Parameters = LightCameraParameters

    def initialize(self, io: ControllerIO) -> bool:
        """Read the camera; a lamp needs no enabling."""
        self.io = io
        cameras = io.body.devices_of(Camera)
        lights = io.body.devices_of(Light)
        wanted = io.parameters
        camera = next((c for c in cameras if wanted.camera in ('', c.name)), None)
        light = next((c for c in lights if wanted.light in ('', c.name)), None)
        if camera is None or light is None:
            has = ', '.join(device.name for device in [*cameras, *lights]) or 'none'
            print(f'a camera and a lamp are needed, {io.body.name} has: {has}', file=io.os)
            return False
        self.light = light
        self.brightness = {True: 0.0, False: 0.0}
        self.pictures = 0
        io.enable_input(camera)
        self._disconnect = camera.state_changed.connect(self._watch)
        return True

    def _watch(self, device: Device) -> None:
        assert isinstance(device, Camera)  # It is connected to the camera alone.
        self.pictures += 1
        self.brightness[self.light.on] = float(device.image.mean())
        self.io.log('brightness', self.brightness[self.light.on])

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow the period: control() reads it in every tick."""

    def control(self) -> bool:
        """Switch the lamp when it is time to."""
        phase = self.io.current_time / self.io.parameters.period
        on = phase % 1.0 < 0.5
        if on != self.light.on:
            self.light.on = on
            # Without this the robot's lamp stays as it is.
            self.light.notify_state_change()
        return True

    def stop(self) -> None:
        """Watch no more."""
        self._disconnect()

    def report(self) -> dict[str, float]:
        """How bright the pictures are with the lamp on and off."""
        return {
            'pictures': self.pictures,
            'brightness_on': self.brightness[True],
            'brightness_off': self.brightness[False],
        }
