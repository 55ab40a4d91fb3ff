"""Lamps of the robot: what controllers switch and dim, and how bright they make things."""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.body import Body, Device
from cnoid_control.body.devices import Light, PointLight, SpotLight
from cnoid_control.hardware.mujoco_model import MujocoModel


class Lights:
    """Keeps MuJoCo's lights as the robot's lamps are; a change counts once it was announced."""

    def __init__(self, mapping: MujocoModel, data: mujoco.MjData, body: Body) -> None:
        """Take the lamps over as they are, and follow their announced changes."""
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
