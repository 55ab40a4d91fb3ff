"""Rows of the velocities of many points of a body, by one product."""

from __future__ import annotations

import numpy as np

from cnoid_control.body import Link
from cnoid_control.controllers.tasks.kinematics import TaskKinematics

# p x e for the unit vectors e: row, element of it, element of p, sign.
CROSS = (
    (0, 1, 2, 1.0),
    (0, 2, 1, -1.0),
    (1, 0, 2, -1.0),
    (1, 2, 0, 1.0),
    (2, 0, 1, 1.0),
    (2, 1, 0, -1.0),
)

# Link, place of its rows in the array, which of its six rows they are, and their scales.
Point = tuple[Link, slice, np.ndarray, np.ndarray]


class PointRows:
    """Chosen rows of the Jacobians of links' origins, world axes, in an array that is kept.

    Pinocchio has the twist of each joint about the world's origin as a column of one matrix J. A
    row of the velocity of a point p along e is (e, p x e) J over the columns of the joints that
    carry the point: all rows are one product.
    """

    def __init__(
        self, kinematics: TaskKinematics, points: list[Point], target: np.ndarray
    ) -> None:
        """Choose the rows.

        Args:
            kinematics: of the body; `has_point_rows` is true for all links.
            points: what is put where.
            target: array that is filled, shape (rows, unknowns); between the first and the last
                of the rows chosen, others become zero.
        """
        self._kinematics = kinematics
        self._links = [link for link, *_ in points]
        self._positions = np.zeros((len(points), 3))
        places = kinematics.position_places(self._links)
        first = min(place.start for _, place, _, _ in points)
        last = max(place.stop for _, place, _, _ in points)
        self._target = target[first:last]
        self._map = np.zeros((last - first, 6))
        self._flat_map = self._map.reshape(-1)
        self._mask = np.zeros(self._target.shape)
        elements, sources, signs = [], [], []
        for i, (link, place, own, scale) in enumerate(points):
            start = place.start - first
            self._mask[start : start + len(own)] = kinematics.carried(link)
            for j, row in enumerate(own.tolist(), start):
                self._map[j, row] = scale[j - start]
                for axis, element, coordinate, sign in CROSS:
                    if axis == row:
                        elements.append(6 * j + 3 + element)
                        sources.append(3 * i + coordinate)
                        signs.append(sign * scale[j - start])
        self._elements = np.array(elements, dtype=int)
        # Where all links are the origins of joints, their positions need not be collected.
        self._is_direct = places is not None
        self._sources = np.array(sources, dtype=int)
        if places is not None:
            self._sources = places[self._sources]
        self._signs = np.array(signs)

    def refresh(self) -> None:
        """Fill the rows for the state of now."""
        kinematics, positions = self._kinematics, self._positions
        if self._is_direct:
            positions = kinematics.pose_values
        else:
            for i, link in enumerate(self._links):
                positions[i] = kinematics.placement(link).translation
        arms = positions.take(self._sources)
        arms *= self._signs
        self._flat_map[self._elements] = arms
        np.multiply(self._map.dot(kinematics.twists()), self._mask, out=self._target)
