import numpy as np
import pytest

from cnoid_control.body.description import Box, Capsule, Cone, Cylinder, Mesh, Sphere
from cnoid_control.viewer.tessellation import tessellate


def volume(triangles):
    """Volume by the divergence theorem: positive where the faces look outwards."""
    a, b, c = (triangles.vertices[triangles.faces[:, i]] for i in range(3))
    return float(np.einsum('ij,ij->', a, np.cross(b, c))) / 6


def edges(triangles):
    """Directed edges of all faces, by position."""
    corners = np.round(triangles.vertices[triangles.faces], 9) + 0.0
    return [
        (tuple(face[i]), tuple(face[(i + 1) % 3]))
        for face in corners.tolist()
        for i in range(3)
        if face[i] != face[(i + 1) % 3]
    ]


TETRAHEDRON = Mesh(
    scale=(2.0, 1.0, 1.0),
    vertices=(0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1),
    triangles=(0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3),
)


@pytest.mark.parametrize(
    ('geometry', 'expected'),
    [
        (Box((1.0, 2.0, 3.0)), 6.0),
        (Sphere(0.5), 4 / 3 * np.pi * 0.5**3),
        (Cylinder(0.5, 2.0), np.pi * 0.25 * 2),
        (Cone(0.5, 3.0), np.pi * 0.25),
        (Capsule(0.5, 2.0), np.pi * 0.25 * 2 + 4 / 3 * np.pi * 0.5**3),
        (TETRAHEDRON, 2 / 6),
    ],
)
def test_a_solid_is_closed_and_has_its_volume(geometry, expected):
    """Every edge is shared by two faces, and the enclosed volume is the solid's."""
    triangles = tessellate(geometry)
    assert volume(triangles) == pytest.approx(expected, rel=0.02)
    directed = edges(triangles)
    assert len(set(directed)) == len(directed)
    assert {(b, a) for a, b in directed} == set(directed)


def test_a_cylinder_stands_along_z():
    """Radius is across and length along the Z axis of the frame."""
    vertices = tessellate(Cylinder(0.1, 2.0)).vertices
    assert np.allclose(np.ptp(vertices, axis=0), (0.2, 0.2, 2.0))


def test_a_cone_points_up():
    """The tip is at +Z."""
    vertices = tessellate(Cone(0.1, 2.0)).vertices
    assert np.hypot(*vertices[vertices[:, 2] > 0][:, :2].T).max() == 0.0


def test_a_mesh_file_is_read_with_its_scale(tmp_path):
    """The triangles of a file are scaled along each axis."""
    path = tmp_path / 'corner.obj'
    path.write_text('v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n')
    triangles = tessellate(Mesh(path=str(path), scale=(3.0, 1.0, 1.0)))
    assert len(triangles.faces) == 4
    assert volume(triangles) == pytest.approx(3 / 6)
