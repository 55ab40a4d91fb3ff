"""Self-collision constraint."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from cnoid_control.body import Link
from cnoid_control.body.description import Box, Capsule, Cone, Cylinder, Geometry, Sphere
from cnoid_control.controllers.tasks.constraints import RowConstraint
from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.kinematics import TaskKinematics


class SelfCollisionConstraint(RowConstraint):
    """The distance between pairs of links stays above a minimum.

    Each pair approaches the minimum by no more than a part of what is left in each tick; below it
    the pair may only part. Distances are those of the collision shapes, by coal.

    Attributes:
        pairs: links that are kept apart.
        min_distance: [m].
        gain: part of the way to the minimum that may be done in one tick, in ]0, 1].
        distances: distance of each pair at the last update [m].
    """

    family: ClassVar[str] = 'generic'

    def __init__(
        self,
        name: str,
        pairs: list[tuple[Link, Link]],
        min_distance: float = 0.02,
        gain: float = 0.5,
    ) -> None:
        """Make a constraint on pairs of links that both have collision shapes.

        Raises:
            TaskError: a link has no collision shape whose distance can be measured.
        """
        super().__init__(name)
        self.pairs = pairs
        self.min_distance = min_distance
        self.gain = gain
        self.distances = np.full(len(pairs), np.inf)
        self._shapes = {
            link.index: _collision_shapes(link, name) for pair in pairs for link in pair
        }
        self._points = np.zeros((len(pairs), 2, 3))
        self._normals = np.zeros((len(pairs), 3))

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Measure the distances; the bounds are on how fast they shrink."""
        for row, (first, second) in enumerate(self.pairs):
            self._measure(kinematics, row, first, second)
        left = self.distances - self.min_distance
        self.lower = -self.gain * np.maximum(left, 0.0) / dt
        self.upper = np.full(len(self.pairs), np.inf)

    def _measure(self, kinematics: TaskKinematics, row: int, first: Link, second: Link) -> None:
        import coal

        best = np.inf
        pose_1, pose_2 = kinematics.placement(first), kinematics.placement(second)
        for shape_1, local_1 in self._shapes[first.index]:
            world_1 = pose_1 * local_1
            for shape_2, local_2 in self._shapes[second.index]:
                world_2 = pose_2 * local_2
                result = coal.DistanceResult()
                distance = coal.distance(
                    shape_1,
                    coal.Transform3s(world_1.rotation, world_1.translation),
                    shape_2,
                    coal.Transform3s(world_2.rotation, world_2.translation),
                    coal.DistanceRequest(),
                    result,
                )
                if distance < best:
                    best = distance
                    self._points[row] = result.getNearestPoint1(), result.getNearestPoint2()
                    # From the second to the first link: along it the distance grows.
                    self._normals[row] = -np.asarray(result.normal)
        self.distances[row] = best

    def matrix(self, kinematics: TaskKinematics) -> np.ndarray:
        """How the distances change with the unknowns, shape (pairs, unknowns)."""
        rows = np.empty((len(self.pairs), kinematics.num_unknowns))
        for row, pair in enumerate(self.pairs):
            normal = self._normals[row]
            parts = []
            for link, point in zip(pair, self._points[row], strict=True):
                jacobian = kinematics.jacobian(link)
                arm = point - kinematics.placement(link).translation
                parts.append(normal @ jacobian[:3] + np.cross(arm, normal) @ jacobian[3:])
            rows[row] = parts[0] - parts[1]
        return rows

    def row_names(self) -> list[str]:
        """The two links of each pair."""
        return [f'{first.name}-{second.name}' for first, second in self.pairs]


def _collision_shapes(link: Link, name: str) -> list[tuple[Any, Any]]:
    import pinocchio as pin

    shapes = [
        (solid, pin.SE3(shape.rotation, shape.translation))
        for shape in link.description.shapes
        if shape.collision and (solid := _solid(shape.geometry)) is not None
    ]
    if not shapes:
        raise TaskError(
            f'{name}: link {link.name!r} has no box, sphere, cylinder, capsule or cone to collide'
        )
    return shapes


def _solid(geometry: Geometry) -> Any:
    import coal

    if isinstance(geometry, Box):
        return coal.Box(*geometry.size)
    if isinstance(geometry, Sphere):
        return coal.Sphere(geometry.radius)
    if isinstance(geometry, Cylinder):
        return coal.Cylinder(geometry.radius, geometry.length)
    if isinstance(geometry, Capsule):
        return coal.Capsule(geometry.radius, geometry.length)
    if isinstance(geometry, Cone):
        return coal.Cone(geometry.radius, geometry.length)
    return None
