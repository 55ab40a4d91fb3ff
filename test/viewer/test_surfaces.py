"""Shapes of links as coloured triangles."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from PIL import Image

from cnoid_control.body.description import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    HeightField,
    Mesh,
    Shape,
    Sphere,
)
from cnoid_control.body.formats.mesh import read_mesh
from cnoid_control.viewer.surfaces import linear, merged, surfaces, to_glb

TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def box_around(meshes):
    """Lowest and highest corner of meshes."""
    vertices, _ = merged(meshes)
    return np.array([vertices.min(axis=0), vertices.max(axis=0)])


@pytest.mark.parametrize(
    ('solid', 'half'),
    [
        (Box((0.2, 0.4, 0.6)), (0.1, 0.2, 0.3)),
        (Sphere(0.5), (0.5, 0.5, 0.5)),
        (Ellipsoid((0.1, 0.2, 0.3)), (0.1, 0.2, 0.3)),
        (Cylinder(0.2, 1.0), (0.2, 0.2, 0.5)),
        (Capsule(0.2, 1.0), (0.2, 0.2, 0.7)),
        (Cone(0.2, 1.0), (0.2, 0.2, 0.5)),
        (Sphere(2e-4), (2e-4, 2e-4, 2e-4)),
        (Cylinder(2e-4, 1e-3), (2e-4, 2e-4, 5e-4)),
        (Capsule(2e-4, 1e-3), (2e-4, 2e-4, 7e-4)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_solid_has_its_size_about_its_own_frame(solid, half):
    """Every kind of solid is centred on its frame and as large as it says."""
    np.testing.assert_allclose(
        box_around(surfaces(Shape(solid))), [-np.array(half), half], rtol=0.01
    )


def test_a_shape_is_placed_in_its_link():
    """The frame of the shape is applied: turned, then moved."""
    shape = Shape(Box((0.2, 0.4, 0.6)), translation=np.array([1.0, 2.0, 3.0]), rotation=TURN)
    box = box_around(surfaces(shape))
    np.testing.assert_allclose(box, [[0.8, 1.9, 2.7], [1.2, 2.1, 3.3]], atol=1e-6)


def test_a_height_field_has_its_heights_at_its_points():
    """Rows along Y, columns along X, the first point at the origin."""
    field = HeightField(3, (0.5, 0.25), (0.0, 0.1, 0.2, 0.3, 0.4, 0.5))
    vertices, faces = merged(surfaces(Shape(field)))
    heights = {(round(x, 3), round(y, 3)): round(z, 3) for x, y, z in vertices}
    assert heights == {
        (0.0, 0.0): 0.0,
        (0.5, 0.0): 0.1,
        (1.0, 0.0): 0.2,
        (0.0, 0.25): 0.3,
        (0.5, 0.25): 0.4,
        (1.0, 0.25): 0.5,
    }
    corners = vertices[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert len(faces) == 4
    assert (normals[:, 2] > 0.0).all()


def seen_color(mesh):
    """Red, green, blue and opacity of a mesh as a screen has them, after a way through glTF."""
    loaded = trimesh.load_scene(trimesh.util.wrap_as_stream(to_glb([mesh])), file_type='glb')
    (part,) = loaded.geometry.values()
    color = np.asarray(part.visual.material.baseColorFactor, dtype=float) / 255.0
    intensities = color[:3]
    screen = np.where(
        intensities <= 0.0031308, 12.92 * intensities, 1.055 * intensities ** (1 / 2.4) - 0.055
    )
    return np.append(screen, color[3])


@pytest.mark.parametrize('color', [(0.2, 0.6, 0.9, 1.0), (1.0, 0.0, 0.5, 0.25)])
def test_a_colour_arrives_as_the_model_gives_it(color):
    """Colours of models are those of screens; glTF has linear ones."""
    (mesh,) = surfaces(Shape(Box((1.0, 1.0, 1.0)), color=color))
    np.testing.assert_allclose(seen_color(mesh), color, atol=0.02)


def test_the_way_to_linear_colours_is_the_standard_one():
    """Two points of the sRGB curve, and its ends."""
    given = np.array([0.0, 0.04045, 0.5, 1.0])
    np.testing.assert_allclose(linear(given), [0.0, 0.0031308, 0.2140411, 1.0], atol=1e-6)


@pytest.fixture
def painted(tmp_path):
    """An .obj file of two triangles, a red and a blue one."""
    (tmp_path / 'paint.mtl').write_text(
        'newmtl red\nKd 0.8 0.1 0.1\nnewmtl blue\nKd 0.1 0.1 0.8\n'
    )
    path = tmp_path / 'part.obj'
    path.write_text(
        'mtllib paint.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n'
        'usemtl red\nf 1 2 3\nusemtl blue\nf 1 2 4\n'
    )
    return path


def test_a_mesh_file_keeps_its_own_materials(painted):
    """One mesh per material, in the file's colours and the model's scale."""
    shape = Shape(Mesh(path=str(painted), scale=(2.0, 2.0, 2.0)))
    meshes = surfaces(shape)
    colors = sorted(seen_color(mesh).round(1).tolist() for mesh in meshes)
    assert colors == [[0.1, 0.1, 0.8, 1.0], [0.8, 0.1, 0.1, 1.0]]
    np.testing.assert_allclose(box_around(meshes), [[0.0, 0.0, 0.0], [2.0, 2.0, 2.0]])


def test_pictures_on_surfaces_are_sent_in_a_fitting_size(tmp_path):
    """A large picture of an .obj file arrives, smaller, in its colour, at the same corners."""
    Image.new('RGB', (3000, 1500), (10, 200, 30)).save(tmp_path / 'paint.png')
    (tmp_path / 'paint.mtl').write_text('newmtl paint\nmap_Kd paint.png\n')
    path = tmp_path / 'part.obj'
    path.write_text(
        'mtllib paint.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\n'
        'usemtl paint\nf 1/1 2/2 3/3\n'
    )
    (mesh,) = surfaces(Shape(Mesh(path=str(path))))
    loaded = trimesh.load_scene(trimesh.util.wrap_as_stream(to_glb([mesh])), file_type='glb')
    (part,) = loaded.geometry.values()
    picture = part.visual.material.baseColorTexture
    assert picture.size == (1000, 500)
    np.testing.assert_allclose(picture.convert('RGB').getpixel((500, 200)), [10, 200, 30], atol=4)
    np.testing.assert_allclose(part.visual.uv, part.vertices[:, :2], atol=1e-6)


def test_a_colour_of_the_model_wins_over_those_of_the_file(painted):
    """As in RViz, and in MuJoCo, which does not look at the file's materials."""
    shape = Shape(Mesh(path=str(painted)), color=(0.0, 1.0, 0.0, 1.0))
    for mesh in surfaces(shape):
        np.testing.assert_allclose(seen_color(mesh), [0.0, 1.0, 0.0, 1.0], atol=0.02)


def test_a_collada_file_keeps_its_colours(tmp_path):
    """Colours and places of a .dae file, through its tree of nodes."""
    path = tmp_path / 'part.dae'
    path.write_text(COLLADA)
    (mesh,) = surfaces(Shape(Mesh(path=str(path))))
    np.testing.assert_allclose(seen_color(mesh), [0.9, 0.5, 0.1, 1.0], atol=0.02)
    np.testing.assert_allclose(box_around([mesh]), [[1.0, 0.0, 0.0], [2.0, 1.0, 0.0]], atol=1e-6)


def test_a_collada_file_has_its_own_unit(tmp_path):
    """The surface is as large as the one that physics has."""
    path = tmp_path / 'inches.dae'
    path.write_text(COLLADA.replace('name="meter" meter="1"', 'name="inch" meter="0.0254"'))
    box = box_around(surfaces(Shape(Mesh(path=str(path)))))
    np.testing.assert_allclose(box[1], [2 * 0.0254, 0.0254, 0.0], atol=1e-6)
    vertices = read_mesh(str(path)).vertices
    np.testing.assert_allclose(box, [vertices.min(axis=0), vertices.max(axis=0)], atol=1e-6)


def test_a_file_without_a_mesh_is_named(tmp_path):
    """The error says which file it is."""
    path = tmp_path / 'broken.stl'
    path.write_text('nothing')
    with pytest.raises(ValueError, match=r'broken\.stl'):
        surfaces(Shape(Mesh(path=str(path))))


def test_round_surfaces_are_round_and_edges_are_sharp():
    """Normals at a corner of a box are those of its faces; on a ball they point outwards."""
    (box,) = surfaces(Shape(Box((1.0, 1.0, 1.0))))
    normals = np.abs(box.vertex_normals)
    np.testing.assert_allclose(normals.max(axis=1), 1.0, atol=1e-6)
    (ball,) = surfaces(Shape(Sphere(1.0)))
    np.testing.assert_allclose(ball.vertex_normals, ball.vertices, atol=0.05)


COLLADA = """<?xml version="1.0" encoding="utf-8"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
  <library_effects><effect id="paint-effect"><profile_COMMON><technique sid="common"><lambert>
    <diffuse><color>0.9 0.5 0.1 1</color></diffuse>
  </lambert></technique></profile_COMMON></effect></library_effects>
  <library_materials><material id="paint" name="paint">
    <instance_effect url="#paint-effect"/></material></library_materials>
  <library_geometries><geometry id="part"><mesh>
    <source id="points"><float_array id="points-array" count="9">0 0 0 1 0 0 0 1 0</float_array>
      <technique_common><accessor source="#points-array" count="3" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
      </accessor></technique_common></source>
    <vertices id="vertices"><input semantic="POSITION" source="#points"/></vertices>
    <triangles material="paint" count="1">
      <input semantic="VERTEX" source="#vertices" offset="0"/><p>0 1 2</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="scene"><node id="node">
    <translate>1 0 0</translate>
    <instance_geometry url="#part"><bind_material><technique_common>
      <instance_material symbol="paint" target="#paint"/>
    </technique_common></bind_material></instance_geometry>
  </node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#scene"/></scene>
</COLLADA>
"""
