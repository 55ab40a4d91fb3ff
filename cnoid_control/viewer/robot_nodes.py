"""A robot in the page: its shapes are sent once, and moved by the poses of its links."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body, Link
from cnoid_control.body.description import Cylinder, JointType, Shape, Sphere
from cnoid_control.viewer.surfaces import merged, surfaces, to_glb

logger = logging.getLogger(__name__)

# Size of a robot in one colour, as a share of the robot's own.
GHOST_SCALE = 0.985


def carrier(link: Link) -> Link:
    """The link that a link moves with: itself, or what its fixed joints hang it on."""
    while link.parent is not None and link.joint_type is JointType.FIXED:
        link = link.parent
    return link


def relative_pose(link: Link, base: Link) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and translation of a link in the frame of another one, at the last kinematics."""
    return base.R.T @ link.R, base.R.T @ (link.p - base.p)


def wxyz(rotation: np.ndarray) -> np.ndarray:
    """Quaternion w x y z of a rotation matrix."""
    x, y, z, w = pin.Quaternion(np.asarray(rotation)).coeffs()
    return np.array([w, x, y, z])


def box_corners(bounds: np.ndarray) -> np.ndarray:
    """Corners of a box given by its lowest and highest one, shape (8, 3)."""
    return np.array(np.meshgrid(*bounds.T)).reshape(3, -1).T


def shown_shapes(body: Body) -> list[list[Shape]]:
    """Shapes that stand for a robot, by link index.

    Those that are seen; where there are none at all, those that collide; else a skeleton.
    """
    for kind in ('visual', 'collision'):
        shapes = [
            [
                shape
                for shape in link.description.shapes
                if getattr(shape, kind) and shape.color[3] > 0.0
            ]
            for link in body.links
        ]
        if any(shapes):
            return shapes
    return skeleton(body)


def skeleton(body: Body) -> list[list[Shape]]:
    """Balls at the origins of the links, and bars between them, by link index."""
    places = np.array([link.p for link in body.links])
    radius = max(0.01 * float(np.ptp(places, axis=0).max()), 0.005)
    shapes = [[Shape(Sphere(2.0 * radius))] for _ in body.links]
    for link in body.links:
        for child in link.children:
            offset = link.R.T @ (child.p - link.p)
            length = float(np.linalg.norm(offset))
            if length > radius:
                turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), offset)
                bar = Shape(Cylinder(radius, length), offset / 2.0, turn.matrix())
                shapes[link.index].append(bar)
    return shapes


class RobotNodes:
    """One node for each link that moves by itself; what is fixed to it is part of its mesh.

    Attributes:
        links: the links that have a node.
        path: name of the node above all of them.
        missing: what of the robot cannot be shown, one sentence each.
        bounds: lowest and highest corner of the box around the robot as it was at first, world
            axes [m], shape (2, 3).
    """

    def __init__(
        self,
        scene: Any,
        body: Body,
        path: str = '/robot',
        color: tuple[int, int, int] | None = None,
        opacity: float = 1.0,
        visible: bool = True,
    ) -> None:
        """Send the shapes.

        Args:
            scene: viser's scene.
            body: the robot, with forward kinematics done.
            path: name of the node above all others.
            color: red, green, blue up to 255 of all its parts; their own ones where None.
            opacity: of a robot with a colour.
            visible: whether it is seen at first.
        """
        self.path = path
        self.missing: list[str] = []
        self._scene = scene
        self.root = scene.add_frame(path, show_axes=False, visible=visible)
        self.links: list[Link] = []
        self._nodes: list[Any] = []
        self._surfaces: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        parts: dict[int, list[Any]] = {}
        shapes = shown_shapes(body)
        for link in body.links:
            meshes = self._meshes(link, shapes[link.index])
            if meshes:
                parts.setdefault(carrier(link).index, []).extend(meshes)
        corners = [np.array([link.p for link in body.links])]
        for index, meshes in parts.items():
            link = body.links[index]
            corners += [box_corners(mesh.bounds) @ link.R.T + link.p for mesh in meshes]
            # A slash would make another level of the tree.
            name = f'{path}/{link.name.replace("/", "_")}'
            if color is None:
                node = scene.add_glb(name, to_glb(meshes))
            else:
                vertices, faces = merged(meshes)
                middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2.0
                # Inside of the robot where both are at the same place.
                node = scene.add_mesh_simple(
                    name,
                    middle + GHOST_SCALE * (vertices - middle),
                    faces,
                    color=color,
                    opacity=opacity,
                    side='double',
                    cast_shadow=False,
                    receive_shadow=False,
                )
            self.links.append(link)
            self._nodes.append(node)
            self._surfaces[index] = merged(meshes)
        placed = np.concatenate(corners)
        self.bounds = np.array([placed.min(axis=0), placed.max(axis=0)])
        self.move(body)

    def _meshes(self, link: Link, shapes: list[Shape]) -> list[Any]:
        found: list[Any] = []
        base = carrier(link)
        rotation, translation = relative_pose(link, base)
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = rotation, translation
        for shape in shapes:
            try:
                meshes = surfaces(shape)
            except (OSError, ValueError) as error:
                self.missing.append(f'link {link.name!r}: {error}')
                continue
            for mesh in meshes:
                mesh.apply_transform(frame)
            found += meshes
        return found

    def move(self, body: Body) -> None:
        """Move every part to where a body of the same model has it, at the last kinematics."""
        for node, link in zip(self._nodes, self.links, strict=True):
            own = body.links[link.index]
            # Equal ones are not sent again.
            node.position = own.p
            node.wxyz = wxyz(own.R)

    def node(self, link: Link) -> Any:
        """The node that shows a link; None where nothing of it is seen."""
        index = carrier(link).index
        found = [
            node for node, one in zip(self._nodes, self.links, strict=True) if one.index == index
        ]
        return found[0] if found else None

    def hit(self, link: Link, start: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """First point of a link's surface on a ray [m], link axes, shape (3,).

        The origin of the link where the ray meets nothing: a browser may round differently.

        Args:
            link: a link with a node.
            start: where the ray begins, link axes [m].
            direction: unit vector, link axes.
        """
        vertices, faces = self._surfaces[link.index]
        corners = vertices[faces]
        one, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        across = np.cross(direction, other)
        size = np.einsum('ij,ij->i', one, across)
        scale = np.divide(1.0, size, out=np.zeros_like(size), where=np.abs(size) > 1e-15)
        offset = start - corners[:, 0]
        u = np.einsum('ij,ij->i', offset, across) * scale
        around = np.cross(offset, one)
        v = around @ direction * scale
        distance = np.einsum('ij,ij->i', other, around) * scale
        hits = (scale != 0.0) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (distance > 0.0)
        return start + distance[hits].min() * direction if hits.any() else np.zeros(3)
