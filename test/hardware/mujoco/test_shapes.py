"""Shapes and free links of scene files in physics: they collide as what they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hardware.conftest import make_request

from cnoid_control.body import Body
from cnoid_control.body.description import BodyDescription
from cnoid_control.body.formats.choreonoid import parse_body
from cnoid_control.hardware.mujoco.hardware import MujocoHardware

Simulate = Callable[..., MujocoHardware]

BALL = '{Shape: {geometry: {type: Sphere, radius: 0.05}}}'


def scene(ground: str, *places: tuple[float, float, float]) -> Body:
    """Fixed ground with balls of 1 kg that start at these places."""
    links = [f'{{name: ground, elements: {ground}}}']
    links += [
        f'{{name: ball{i}, parent: ground, joint_type: free, translation: {list(place)}, mass: 1,'
        f' inertia: [0.001, 0, 0, 0, 0.001, 0, 0, 0, 0.001], elements: {BALL}}}'
        for i, place in enumerate(places)
    ]
    text = 'links:\n' + ''.join(f'  - {link}\n' for link in links)
    return Body(parse_body(text, 'scene.body', Path()))


def settle(body: Body, simulate: Simulate, ticks: int = 600, **options: object) -> list[float]:
    """Heights of the balls after a while."""
    hardware = simulate(body, make_request(body, {}), self_collision=True, floor=False, **options)
    for _ in range(ticks):
        hardware.read()
        hardware.write()
    return [float(link.p[2]) for link in body.links[1:]]


def test_ellipsoid_has_its_own_height(simulate: Simulate) -> None:
    """A ball on top of a fixed ellipsoid stays at its half height and its own radius."""
    ground = '{Transform: {scale: [2, 2, 0.5], elements: {Shape: {geometry: {type: Sphere}}}}}'
    (height,) = settle(scene(ground, (0.0, 0.0, 0.552)), simulate, ticks=200)
    assert height == pytest.approx(0.55, abs=2e-3)


def test_height_field_holds_up(simulate: Simulate) -> None:
    """A ball on each of two terraces of a grid rests at the height of that terrace."""
    heights = [0.0, 0.0, 0.0, 0.3, 0.3, 0.3] * 3
    ground = (
        '{Transform: {rotation: [1, 0, 0, 90], elements: {Shape: {geometry: {type: ElevationGrid,'
        f' xDimension: 6, zDimension: 3, xSpacing: 0.5, zSpacing: 0.5, height: {heights}}}}}}}}}}}'
    )
    # Turned by 90 degrees about X, heights are along Z and rows along -Y.
    low, high = settle(scene(ground, (0.4, -0.5, 0.06), (2.1, -0.5, 0.36)), simulate)
    assert low == pytest.approx(0.05, abs=3e-3)
    assert high == pytest.approx(0.35, abs=3e-3)


def test_ring_has_a_hole(simulate: Simulate) -> None:
    """A ball falls through the middle of an extruded ring and rests on its rim."""
    turns = np.linspace(0.0, 2.0 * np.pi, 25)
    spine = np.column_stack([np.cos(turns), np.sin(turns), np.zeros(25)]).ravel().tolist()
    ground = (
        '{Shape: {geometry: {type: Extrusion, crossSection: [0.1, 0.1, 0.1, -0.1, -0.1, -0.1,'
        f' -0.1, 0.1, 0.1, 0.1], spine: {spine}}}}}}}'
    )
    through, rim = settle(scene(ground, (0.0, 0.0, 0.3), (1.0, 0.0, 0.152)), simulate, ticks=300)
    assert through < -0.1
    assert rim == pytest.approx(0.15, abs=3e-3)


def test_flat_mesh_is_a_sheet(simulate: Simulate) -> None:
    """A mesh in one plane collides, at its plane to the thickness of a sheet."""
    ground = (
        '{Shape: {geometry: {type: IndexedFaceSet, faces: [0, 1, 2, 3, -1],'
        ' vertices: [-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]}}}'
    )
    (height,) = settle(scene(ground, (0.2, 0.1, 0.052)), simulate, ticks=200)
    assert height == pytest.approx(0.05, abs=3e-3)


def test_mesh_without_a_surface_is_left_out(
    simulate: Simulate, caplog: pytest.LogCaptureFixture
) -> None:
    """A mesh whose corners are on a line cannot collide; it is told of."""
    ground = (
        '{Shape: {geometry: {type: IndexedFaceSet, faces: [0, 1, 2, -1],'
        ' vertices: [0, 0, 0, 1, 0, 0, 2, 0, 0]}}}'
    )
    settle(scene(ground, (0.0, 0.0, 1.0)), simulate, ticks=2)
    assert "'ground': a mesh without a surface" in caplog.text


def test_free_links_fall_and_come_back(simulate: Simulate) -> None:
    """A free link falls as g says, carries its own along, and reset puts it back."""
    text = """
links:
  - {name: base, translation: [0, 0, 1]}
  - {name: crate, parent: base, joint_type: free, translation: [1, 0, 1], mass: 2}
  - {name: lid, parent: crate, joint_type: revolute, joint_id: 0, translation: [0, 1, 0]}
"""
    body = Body(parse_body(text, 'fall.body', Path()))
    hardware = simulate(body, make_request(body, {}), floor=False, gravity=10.0)
    for _ in range(101):
        hardware.read()
        hardware.write()
    body.calc_forward_kinematics()
    fallen = 0.5 * 10.0 * 0.1**2
    np.testing.assert_allclose(body.link('crate').p, [1.0, 0.0, 2.0 - fallen], atol=2e-3)
    np.testing.assert_allclose(body.link('lid').p, [1.0, 1.0, 2.0 - fallen], atol=2e-3)
    np.testing.assert_allclose(body.root_link.p, [0.0, 0.0, 1.0])
    hardware.reset()
    np.testing.assert_allclose(body.link('lid').p, [1.0, 1.0, 2.0], atol=1e-9)


def test_free_links_start_where_the_root_has_been_put(simulate: Simulate) -> None:
    """Moving the root before the start moves what is free on it, as Choreonoid does."""
    body = scene('{Shape: {geometry: {type: Box}}}', (0.0, 0.0, 1.0))
    body.root_link.p = [0.0, 0.0, 5.0]
    hardware = simulate(body, make_request(body, {}), floor=False)
    hardware.read()
    np.testing.assert_allclose(body.link('ball0').p, [0.0, 0.0, 6.0], atol=1e-9)


def test_description_of_nothing_special_has_no_free_links() -> None:
    """A plain robot has none, so that nothing is copied for them."""
    description = parse_body('links: [{name: a, joint_type: free}]', 'a.body', Path())
    assert isinstance(description, BodyDescription)
    assert Body(description).tree.free_links == [-1]
