"""Casts rays into the simulated world."""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.hardware.mujoco_geometry import UNSEEN_GROUP

# What can be seen: the floor and the things that are drawn.
SEEN_GROUPS = np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8)


class RayCaster:
    """A bundle of rays from one point of a link.

    Shapes that begin nearer than the near distance are left out as a whole: a camera sits inside
    its own housing.

    Attributes:
        directions: unit directions in the sensor's axes, shape (n, 3).
        distances: where each ray hit something last [m], infinite for nothing, shape (n,).
        geoms: what it hit, -1 for nothing, shape (n,).
        normals: outward unit normals of what it hit, world axes, shape (n, 3).
    """

    def __init__(
        self, model: mujoco.MjModel, data: mujoco.MjData, directions: np.ndarray, body: int
    ) -> None:
        """Prepare the buffers.

        Args:
            model: the simulated world.
            data: its state.
            directions: unit directions in the sensor's axes, shape (n, 3).
            body: MuJoCo body that carries the sensor.
        """
        self._model, self._data = model, data
        self._body = body
        self.directions = directions
        count = len(directions)
        self.distances = np.full(count, np.inf)
        self.geoms = np.full(count, -1, dtype=np.int32)
        self.normals = np.zeros((count, 3))
        # What is too near on the sensor's own link is so for ever: it is looked for only once.
        self._housing: set[int] = set()

    def cast(
        self, origin: np.ndarray, rotation: np.ndarray, near: float, far: float
    ) -> np.ndarray:
        """Cast all rays.

        Args:
            origin: where they start, in the world [m], shape (3,).
            rotation: the sensor's axes in the world, shape (3, 3).
            near: distance within which nothing is hit [m].
            far: distance beyond which nothing is hit [m].

        Returns:
            The directions in world axes, shape (n, 3).
        """
        rays = np.ascontiguousarray(self.directions @ rotation.T)
        hidden = set(self._housing)
        while True:
            self._cast_once(origin, rays, far, sorted(hidden))
            blocking = np.unique(self.geoms[(self.distances < near) & (self.geoms >= 0)])
            if not blocking.size:
                break
            hidden.update(blocking.tolist())
            own = self._model.geom_bodyid[blocking] == self._body
            self._housing.update(blocking[own].tolist())
        self.distances[self.distances > far] = np.inf
        self.geoms[np.isinf(self.distances)] = -1
        return rays

    def _cast_once(
        self, origin: np.ndarray, rays: np.ndarray, far: float, hidden: list[int]
    ) -> None:
        model = self._model
        groups = model.geom_group[hidden].copy()
        model.geom_group[hidden] = UNSEEN_GROUP
        try:
            mujoco.mj_multiRay(
                model,
                self._data,
                np.array(origin),
                rays.reshape(-1),
                SEEN_GROUPS,
                True,
                -1,
                self.geoms,
                self.distances,
                self.normals.reshape(-1),
                len(rays),
                far,
            )
        finally:
            model.geom_group[hidden] = groups
        self.distances[self.geoms < 0] = np.inf
