"""Collada files: every list of triangles keeps its corners, and lies where the scene has it."""

from __future__ import annotations

import numpy as np
import pytest

from cnoid_control.body.formats.collada import read_collada
from cnoid_control.body.formats.mesh import read_mesh

# A square of edge 2 in the plane z = 0, as two lists with materials of their own.
SQUARE = """<geometry id="square"><mesh>
<source id="p"><float_array count="12">-1 -1 0  1 -1 0  1 1 0  -1 1 0</float_array>
<technique_common><accessor stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
LISTS</mesh></geometry>"""
INPUTS = '<input semantic="VERTEX" source="#v" offset="0"/>'
TWO = (
    f'<triangles material="a" count="1">{INPUTS}<p>0 1 2</p></triangles>'
    f'<triangles material="b" count="1">{INPUTS}<p>0 2 3</p></triangles>'
)
FILE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="centimeter" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_geometries>GEOMETRY</library_geometries>
<library_nodes><node id="part"><instance_geometry url="#square"/></node></library_nodes>
<library_visual_scenes><visual_scene id="scene">NODES</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#scene"/></scene></COLLADA>"""
ONE_NODE = '<node><instance_geometry url="#square"/></node>'


def document(lists: str = TWO, nodes: str = ONE_NODE) -> str:
    """A file of a square."""
    return FILE.replace('GEOMETRY', SQUARE.replace('LISTS', lists)).replace('NODES', nodes)


def normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Normals of triangles, as long as twice their area."""
    a, b, c = vertices[faces].transpose(1, 0, 2)
    return np.cross(b - a, c - a)


@pytest.mark.parametrize(
    'lists',
    [
        TWO,
        f'<polylist count="1">{INPUTS}<vcount>4</vcount><p>0 1 2 3</p></polylist>',
        f'<polygons count="1">{INPUTS}<p>0 1 2 3</p></polygons>',
        f'<trifans count="1">{INPUTS}<p>0 1 2 3</p></trifans>',
        f'<tristrips count="1">{INPUTS}<p>1 2 0 3</p></tristrips>',
        TWO.replace(INPUTS, INPUTS + '<input semantic="NORMAL" source="#p" offset="1"/>')
        .replace('0 1 2<', '0 0 1 0 2 0<')
        .replace('0 2 3<', '0 0 2 0 3 0<'),
    ],
)
def test_surfaces_are_whole_and_look_one_way(lists):
    """Of every kind of list, and of two materials in one node; the unit is taken into account."""
    vertices, faces = read_collada(document(lists), 'x.dae')
    found = normals(vertices, faces)
    np.testing.assert_allclose(found, [[0.0, 0.0, 4e-4]] * 2, atol=1e-12)


def test_nodes_are_placed():
    """Moved, turned, scaled and mirrored, one inside the other, and used by address."""
    nodes = """<node><translate>100 0 0</translate><rotate>0 1 0 90</rotate>
    <node><scale>2 2 -1</scale><instance_node url="#part"/></node></node>"""
    vertices, faces = read_collada(document(nodes=nodes), 'x.dae')
    np.testing.assert_allclose(vertices.min(axis=0), [1.0, -0.02, -0.02], atol=1e-12)
    np.testing.assert_allclose(vertices.max(axis=0), [1.0, 0.02, 0.02], atol=1e-12)
    # Mirrored along its normal, it shows its other side, and still is no hole.
    np.testing.assert_allclose(normals(vertices, faces), [[-16e-4, 0.0, 0.0]] * 2, atol=1e-12)


def test_matrices_place_nodes():
    """Row by row, as the format has them."""
    nodes = '<node><matrix>1 0 0 5 0 1 0 6 0 0 1 7 0 0 0 1</matrix>' + ONE_NODE[6:]
    vertices, _ = read_collada(document(nodes=nodes), 'x.dae')
    np.testing.assert_allclose(vertices.mean(axis=0), [0.05, 0.06, 0.07], atol=1e-12)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('hello', 'x.dae'),
        (document(nodes=''), 'holds no triangles'),
        (document(nodes=ONE_NODE.replace('square', 'ring')), "leads to '#ring', which is missing"),
        (document(TWO.replace('0 2 3', '0 2 9')), 'a corner is not among the positions'),
        (document(TWO.replace('VERTEX', 'COLOR')), 'triangles without corners'),
        (
            document(nodes='<node id="loop"><instance_node url="#loop"/></node>'),
            'nested more than 50 deep',
        ),
    ],
)
def test_what_cannot_be_read_is_named(text, message):
    """With the file."""
    with pytest.raises(ValueError, match=message):
        read_collada(text, 'x.dae')


def test_mesh_files_are_read_by_it(tmp_path):
    """A file of two materials has the surface that it states."""
    path = tmp_path / 'x.dae'
    path.write_text(document())
    surface = read_mesh(str(path))
    area = np.linalg.norm(normals(*surface), axis=1).sum() / 2
    assert area == pytest.approx(4e-4)
