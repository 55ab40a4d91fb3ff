from pathlib import Path

import numpy as np
import pytest
from body.models import MIXED, SR1, same_body

from cnoid_control.body import Body
from cnoid_control.body.description import BodyDescription, Mesh
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.choreonoid import parse_body
from cnoid_control.body.formats.load import load_description
from cnoid_control.body.formats.placement import triangles_of
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.body.formats.urdf_writer import convert, write_urdf

FULL = Path(__file__).parents[1] / 'full.body'


def written(description: BodyDescription, folder: Path) -> Body:
    """Return the body of a description after it was written as URDF and read again."""
    path = folder / 'out.urdf'
    write_urdf(description, path)
    return Body(load_description(path))


@pytest.mark.parametrize('name', ['sr1', 'mixed', 'full'])
def test_model_survives_urdf(name: str, tmp_path: Path) -> None:
    """Written as URDF and read again, a model of either format is the same to 1e-9."""
    description = {
        'sr1': lambda: load_description(SR1),
        'mixed': lambda: parse_urdf(MIXED, 'mixed'),
        'full': lambda: load_description(FULL),
    }[name]()
    same_body(Body(description), written(description, tmp_path))


def test_rotations_survive(tmp_path: Path) -> None:
    """Any rotation goes through roll, pitch and yaw unharmed, at the poles too."""
    random = np.random.default_rng(0)
    for angles in [*random.uniform(-180, 180, (20, 3)).tolist(), [30, 90, 40], [0, -90, 10]]:
        turns = [[1, 0, 0, angles[0]], [0, 1, 0, angles[1]], [0, 0, 1, angles[2]]]
        text = f'links: [{{name: a}}, {{name: b, parent: a, rotation: {turns[::-1]}}}]'
        description = parse_body(text, 'turned', tmp_path)
        again = written(description, tmp_path)
        np.testing.assert_allclose(again.link('b').Rb, description.links[1].rotation, atol=1e-9)


def test_inline_meshes_become_files(tmp_path: Path) -> None:
    """A mesh that is part of the model, and a cone, are written beside the URDF."""
    text = """
    links:
      - name: a
        elements:
          - type: Shape
            geometry: {type: Mesh, vertices: [0,0,0, 1,0,0, 0,1,0], faces: [0,1,2]}
          - type: Shape
            geometry: {type: Cone, radius: 0.1, height: 0.2}
    """
    again = written(parse_body(text, 'mesh', tmp_path), tmp_path)
    meshes = [shape.geometry for shape in again.root_link.description.shapes]
    assert all(isinstance(mesh, Mesh) and Path(mesh.path).is_file() for mesh in meshes)
    assert isinstance(meshes[0], Mesh)
    assert Path(meshes[0].path).read_text().splitlines()[-1] == 'f 1 2 3'
    assert meshes[0].uri == 'out_meshes/a_0.obj'


def test_convert(tmp_path: Path) -> None:
    """A .body file becomes a URDF that loads to the same body."""
    out = tmp_path / 'full.urdf'
    description = convert(FULL, out)
    same_body(Body(description), Body(load_description(out)))
    assert '<ros2_control' in out.read_text()


def test_place_that_cannot_be_written(tmp_path: Path) -> None:
    """A folder that does not exist is refused by name."""
    with pytest.raises(ModelError, match='nowhere'):
        convert(FULL, tmp_path / 'nowhere' / 'out.urdf')


def test_loops_tracks_and_free_links_survive(tmp_path: Path) -> None:
    """What URDF has no words for is in the extension: loops, tracks, generic devices."""
    text = """
    links:
      - {name: a, joint_type: free, elements: {Nose: {name: n, smell: [1, rose]}}}
      - {name: b, parent: a, joint_type: revolute, joint_id: 0}
      - {name: c, parent: a, joint_type: free, translation: [1, 2, 3]}
      - {type: ContinuousTrack, name: t, parent: a, numJoints: 4, jointOffset: [1, 0, 0],
         jointAxis: Y, initialJointAngles: [90, 90, 90]}
    extra_joints:
      - {name: loop, link1_name: a, link2_name: b, joint_type: hinge, axis: [0, 0, 1],
         translation_in_link1: [1, 0, 0], rotation_in_link2: [1, 0, 0, 30]}
    """
    first = Body(parse_body(text, 'loops', tmp_path))
    again = written(first.description, tmp_path)
    same_body(first, again)
    assert again.description.tracks == first.description.tracks
    for mine, theirs in zip(
        first.description.extra_joints, again.description.extra_joints, strict=True
    ):
        assert (mine.kind, mine.links, mine.name) == (theirs.kind, theirs.links, theirs.name)
        np.testing.assert_allclose(mine.translations, theirs.translations)
        np.testing.assert_allclose(mine.rotations, theirs.rotations, atol=1e-12)
        np.testing.assert_allclose(mine.axis, theirs.axis)


def test_ellipsoids_and_height_fields_become_meshes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """URDF has neither; both are written as meshes of the same size, and it is said."""
    text = """
    links:
      - name: a
        elements:
          - {type: Transform, scale: [1, 2, 3], elements: {Shape: {geometry: {type: Sphere}}}}
          - type: Shape
            geometry: {type: ElevationGrid, xDimension: 2, zDimension: 2, height: [0, 1, 2, 3]}
    """
    again = written(parse_body(text, 'round', tmp_path), tmp_path)
    ball, ground = (shape.geometry for shape in again.root_link.description.shapes)
    np.testing.assert_allclose(triangles_of(ball).vertices.max(axis=0), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(np.ptp(triangles_of(ground).vertices, axis=0), [1.0, 1.0, 3.0])
    assert 'no Ellipsoid' in caplog.text
    assert 'no HeightField' in caplog.text
