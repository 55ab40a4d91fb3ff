"""Shapes of scene files: extrusions, grids, VRML and YAML resources."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnoid_control.body import ModelError, exceptions
from cnoid_control.body.description import Box, Cylinder, HeightField, Mesh, Shape, Sphere
from cnoid_control.body.formats.choreonoid import parse_body
from cnoid_control.body.formats.extrusion import Extrusion
from cnoid_control.body.formats.placement import affine, place, triangles_of
from cnoid_control.body.formats.polygons import (
    convex_parts,
    signed_area,
    triangulate,
    triangulate_faces,
)

# An L, and a comb with deep teeth.
ELL = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 3], [0, 3]], dtype=float)
COMB = np.array(
    [
        [0, 0],
        [5, 0],
        [5, 3],
        [4, 3],
        [4, 1],
        [3, 1],
        [3, 3],
        [2, 3],
        [2, 1],
        [1, 1],
        [1, 3],
        [0, 3],
    ],
    dtype=float,
)


def shapes_of(text: str, folder: Path = Path()) -> list[Shape]:
    """Shapes of the only link of a .body file that has these elements."""
    body = f'links: [{{name: a, elements: {text}}}]'
    return parse_body(body, 'scene.body', folder).links[0].shapes


def volume(mesh: Mesh) -> float:
    """Volume within a closed surface, by the divergence theorem."""
    vertices, faces = triangles_of(mesh)
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return float(np.sum(a * np.cross(b, c)) / 6.0)


@pytest.mark.parametrize('polygon', [ELL, ELL[::-1], COMB, COMB[::-1]])
def test_polygons_are_cut_without_loss(polygon: np.ndarray) -> None:
    """Triangles and convex parts have the area of the polygon, and its sense of rotation."""
    whole = signed_area(polygon)
    assert sum(signed_area(polygon[list(t)]) for t in triangulate(polygon)) == pytest.approx(whole)
    parts = convex_parts(polygon)
    assert sum(signed_area(polygon[part]) for part in parts) == pytest.approx(whole)
    assert len(parts) < len(polygon) - 2


def test_faces_in_space_of_any_size() -> None:
    """A concave face is not made a fan, which would leave its outline."""
    corners = np.column_stack([np.full(len(ELL), 7.0), ELL])
    faces = triangulate_faces(corners, np.array([0, 1, 2, 3, 4, 5, -1, 0, 1, 2]))
    a, b, c = (corners[faces[:, i]] for i in range(3))
    areas = np.cross(b - a, c - a)[:, 0] / 2.0
    assert areas.sum() == pytest.approx(signed_area(ELL) + signed_area(ELL[:3]))
    assert areas.min() > 0.0


def extrusion(section: np.ndarray, spine: list[list[float]], **values: object) -> Extrusion:
    """Extrusion of a closed cross-section."""
    closed = np.vstack([section, section[:1]])
    plain = {'scale': np.ones((1, 2)), 'orientation': np.array([[0, 0, 1, 0.0]])}
    return Extrusion(closed, np.array(spine), **{**plain, **values})


def test_prism() -> None:
    """An extrusion along a straight spine has the area of its section times its length."""
    prism = extrusion(ELL, [[0, 0, 0], [0, 1, 0], [0, 2.5, 0]])
    expected = abs(signed_area(ELL)) * 2.5
    assert abs(volume(prism.surface())) == pytest.approx(expected)
    pieces = prism.solids()
    assert sum(abs(volume(piece)) for piece in pieces) == pytest.approx(expected)
    assert len(pieces) == len(convex_parts(ELL))


def test_ring() -> None:
    """A closed spine makes a ring with a hole: convex pieces, all as large as the whole."""
    turns = np.linspace(0.0, 2.0 * np.pi, 13)
    spine = np.column_stack([np.cos(turns), np.zeros(13), np.sin(turns)])
    square = 0.1 * np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]])
    ring = extrusion(square, spine.tolist())
    pieces = ring.solids()
    assert len(pieces) == 12
    whole = abs(volume(ring.surface()))
    assert sum(abs(volume(piece)) for piece in pieces) == pytest.approx(whole)
    # Pappus, but for the corners.
    assert whole == pytest.approx(0.04 * 2.0 * np.pi, rel=0.06)
    # The middle is free.
    for piece in pieces:
        corners, _ = triangles_of(piece)
        assert np.linalg.norm(corners[:, [0, 2]], axis=1).min() > 0.8


def test_scaled_and_turned_section() -> None:
    """The section is scaled and turned along the spine: a pyramid stump."""
    square = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]], dtype=float)
    stump = extrusion(square, [[0, 0, 0], [0, 3, 0]], scale=np.array([[1.0, 1.0], [0.5, 0.5]]))
    assert abs(volume(stump.surface())) == pytest.approx(3.0 / 3.0 * (4.0 + 1.0 + 2.0))


def test_extrusion_in_a_body() -> None:
    """What is not convex is seen whole and collides in pieces."""
    section = [*ELL.ravel().tolist(), 0.0, 0.0]
    shapes = shapes_of(
        f'{{Shape: {{geometry: {{type: Extrusion, crossSection: {section},'
        ' spine: [0, 0, 0, 0, 2, 0]}}}'
    )
    assert [(shape.visual, shape.collision) for shape in shapes] == [
        (True, False),
        (False, True),
        (False, True),
    ]


def test_elevation_grid() -> None:
    """Heights along Y over X and Z become a height field at the same places."""
    heights = np.arange(6.0) / 10.0
    (shape,) = shapes_of(
        '{Shape: {translation: [1, 2, 3], geometry: {type: ElevationGrid, xDimension: 3,'
        f' zDimension: 2, xSpacing: 0.5, zSpacing: 2.0, height: {heights.tolist()}}}}}}}'
    )
    field = shape.geometry
    assert isinstance(field, HeightField)
    placed = triangles_of(field).vertices @ shape.rotation.T + shape.translation
    expected = [
        [1.0 + 0.5 * x, 2.0 + heights[3 * z + x], 3.0 + 2.0 * z]
        for z in range(2)
        for x in range(3)
    ]
    order = np.lexsort(np.round(placed, 9).T)
    np.testing.assert_allclose(
        placed[order], np.array(expected)[np.lexsort(np.round(expected, 9).T)], atol=1e-12
    )


def test_mirrored_and_sheared_solids() -> None:
    """Volumes follow the determinant of the frame, whatever becomes of the solid."""
    linear = np.array([[1.0, 0.5, 0.0], [0.0, -2.0, 0.3], [0.0, 0.0, 1.5]])
    shape = place(Box((1.0, 2.0, 3.0)), affine(linear, (1.0, 0.0, 0.0)))
    assert isinstance(shape.geometry, Mesh)
    assert volume(shape.geometry) == pytest.approx(abs(np.linalg.det(linear)) * 6.0)
    np.testing.assert_array_equal(shape.translation, [1.0, 0.0, 0.0])
    mirrored = place(Box((1.0, 2.0, 3.0)), affine(np.diag([1.0, 1.0, -1.0])))
    assert mirrored.geometry == Box((1.0, 2.0, 3.0))
    assert np.linalg.det(mirrored.rotation) == pytest.approx(1.0)
    flat = place(Cylinder(1.0, 2.0), affine(np.diag([1.0, 0.5, 1.0])))
    assert isinstance(flat.geometry, Mesh)
    assert volume(flat.geometry) == pytest.approx(np.pi, rel=0.01)


SCENE = """#VRML V2.0 utf8
# a comment
PROTO Lamp [ exposedField SFVec3f where 0 0 0 ] { PointLight { location IS where } }
DEF Scene Transform {
  translation 0 0 1
  rotation 0 0 1 1.5707963267948966
  children [
    DEF Ball Transform {
      translation 1 0 0  scale 2 2 2
      children [ DEF B Shape { geometry Sphere { radius 0.5 }
        appearance Appearance {
          material DEF Red Material { diffuseColor 1 0 0 transparency 0.25 } }
      } ]
    },
    Shape { geometry Box { size 1 2 3 } appearance Appearance { material USE Red } }
    Switch { whichChoice 1 choice [ Group {} Shape { geometry Cylinder { radius 1 height 4 } } ] }
    Shape { geometry IndexedLineSet { coord Coordinate { point [ 0 0 0, 1 0 0 ] } } }
    Shape { geometry IndexedFaceSet {
      coord Coordinate { point [ 0 0 0, 1 0 0, 1 1 0, 0 1 0 ] } coordIndex [ 0 1 2 3 -1 ] } }
    Lamp { where 0 0 1 }
  ]
}
ROUTE A.b TO C.d
"""


def test_vrml_scene(tmp_path: Path) -> None:
    """Solids of a VRML scene stay solids, with places, colours and USE."""
    (tmp_path / 's.wrl').write_text(SCENE)
    ball, box, column, sheet = shapes_of('{Resource: {uri: s.wrl}}', tmp_path)
    assert ball.geometry == Sphere(1.0)
    np.testing.assert_allclose(ball.translation, [0.0, 1.0, 1.0], atol=1e-12)
    assert ball.color == box.color == (1.0, 0.0, 0.0, 0.75)
    assert box.geometry == Box((1.0, 2.0, 3.0))
    assert column.geometry == Cylinder(1.0, 4.0)
    # The axis along Y is turned to -X by the scene.
    np.testing.assert_allclose(column.rotation @ [0, 0, 1], [-1, 0, 0], atol=1e-12)
    assert isinstance(sheet.geometry, Mesh)
    assert sheet.geometry.triangles == (0, 1, 2, 0, 2, 3)


def test_vrml_fragment(tmp_path: Path) -> None:
    """A named node keeps the rotations around it and loses the translations."""
    (tmp_path / 's.wrl').write_text(SCENE)
    element = '{Transform: {translation: [0, 0, 5], elements: {Resource: {uri: s.wrl, node: %s}}}}'
    (ball,) = shapes_of(element % 'Ball', tmp_path)
    assert ball.geometry == Sphere(1.0)
    np.testing.assert_allclose(ball.translation, [0.0, 0.0, 5.0], atol=1e-12)
    np.testing.assert_allclose(ball.rotation @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    with pytest.raises(ModelError, match="no node 'Moon'"):
        shapes_of(element % 'Moon', tmp_path)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('#VRML V1.0 ascii\nSphere {}', 'V1.0'),
        ('#VRML V2.0 utf8\nShape { geometry Box {', 'cut off'),
        ('#VRML V2.0 utf8\nGroup { children [ USE Nothing ] }', "line 2.*'Nothing'"),
        ('#VRML V2.0 utf8\nShape { geometry Box { size 1 2 } }', 'size.*3 numbers'),
        ('#VRML V2.0 utf8\nTransform ] ', "line 2: '\\]'"),
        ('#VRML V2.0 utf8\n' + 'Group { children ' * 200, '100 deep'),
        (
            '#VRML V2.0 utf8\nDEF N0 Shape { geometry Box { } }\n'
            + '\n'.join(
                f'DEF N{i} Group {{ children [ USE N{i - 1} USE N{i - 1} ] }}'
                for i in range(1, 60)
            ),
            'unfold to more than 100000 nodes',
        ),
        ('#VRML V2.0 utf8\nGroup { children ' + '[ "" ' * 5000, 'nested more than 100 deep'),
        ('#VRML V2.0 utf8\nInline { url "s.wrl" }', 'part of itself'),
        (
            (
                '#VRML V2.0 utf8\nShape { geometry IndexedFaceSet { coord Coordinate { point'
                ' [ 0 0 0 1 0 0 0 1 0 ] } coordIndex [ 0 1 9 ] } }'
            ),
            'from -1 to 2',
        ),
    ],
)
def test_bad_vrml(text: str, message: str, tmp_path: Path) -> None:
    """What cannot be read of VRML is said with its line."""
    (tmp_path / 's.wrl').write_text(text)
    with pytest.raises(ModelError, match=message):
        shapes_of('{Resource: {uri: s.wrl}}', tmp_path)


def test_vrml_may_not_include_what_is_outside(tmp_path: Path) -> None:
    """An Inline that leads out of the model's tree is refused."""
    (tmp_path / 's.wrl').write_text('#VRML V2.0 utf8\nInline { url "../../../etc/x.wrl" }')
    with pytest.raises(exceptions.PathOutsidePackage, match='leads out'):
        shapes_of('{Resource: {uri: s.wrl}}', tmp_path)


def test_yaml_resource(tmp_path: Path) -> None:
    """A node of a YAML resource is found by its anchor; its own files are beside it."""
    (tmp_path / 'parts').mkdir()
    (tmp_path / 'parts' / 'ball.wrl').write_text(SCENE)
    (tmp_path / 'parts' / 'parts.yaml').write_text("""
body: &BODY
  RigidBody: {mass: 3, center_of_mass: [0, 1, 0]}
  Visual: {resource: {uri: ball.wrl, node: B}}
other: &OTHER {Shape: {geometry: {type: Box}}}
""")
    text = (
        'links: [{name: a, elements: {Resource: {translation: [1, 0, 0],'
        ' uri: parts/parts.yaml, node: %s}}}]'
    )
    (link,) = parse_body(text % 'BODY', 'r.body', tmp_path).links
    assert link.mass == 3.0
    np.testing.assert_array_equal(link.center_of_mass, [1.0, 1.0, 0.0])
    assert [(shape.visual, shape.collision) for shape in link.shapes] == [(True, False)]
    with pytest.raises(ModelError, match='BODY, OTHER'):
        parse_body(text % 'NONE', 'r.body', tmp_path)


def test_units_of_a_resource(tmp_path: Path) -> None:
    """Metadata turn a file in millimetres with Y upwards into metres with Z upwards."""
    (tmp_path / 's.wrl').write_text('#VRML V2.0 utf8\nShape { geometry Box { size 1 2 3 } }')
    (box,) = shapes_of(
        '{Resource: {uri: s.wrl, metadata: {length_unit: millimeter, upper_axis: Y}}}', tmp_path
    )
    assert box.geometry == Box((0.001, 0.002, 0.003))
    np.testing.assert_allclose(box.rotation @ [0, 1, 0], [0, 0, 1], atol=1e-12)


def test_a_named_node_is_not_looked_for_for_ever(tmp_path: Path) -> None:
    """USE makes trees with more branches than anybody could go through."""
    groups = [f'DEF N{i} Group {{ children [ USE N{i - 1} USE N{i - 1} ] }}' for i in range(1, 60)]
    text = '\n'.join(['#VRML V2.0 utf8', 'DEF N0 Shape { geometry Box { } }', *groups])
    (tmp_path / 's.wrl').write_text(text)
    with pytest.raises(ModelError, match='unfold to more than 100000 nodes'):
        shapes_of('{Resource: {uri: s.wrl, node: missing}}', tmp_path)
