"""Polygons in the plane: cut into triangles and into convex parts."""

from __future__ import annotations

import numpy as np

Triangle = tuple[int, int, int]


def triangulate(corners: np.ndarray) -> list[Triangle]:
    """Triangles of a simple polygon, by cutting ears; turned as the polygon is.

    A convex polygon becomes a fan.
    A polygon that crosses itself is cut as far as it has ears; the rest becomes a fan.

    Args:
        corners: shape (n, 2).
    """
    rest = list(range(len(corners)))
    sign = 1.0 if signed_area(corners) >= 0.0 else -1.0
    triangles: list[Triangle] = []
    while len(rest) > 3 and not _is_convex(corners, rest, sign):
        ear = next((i for i in range(len(rest)) if _is_ear(corners, rest, i, sign)), None)
        if ear is None:
            break
        before, here, after = rest[ear - 1], rest[ear], rest[(ear + 1) % len(rest)]
        if abs(_turn(corners, before, here, after)) > 0.0:
            triangles.append((before, here, after))
        rest.pop(ear)
    triangles += [(rest[0], rest[i], rest[i + 1]) for i in range(1, len(rest) - 1)]
    return triangles


def convex_parts(corners: np.ndarray) -> list[list[int]]:
    """Convex polygons that a polygon consists of, as indices of its corners.

    Triangles are joined while what they make stays convex (Hertel and Mehlhorn): at most four
    times as many parts as there need be.

    Args:
        corners: shape (n, 2).
    """
    sign = 1.0 if signed_area(corners) >= 0.0 else -1.0
    count = len(corners)
    if count < 3 or _is_convex(corners, list(range(count)), sign):
        return [list(range(count))]
    parts = [list(triangle) for triangle in triangulate(corners)]
    joined = True
    while joined:
        joined = False
        for i in range(len(parts)):
            for j in range(i + 1, len(parts)):
                union = _join(parts[i], parts[j])
                if union is not None and _is_convex(corners, union, sign):
                    parts[i] = union
                    parts.pop(j)
                    joined = True
                    break
            if joined:
                break
    return parts


def signed_area(corners: np.ndarray) -> float:
    """Area of a polygon, negative where it is clockwise."""
    x, y = np.asarray(corners, dtype=float).T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2.0


def _turn(corners: np.ndarray, a: int, b: int, c: int) -> float:
    """Twice the signed area of a triangle."""
    (ax, ay), (bx, by), (cx, cy) = corners[a], corners[b], corners[c]
    return float((bx - ax) * (cy - ay) - (by - ay) * (cx - ax))


def _is_ear(corners: np.ndarray, rest: list[int], place: int, sign: float) -> bool:
    a, b, c = rest[place - 1], rest[place], rest[(place + 1) % len(rest)]
    turn = sign * _turn(corners, a, b, c)
    if turn < 0.0:
        return False
    inside = (
        sign * _turn(corners, a, b, p) >= 0.0
        and sign * _turn(corners, b, c, p) >= 0.0
        and sign * _turn(corners, c, a, p) >= 0.0
        for p in rest
        if p not in (a, b, c)
        and not any(np.array_equal(corners[p], corners[q]) for q in (a, b, c))
    )
    return turn == 0.0 or not any(inside)


def _is_convex(corners: np.ndarray, part: list[int], sign: float) -> bool:
    count = len(part)
    turns = [
        sign * _turn(corners, part[i - 1], part[i], part[(i + 1) % count]) for i in range(count)
    ]
    return min(turns) >= 0.0 and max(turns) > 0.0


def _join(one: list[int], other: list[int]) -> list[int] | None:
    """Polygon of two that have an edge in common."""
    for i in range(len(one)):
        a, b = one[i], one[(i + 1) % len(one)]
        for j in range(len(other)):
            if other[j] == b and other[(j + 1) % len(other)] == a:
                start, end = one[i + 1 :] + one[: i + 1], other[j + 1 :] + other[: j + 1]
                return start + end[1:-1]
    return None


def triangulate_faces(vertices: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Triangles of faces in space that may have any number of corners.

    Args:
        vertices: shape (n, 3).
        indices: corners of one face after the other, -1 behind each.

    Returns:
        Corner indices, shape (m, 3).

    Raises:
        ValueError: an index is that of no vertex.
    """
    if indices.size and (indices.max() >= len(vertices) or indices.min() < -1):
        raise ValueError(f'indices from -1 to {len(vertices) - 1}')
    ends = np.flatnonzero(np.append(indices, -1) < 0)
    starts = np.concatenate([[0], ends[:-1] + 1])
    faces: list[np.ndarray] = []
    sizes = ends - starts
    three = starts[sizes == 3]
    if three.size:
        faces.append(indices[three[:, None] + np.arange(3)])
    for start, size in zip(starts[sizes > 3], sizes[sizes > 3], strict=True):
        corners = indices[start : start + size]
        flat = _flatten(vertices[corners])
        faces.append(corners[np.array(triangulate(flat), dtype=int).reshape(-1, 3)])
    return np.concatenate(faces) if faces else np.zeros((0, 3), dtype=int)


def _flatten(corners: np.ndarray) -> np.ndarray:
    """Corners of a face in a plane of its own, counter-clockwise seen from outside."""
    normal = np.sum(np.cross(corners, np.roll(corners, -1, axis=0)), axis=0)
    drop = int(np.argmax(np.abs(normal)))
    rest = [(1, 2), (2, 0), (0, 1)][drop]
    flat = corners[:, rest]
    return flat if normal[drop] >= 0.0 else flat[:, ::-1]
