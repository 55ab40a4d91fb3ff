"""Pictures of an episode."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from cnoid_control.hardware.mujoco.renderer import GlRenderer, RenderingUnavailable
from cnoid_control.notebook import picture_of
from cnoid_control.simulation import Simulation

# Distance of the camera in sizes of the robot, and where it looks from [degrees].
DISTANCE = 2.2
AZIMUTH, ELEVATION = 145.0, -18.0
LEAST_SIZE = 0.3
# What is seen, in distances of the camera.
NEAREST, FARTHEST = 0.02, 50.0


class Camera:
    """Follows a robot; draws by the graphics library, else by ray casting."""

    def __init__(self, size: tuple[int, int]) -> None:
        """Prepare.

        Args:
            size: height and width of a picture [pixel].
        """
        self._size = size
        self._renderer: GlRenderer | None = None
        self._model: Any = None
        self._is_blind = False

    def draw(self, simulation: Simulation) -> np.ndarray:
        """Picture of what is there now, uint8, shape (height, width, 3)."""
        model = getattr(simulation.hardware, 'model', None)
        if model is None or self._is_blind:
            return picture_of([simulation.robot], self._size)
        height, width = self._size
        if self._renderer is None or self._model is not model:
            self.close()
            try:
                self._renderer = GlRenderer(model, width, height)
            except RenderingUnavailable:
                self._is_blind = True
                return self.draw(simulation)
            self._model = model
        robot = simulation.robot.clone()
        robot.calc_forward_kinematics()
        places = np.array([link.p for link in robot.links])
        view = mujoco.MjvCamera()
        view.lookat[:] = (places.min(axis=0) + places.max(axis=0)) / 2
        view.distance = DISTANCE * max(float(np.ptp(places, axis=0).max()), LEAST_SIZE)
        view.azimuth, view.elevation = AZIMUTH, ELEVATION
        data = simulation.hardware.data  # type: ignore[attr-defined]
        near, far = NEAREST * view.distance, FARTHEST * view.distance
        return self._renderer.render(data, view, (width, height), near, far)

    def close(self) -> None:
        """Free the graphics library."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = self._model = None
