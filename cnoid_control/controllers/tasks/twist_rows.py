"""Rows of the velocities of many links of a body, by one product."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from cnoid_control.body import Link
from cnoid_control.controllers.tasks.body_tasks import BodyScrewTask
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

Jlog6 = pin.Jlog6


class Place(NamedTuple):
    """Where rows of a link are put.

    Attributes:
        link: the link.
        rows: place of its rows in the array.
        own: which of its six rows they are.
        scale: factor on each.
    """

    link: Link
    rows: slice
    own: np.ndarray
    scale: np.ndarray


class TwistRows:
    """Chosen rows of the velocities of links, in an array that is kept.

    Pinocchio has the twist of each joint about the world's origin as a column of one matrix J.
    What is linear in the twist of a link is a row times J over the columns of the joints that
    carry the link: all rows are one product.
    """

    def __init__(
        self,
        kinematics: TaskKinematics,
        points: list[Place],
        screws: list[tuple[BodyScrewTask, Place]],
        target: np.ndarray,
    ) -> None:
        """Choose the rows.

        Args:
            kinematics: of the body; `has_point_rows` is true for all links.
            points: Jacobians of links' origins, world axes.
            screws: how twists of links from their targets change, link axes.
            target: array that is filled, shape (rows, unknowns); between the first and the last
                of the rows chosen, others become zero.
        """
        self._kinematics = kinematics
        places = points + [place for _, place in screws]
        first = min(place.rows.start for place in places)
        last = max(place.rows.stop for place in places)
        self._target = target[first:last]
        self._map = np.zeros((last - first, 6))
        self._mask = np.zeros(self._target.shape)
        for place in places:
            rows = slice(place.rows.start - first, place.rows.stop - first)
            self._mask[rows] = kinematics.carried(place.link)
        self._points = _PointMap(kinematics, points, self._map, first) if points else None
        self._screws = _ScrewMap(screws, self._map, first) if screws else None

    def refresh(self) -> None:
        """Fill the rows for the state of now."""
        if self._points is not None:
            self._points.refresh()
        if self._screws is not None:
            self._screws.refresh()
        target = self._target
        np.dot(self._map, self._kinematics.twists(), target)
        np.multiply(target, self._mask, target)


class _PointMap:
    """From twists to velocities of points: a row along e at p is (e, p x e)."""

    def __init__(
        self, kinematics: TaskKinematics, points: list[Place], target: np.ndarray, first: int
    ) -> None:
        """Put what does not change into a map whose row 0 is row `first` of the places."""
        self._kinematics = kinematics
        self._links = [place.link for place in points]
        self._positions = np.zeros((len(points), 3))
        self._flat_map = target.reshape(-1)
        elements, sources, signs = [], [], []
        for i, place in enumerate(points):
            for j, row in enumerate(place.own.tolist()):
                place_in_map = place.rows.start - first + j
                target[place_in_map, row] = place.scale[j]
                for axis, element, coordinate, sign in CROSS:
                    if axis == row:
                        elements.append(6 * place_in_map + 3 + element)
                        sources.append(3 * i + coordinate)
                        signs.append(sign * place.scale[j])
        self._elements = np.array(elements, dtype=int)
        # Where all links are the origins of joints, their positions need not be collected.
        direct = kinematics.position_places(self._links)
        self._is_direct = direct is not None
        self._sources = np.array(sources, dtype=int)
        if direct is not None:
            self._sources = direct[self._sources]
        self._signs = np.array(signs)

    def refresh(self) -> None:
        """Fill in where the points are now."""
        kinematics, positions = self._kinematics, self._positions
        if self._is_direct:
            positions = kinematics.pose_values
        else:
            for i, link in enumerate(self._links):
                positions[i] = kinematics.placement(link).translation
        arms = positions.take(self._sources)
        arms *= self._signs
        self._flat_map[self._elements] = arms


class _ScrewMap:
    """From twists in the world to what the logarithms of offsets from targets change by.

    With the pose M of a link and its target M*, the change of log(M^-1 M*) by a twist of the link
    in its own axes is Jlog(M*^-1 M), which in the world's axes is Jlog(M^-1 M*) Ad(M*^-1).
    """

    def __init__(
        self, screws: list[tuple[BodyScrewTask, Place]], target: np.ndarray, first: int
    ) -> None:
        """Fill parts of a map whose row 0 is row `first` of the places."""
        self._tasks = [task for task, _ in screws]
        count = len(screws)
        self._goals: list[pin.SE3 | None] = [None] * count
        self._actions = np.zeros((count, 6, 6))
        self._map = target
        rows = [np.arange(place.rows.start, place.rows.stop) for _, place in screws]
        self._rows = np.concatenate(rows) - first
        own = [6 * i + place.own for i, (_, place) in enumerate(screws)]
        self._own = np.concatenate(own)
        self._scale = np.concatenate([place.scale for _, place in screws])[:, None]
        # All rows of screws that are one below the other are computed where they belong.
        direct = len(self._own) == 6 * count and (np.diff(self._rows) == 1).all()
        start = int(self._rows[0])
        self._maps: np.ndarray | None = None
        if direct and (self._scale == 1.0).all():
            self._maps = target[start : start + 6 * count].reshape(count, 6, 6)

    def refresh(self) -> None:
        """Fill in where the links and their targets are now."""
        goals, logs = self._goals, []
        for i, task in enumerate(self._tasks):
            goal, offset = task.screw
            logs.append(Jlog6(offset))
            if goal is not goals[i]:
                goals[i] = goal
                self._actions[i] = goal.actionInverse
        maps = np.matmul(logs, self._actions, out=self._maps)
        if self._maps is None:
            self._map[self._rows] = maps.reshape(-1, 6).take(self._own, 0) * self._scale
