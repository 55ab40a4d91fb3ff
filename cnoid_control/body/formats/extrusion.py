"""Shapes of scene files that are computed: extrusions and grids of heights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from cnoid_control.body.description import HeightField, Mesh, Shape
from cnoid_control.body.formats.mesh import Triangles
from cnoid_control.body.formats.placement import Y_TO_Z, affine, embedded, place, weld
from cnoid_control.body.formats.polygons import convex_parts, triangulate
from cnoid_control.body.rotations import turn_matrix

# Points that are nearer to each other are the same [m].
SAME = 1e-9


@dataclass
class Extrusion:
    """A cross-section in its X-Z plane that is drawn along a spine.

    Attributes:
        cross_section: corners, shape (n, 2); closed where the last one is the first.
        spine: points of the path [m], shape (m, 3); closed where the last one is the first.
        scale: factors of the cross-section, shape (1, 2) or (m, 2).
        orientation: axes and angles [rad] by which it is turned, shape (1, 4) or (m, 4).
        begin_cap, end_cap: whether the ends are covered.
    """

    cross_section: np.ndarray
    spine: np.ndarray
    scale: np.ndarray
    orientation: np.ndarray
    begin_cap: bool = True
    end_cap: bool = True

    def __post_init__(self) -> None:
        """Check the sizes, and drop what stands twice.

        Raises:
            ValueError: there are too few points, or too few values for them.
        """
        for name, width, least in (('cross_section', 2, 2), ('spine', 3, 2)):
            points = np.reshape(getattr(self, name), (-1, width))
            if len(points) < least:
                raise ValueError(f'a {name} of {least} points or more')
            setattr(self, name, points)
        for name, width in (('scale', 2), ('orientation', 4)):
            values = np.reshape(getattr(self, name), (-1, width))
            if len(values) == 1:
                values = np.repeat(values, len(self.spine), axis=0)
            if len(values) < len(self.spine):
                raise ValueError(f'one {name}, or one for each of {len(self.spine)} spine points')
            setattr(self, name, values[: len(self.spine)])
        self.is_loop = len(self.spine) > 2 and _same(self.spine[0], self.spine[-1])
        self.is_tube = len(self.cross_section) > 2 and _same(
            self.cross_section[0], self.cross_section[-1]
        )
        if self.is_loop:
            self.spine = self.spine[:-1]
        if self.is_tube:
            self.cross_section = self.cross_section[:-1]
        steps = np.diff(self.spine, axis=0)
        if not np.all(np.linalg.norm(steps, axis=1) > 0.0):
            raise ValueError('a spine whose neighbouring points differ')

    def surface(self) -> Mesh:
        """Whole surface, to be seen."""
        rings = self._rings()
        count, size = len(rings), len(self.cross_section)
        faces = []
        for i in range(count if self.is_loop else count - 1):
            lower, upper = i * size, (i + 1) % count * size
            for j in range(size if self.is_tube else size - 1):
                k = (j + 1) % size
                faces += [
                    (lower + j, upper + j, upper + k),
                    (lower + j, upper + k, lower + k),
                ]
        if not self.is_loop:
            cap = triangulate(self.cross_section)
            last = (count - 1) * size
            if self.begin_cap:
                faces += [(a, b, c) for a, b, c in cap]
            if self.end_cap:
                faces += [(last + a, last + c, last + b) for a, b, c in cap]
        vertices, triangles = weld(Triangles(np.concatenate(rings), np.array(faces)))
        return embedded(vertices, triangles)

    def solids(self) -> list[Mesh]:
        """Convex pieces that together are the solid, to collide.

        Each is what a convex part of the cross-section sweeps between two spine points; where
        the spine is straight and the cross-section keeps its size they are joined.
        """
        rings = self._rings()
        count = len(rings)
        size = len(self.cross_section)
        # A cross-section that is open is a strip, not a solid.
        strip = [[j, j + 1] for j in range(size - 1)]
        parts = convex_parts(self.cross_section) if self.is_tube else strip
        stretches = [(0, count - 1)] if self._is_prism(rings) else self._stretches(count)
        pieces = []
        for part in parts:
            for first, last in stretches:
                corners = np.concatenate([rings[first][part], rings[last][part]])
                pieces.append(_hull(corners, len(part)))
        return pieces

    def _stretches(self, count: int) -> list[tuple[int, int]]:
        pairs = [(i, i + 1) for i in range(count - 1)]
        return [*pairs, (count - 1, 0)] if self.is_loop else pairs

    def _is_prism(self, rings: list[np.ndarray]) -> bool:
        if self.is_loop:
            return False
        along = self.spine[-1] - self.spine[0]
        moved = [ring - rings[0] for ring in rings]
        return all(
            np.allclose(shift, shift[0], atol=SAME)
            and np.linalg.norm(np.cross(shift[0], along)) <= SAME * max(1.0, along @ along)
            for shift in moved
        )

    def _rings(self) -> list[np.ndarray]:
        """Cross-section at every spine point, shape (n, 3) each."""
        rings = []
        for plane, point, scale, turn in zip(
            self._planes(), self.spine, self.scale, self.orientation, strict=False
        ):
            flat = np.zeros((len(self.cross_section), 3))
            flat[:, [0, 2]] = self.cross_section * scale
            rings.append(flat @ (plane @ turn_matrix(turn)).T + point)
        return rings

    def _planes(self) -> list[np.ndarray]:
        """Axes of the cross-section's plane at every spine point: Y is along the spine."""
        spine, count = self.spine, len(self.spine)
        along, normal = [], []
        for i in range(count):
            if self.is_loop or 0 < i < count - 1:
                before, here, after = spine[i - 1], spine[i], spine[(i + 1) % count]
                along.append(after - before)
            else:
                # The ends of an open spine take the plane of their neighbour.
                middle = min(max(i, 1), count - 2) if count > 2 else 0
                before, here, after = spine[middle - 1], spine[middle], spine[(middle + 1) % count]
                along.append(spine[1] - spine[0] if i == 0 else spine[-1] - spine[-2])
            normal.append(np.cross(after - here, before - here) if count > 2 else np.zeros(3))
        bent = [i for i in range(count) if np.linalg.norm(normal[i]) > SAME**2]
        planes = []
        for i in range(count):
            y = along[i] / np.linalg.norm(along[i])
            if not bent:
                # A straight spine: the plane is turned from Y to the spine by the shortest way.
                turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 1.0, 0.0]), y)
                planes.append(turn.toRotationMatrix())
                continue
            known = [j for j in bent if j <= i]
            z = normal[known[-1] if known else bent[0]]
            if planes and z @ planes[-1][:, 2] < 0.0:
                z = -z
            z = z / np.linalg.norm(z)
            planes.append(np.column_stack([np.cross(y, z), y, z]))
        return planes


def extruded(extrusion: Extrusion, frame: np.ndarray) -> list[Shape]:
    """Shapes of an extrusion: the whole to be seen, convex pieces to collide.

    Raises:
        ValueError: the frame makes it flat.
    """
    whole = place(extrusion.surface(), frame)
    pieces = [place(piece, frame) for piece in extrusion.solids()]
    if len(pieces) == 1:
        return [whole]
    whole.collision = False
    for piece in pieces:
        piece.visual = False
    return [whole, *pieces]


def elevation(
    columns: int, rows: int, spacing: tuple[float, float], heights: np.ndarray, frame: np.ndarray
) -> Shape:
    """Shape of heights along Y over a grid in X (columns) and Z (rows).

    Raises:
        ValueError: there are not as many heights as points, or it is scaled to nothing.
    """
    if columns < 2 or rows < 2 or heights.size != columns * rows:
        raise ValueError(f'2 columns and rows or more and {columns} * {rows} heights')
    if not (spacing[0] > 0.0 and spacing[1] > 0.0):
        raise ValueError('spacings above 0')
    # Its rows go along +Z, which is -Y of the frame that has the heights upright.
    table = heights.reshape(rows, columns)[::-1]
    turned = frame @ affine(Y_TO_Z) @ affine(np.eye(3), (0.0, -(rows - 1) * spacing[1], 0.0))
    return place(HeightField(columns, spacing, tuple(table.ravel().tolist())), turned)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(one, other, rtol=0.0, atol=SAME))


def _hull(corners: np.ndarray, size: int) -> Mesh:
    """Piece between two convex rings of `size` corners each."""
    faces = []
    for j in range(size):
        k = (j + 1) % size
        faces += [(j, size + j, size + k), (j, size + k, k)]
    for j in range(1, size - 1):
        faces += [(0, j, j + 1), (size, size + j + 1, size + j)]
    return embedded(*weld(Triangles(corners, np.array(faces))))
