"""What is around a robot, as shapes."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from cnoid_control.body.description import Box, Cylinder, HeightField, Mesh
from cnoid_control.runtime.build import make_robot
from cnoid_control.runtime.config import load_config
from cnoid_control.simulation import Simulation
from cnoid_control.viewer.surfaces import merged, surfaces
from cnoid_control.viewer.world import read_surroundings, surroundings

WORLD = """
<mujoco>
  <asset>
    <hfield name="hills" nrow="3" ncol="4" size="1.5 1 0.4 0.1"
      elevation="0 0 0 0  0 1 0.5 0  0 0 0 0"/>
    <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" pos="0 0 -0.2"/>
    <geom name="hill" type="hfield" hfield="hills" pos="3 0 0"/>
    <geom name="wall" type="box" size="0.1 1 0.5" pos="2 0 0.5" euler="0 0 90" rgba="1 0 0 1"/>
    <geom name="unseen" type="box" size="1 1 1" group="3"/>
    <body name="robot" pos="0 0 1"><joint name="hinge"/><geom size="0.1"/></body>
    <body name="barrel" pos="1 0 1"><freejoint/><geom type="cylinder" size="0.2 0.3"/></body>
    <body name="rock" pos="0 2 0"><geom type="mesh" mesh="wedge"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope='module')
def model():
    """A world with everything in it."""
    return mujoco.MjModel.from_xml_string(WORLD)


def thing(found, name):
    """One of the things by its name."""
    return next(one for one in found.things if one.name == name)


def test_everything_but_the_robot_and_the_unseen_is_there(model):
    """Grounds without an end, things that stand and things that move."""
    found = read_surroundings(model, np.array([model.body('robot').id]))
    (ground,) = found.grounds
    np.testing.assert_allclose(ground[:3, 3], [0.0, 0.0, -0.2])
    assert {one.name: one.moves for one in found.things} == {
        'world': False,
        'barrel': True,
        'rock': False,
    }
    kinds = [type(shape.geometry) for shape in thing(found, 'world').shapes]
    assert kinds == [HeightField, Box]
    assert thing(found, 'world').shapes[1].color == (1.0, 0.0, 0.0, 1.0)
    assert thing(found, 'barrel').shapes[0].geometry == Cylinder(0.2, 0.6)
    np.testing.assert_allclose(thing(found, 'barrel').position, [1.0, 0.0, 1.0])


def test_rays_end_on_the_shapes(model):
    """MuJoCo's own rays from above hit the heights that the shapes have."""
    import trimesh

    found = read_surroundings(model, np.array([model.body('robot').id]))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    parts = []
    for one in found.things:
        vertices, faces = merged(mesh for shape in one.shapes for mesh in surfaces(shape))
        parts.append(trimesh.Trimesh(vertices @ one.rotation.T + one.position, faces))
    whole = trimesh.util.concatenate(parts)
    # The middle of the barrel, the wall, the top of the hill, its slope, and the rock.
    places = [(1.03, 0.02), (2.3, 0.02), (2.5, 0.02), (3.1, 0.2), (0.2, 2.2)]
    for x, y in places:
        geom = np.zeros(1, dtype=np.int32)
        start = np.array([x, y, 5.0])
        groups = np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8)
        distance = mujoco.mj_ray(
            model, data, start, np.array([0.0, 0.0, -1.0]), groups, 1, -1, geom
        )
        hits = np.array(list(_heights_below(whole, x, y)))
        assert hits.max() == pytest.approx(5.0 - distance, abs=2e-3), (x, y)


def _heights_below(mesh, x, y):
    """Heights at which a vertical line meets the triangles of a mesh."""
    for corners in mesh.triangles:
        a, b, c = corners[:, :2]
        matrix = np.column_stack([b - a, c - a])
        if abs(np.linalg.det(matrix)) < 1e-12:
            continue
        u, v = np.linalg.solve(matrix, np.array([x, y]) - a)
        if u >= 0.0 and v >= 0.0 and u + v <= 1.0:
            yield (
                corners[0, 2]
                + u * (corners[1, 2] - corners[0, 2])
                + v * (corners[2, 2] - corners[0, 2])
            )


def test_a_configuration_gives_its_floor_and_its_things():
    """The boxes of the conveyor are there, under the names by which the hardware tells of them."""
    config = load_config('conveyor')
    body = make_robot(config.parameters.robot, config.folder)
    found = surroundings(body, config)
    assert len(found.grounds) == 1
    moving = {one.name for one in found.things if one.moves}
    with Simulation('conveyor') as sim:
        assert moving == set(sim.hardware.things()) != set()


def test_without_a_configuration_there_is_the_floor():
    """Of a robot behind ROS topics nothing else is known."""
    config = load_config('sr1_pd')
    body = make_robot(config.parameters.robot, config.folder)
    found = surroundings(body, None)
    np.testing.assert_allclose(found.grounds, [np.eye(4)])
    assert not found.things


def test_a_scene_file_is_shown(tmp_path):
    """A robot that is put into a scene of its own file has that around it."""
    scene = tmp_path / 'scene.xml'
    scene.write_text(
        '<mujoco><worldbody><geom type="plane" size="5 5 1"/>'
        '<body name="crate" pos="1 1 0.5"><freejoint/><geom type="box" size="0.2 0.2 0.2"/></body>'
        '</worldbody></mujoco>'
    )
    config = load_config('sr1_pd', {'robot.scene': str(scene)})
    body = make_robot(config.parameters.robot, config.folder)
    found = surroundings(body, config)
    assert not found.grounds
    (ground,) = thing(found, 'world').shapes
    assert isinstance(ground.geometry, Mesh)
    assert thing(found, 'crate').moves
    assert Path(body.description.scene) == scene


def test_uneven_ground_is_the_one_that_the_robot_walks_on():
    """Heights and colour of the configuration's terrain, as the hardware has it."""
    changes = {'hardware.mujoco.terrain.roughness': 0.05, 'hardware.mujoco.terrain.slope': 5.0}
    config = load_config('sr1_pd', changes)
    body = make_robot(config.parameters.robot, config.folder)
    found = surroundings(body, config)
    assert not found.grounds
    (ground,) = thing(found, 'world').shapes
    vertices, _ = merged(surfaces(ground))
    with Simulation('sr1_pd', changes=changes) as sim:
        wanted = sim.hardware.terrain.height(vertices[:, 0], vertices[:, 1])
    np.testing.assert_allclose(vertices[:, 2], wanted, atol=1e-4)
    assert np.ptp(vertices[:, 2]) > 0.5
    # The mean of the two colours of its checkers.
    np.testing.assert_allclose(ground.color, [0.675, 0.7, 0.735, 1.0], atol=0.01)
