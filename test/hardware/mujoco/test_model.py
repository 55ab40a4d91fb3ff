from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hardware.conftest import make_description, make_request

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.description import (
    BodyDescription,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Geometry,
    LinkDescription,
    Material,
    Mesh,
    Mimic,
    Shape,
    Sphere,
)
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.mujoco import model
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.model import build_model
from cnoid_control.hardware.mujoco.parameters import MujocoParameters, ObjectParameters

Simulate = Callable[..., MujocoHardware]
TETRAHEDRON = Mesh(
    vertices=(0.0, 0.0, 0.1, 0.1, 0.0, -0.1, -0.1, 0.1, -0.1, -0.1, -0.1, -0.1),
    triangles=(0, 1, 2, 0, 2, 3, 0, 3, 1, 1, 3, 2),
)


def tick(hardware: MujocoHardware, count: int) -> None:
    """Run whole ticks, the commands in the body unchanged."""
    for _ in range(count):
        hardware.read()
        hardware.write()


def make_thing(*shapes: Shape, material: str = '', height: float = 0.1) -> Body:
    """Free body of 2 kg with these shapes."""
    link = LinkDescription(
        'thing',
        joint_type=JointType.FREE,
        mass=2.0,
        inertia=0.01 * np.eye(3),
        translation=np.array([0.0, 0.0, height]),
        shapes=list(shapes),
        material=material,
    )
    return Body(BodyDescription('thing', [link], materials={'ice': Material(friction=0.02)}))


@pytest.mark.parametrize(
    ('solid', 'rest'),
    [
        (Box((0.2, 0.2, 0.2)), 0.1),
        (Sphere(0.1), 0.1),
        (Cylinder(0.1, 0.2), 0.1),
        (Capsule(0.05, 0.1), 0.1),
        (Cone(0.1, 0.2), 0.1),
        (TETRAHEDRON, 0.1),
    ],
)
def test_every_solid_rests_on_the_floor(solid: Geometry, rest: float, simulate: Simulate) -> None:
    """Each kind of shape touches the floor where its surface is."""
    body = make_thing(Shape(solid), height=rest + 0.002)
    hardware = simulate(body, make_request(body, {}))
    tick(hardware, 80)
    assert body.root_link.p[2] == pytest.approx(rest, abs=2e-3)


def test_mujoco_with_the_wrong_solver_is_refused(
    fixed_arm: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MuJoCo 4.0.0 is refused for robots that its sparse solver computes wrongly, by its name."""
    monkeypatch.setattr(mujoco, '__version__', '4.0.0')
    build_model(fixed_arm, MujocoParameters(), 0.001)
    monkeypatch.setattr(model, 'WRONG_ABOVE', 2)
    with pytest.raises(HardwareError, match=r'MuJoCo 4.0.0 .* there are 3; install another'):
        build_model(fixed_arm, MujocoParameters(), 0.001)


def test_mesh_files_are_loaded(tmp_path: Path, simulate: Simulate) -> None:
    """A mesh given by its file collides like one given by its corners, scaled."""
    path = tmp_path / 'thing.obj'
    corners = np.array(TETRAHEDRON.vertices).reshape(-1, 3) * 10.0
    faces = np.array(TETRAHEDRON.triangles).reshape(-1, 3) + 1
    path.write_text(
        ''.join(f'v {x} {y} {z}\n' for x, y, z in corners)
        + ''.join(f'f {a} {b} {c}\n' for a, b, c in faces)
    )
    body = make_thing(Shape(Mesh(path=str(path), scale=(0.1, 0.1, 0.1))), height=0.102)
    hardware = simulate(body, make_request(body, {}))
    tick(hardware, 80)
    assert body.root_link.p[2] == pytest.approx(0.1, abs=2e-3)


def test_mesh_formats_that_mujoco_cannot_read_are_loaded(
    tmp_path: Path, simulate: Simulate
) -> None:
    """A mesh as text .stl, which MuJoCo refuses, collides like one given by its corners."""
    corners = np.array(TETRAHEDRON.vertices).reshape(-1, 3)
    lines = ['solid thing']
    for face in np.array(TETRAHEDRON.triangles).reshape(-1, 3):
        lines += ['facet normal 0 0 0', 'outer loop']
        lines += ['vertex {} {} {}'.format(*corners[index]) for index in face]
        lines += ['endloop', 'endfacet']
    path = tmp_path / 'thing.stl'
    path.write_text('\n'.join([*lines, 'endsolid thing\n']))
    body = make_thing(Shape(Mesh(path=str(path))), height=0.102)
    hardware = simulate(body, make_request(body, {}))
    tick(hardware, 80)
    assert body.root_link.p[2] == pytest.approx(0.1, abs=2e-3)


def test_broken_mesh_files_are_named(tmp_path: Path, simulate: Simulate) -> None:
    """A file that holds no mesh is named in the error."""
    path = tmp_path / 'thing.dae'
    path.write_text('nothing')
    with pytest.raises(HardwareError, match=r'thing\.dae'):
        simulate(make_thing(Shape(Mesh(path=str(path)))))


def test_flat_meshes_are_only_seen(simulate: Simulate) -> None:
    """A mesh without a volume can be looked at."""
    sheet = Mesh(
        vertices=(0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0),
        triangles=(0, 1, 2, 0, 2, 3),
    )
    hardware = simulate(make_thing(Shape(sheet, collision=False)))
    assert hardware.model.nmesh == 1


@pytest.mark.parametrize(
    ('material', 'friction', 'slides'),
    [('', 0.0, False), ('ice', 0.0, True), ('ice', 1.0, False), ('', 0.02, True)],
)
def test_friction_is_the_materials_unless_told_otherwise(
    material: str, friction: float, slides: bool, simulate: Simulate
) -> None:
    """A push slides a thing on ice; the option replaces the materials' friction."""
    body = make_thing(Shape(Box((0.2, 0.2, 0.2))), material=material)
    request = make_request(body, {'thing': StateFlag.LINK_EXT_WRENCH})
    hardware = simulate(body, request, friction=friction)
    for _ in range(500):
        hardware.read()
        body.root_link.add_external_force_at_local_position(np.array([2.0, 0.0, 0.0]), np.zeros(3))
        hardware.write()
    assert (body.root_link.p[0] > 0.05) == slides


def test_only_chosen_shapes_collide(simulate: Simulate) -> None:
    """With a list of shapes the others pass through the floor, or those with a minus do."""
    low = Shape(Sphere(0.1), name='low')
    high = Shape(Box((0.1, 0.1, 0.1)), translation=np.array([0.0, 0.0, 0.2]))
    rests = {}
    for collision in (
        *((), ('thing/low',), ('thing/box',), ('thing',)),
        *(('-thing/box',), ('-thing/low',), ('thing', '-thing/low')),
    ):
        body = make_thing(low, high, height=0.1)
        hardware = simulate(body, make_request(body, {}), collision=list(collision))
        tick(hardware, 150)
        rests[collision] = float(body.root_link.p[2])
    assert rests[()] == pytest.approx(0.1, abs=2e-3)
    assert rests['thing/low',] == pytest.approx(0.1, abs=2e-3)
    assert rests['thing',] == pytest.approx(0.1, abs=2e-3)
    assert rests['thing/box',] < 0.05
    assert rests['-thing/box',] == pytest.approx(0.1, abs=2e-3)
    assert rests['-thing/low',] < 0.05
    assert rests['thing', '-thing/low'] < 0.05


@pytest.mark.parametrize('self_collision', [False, True])
def test_self_collision_is_an_option(self_collision: bool, simulate: Simulate) -> None:
    """Two fingers pass through each other unless self-collision is on."""
    links = [LinkDescription('palm', joint_type=JointType.FIXED)]
    for i, (name, side) in enumerate((('left', 1.0), ('right', -1.0))):
        links.append(
            LinkDescription(
                name,
                parent='palm',
                joint_type=JointType.PRISMATIC,
                joint_id=i,
                joint_axis=np.array([0.0, -side, 0.0]),
                translation=np.array([0.0, 0.2 * side, 1.0]),
                inertia=0.01 * np.eye(3),
                shapes=[Shape(Box((0.1, 0.1, 0.1)))],
            )
        )
    body = Body(BodyDescription('hand', links))
    hardware = simulate(body, make_request(body), gravity=0.0, self_collision=self_collision)
    body.u[:] = 5.0
    tick(hardware, 400)
    assert (body.q.sum() > 0.35) != self_collision


def test_mimic_joint_follows_its_leader(simulate: Simulate) -> None:
    """A joint that mimics another one is held to it, and its own angle can be read."""
    description = make_description(JointType.FIXED)
    hand = description.links[-1]
    hand.mimic = Mimic('shoulder', multiplier=-0.5, offset=0.1)
    hand.joint_id = -1
    description.links[1].joint_id = 1
    body = Body(description)
    body.q_target[:] = [0.05, 0.6]
    hardware = simulate(body, make_request(body, StateFlag.JOINT_DISPLACEMENT))
    body.q_target[:] = [0.05, 0.6]
    tick(hardware, 2000)
    follower = body.link('hand')
    assert body.q[1] == pytest.approx(0.6, abs=5e-3)
    assert follower.q == pytest.approx(0.1 - 0.5 * body.q[1], abs=5e-3)


def test_holes_in_the_joint_ids_are_left_alone(simulate: Simulate) -> None:
    """A joint id without a joint keeps its element; the others are mapped past it."""
    description = make_description(JointType.FREE)
    description.links[-1].joint_id = 4
    body = Body(description)
    assert body.num_joints == 5
    body.q[:] = [0.1, 7.0, -0.3, 8.0, 0.4]
    body.initialize_state()
    request = make_request(body, StateFlag.JOINT_DISPLACEMENT)
    request.outputs.pop('', None)
    hardware = simulate(body, request, floor=False)
    tick(hardware, 50)
    np.testing.assert_array_equal(body.q[[1, 3]], [7.0, 8.0])
    np.testing.assert_allclose(body.q[[0, 2, 4]], [0.1, -0.3, 0.4], atol=1e-2)
    assert np.abs(body.dq[[0, 2, 4]]).max() > 0.0


def test_things_fall_and_stand(simulate: Simulate) -> None:
    """A thing with mass falls to the floor, one without stays where it was put."""
    body = make_thing(Shape(Box((0.1, 0.1, 0.1))))
    objects = {
        'shelf': ObjectParameters(size=[0.5, 0.5, 0.1], position=[2.0, 0.0, 1.0]),
        'ball': ObjectParameters('sphere', [0.1], [2.0, 0.0, 1.5], mass=1.0),
        'can': ObjectParameters('cylinder', [0.1, 0.3], [4.0, 0.0, 0.5], mass=1.0),
    }
    hardware = simulate(body, make_request(body, {}), objects=objects)
    tick(hardware, 1000)
    heights = {name: float(hardware.data.body(f'object/{name}').xpos[2]) for name in objects}
    assert heights == pytest.approx({'shelf': 1.0, 'ball': 1.15, 'can': 0.15}, abs=5e-3)


def test_joint_and_effort_limits_hold(simulate: Simulate) -> None:
    """A joint stops at its end and its actuator gives no more than it can, if asked to."""
    description = make_description(JointType.FIXED)
    slider = description.links[2]
    slider.q_lower, slider.q_upper = -0.2, 0.2
    slider.u_lower, slider.u_upper = -3.0, 3.0
    reached = {}
    for limited in (True, False):
        body = Body(description)
        request = make_request(body, inputs=StateFlag.JOINT_EFFORT)
        hardware = simulate(
            body, request, gravity=0.0, joint_limits=limited, effort_limits=limited
        )
        for _ in range(600):
            hardware.read()
            reached[limited] = (float(body.q[0]), float(body.u[0]))
            body.u[:] = [10.0, 0.0, 0.0]
            hardware.write()
    assert reached[True][0] == pytest.approx(0.2, abs=0.02)
    assert reached[True][1] == pytest.approx(3.0)
    assert reached[False][0] > 0.3
    assert reached[False][1] == pytest.approx(10.0)


def test_joints_of_no_range_and_no_effort_stay(simulate: Simulate) -> None:
    """A joint whose limits are one is locked there; one without effort cannot be driven."""
    description = make_description(JointType.FIXED)
    slider, hand = description.links[2], description.links[4]
    slider.q_lower = slider.q_upper = 0.0
    hand.u_lower = hand.u_upper = 0.0
    body = Body(description)
    hardware = simulate(body, make_request(body), gravity=0.0)
    for _ in range(100):
        hardware.read()
        body.u[:] = [10.0, 10.0, 0.0]
        hardware.write()
    assert body.q == pytest.approx(np.zeros(3), abs=2e-3)


def test_a_link_may_be_called_world(simulate: Simulate) -> None:
    """The name of MuJoCo's own world is free for links."""
    description = make_description(JointType.FIXED)
    description.links[0].name = description.links[1].parent = 'world'
    body = Body(description)
    hardware = simulate(body, make_request(body))
    tick(hardware, 2)
    assert hardware.model.njnt == 3


def test_robot_that_cannot_be_simulated_is_named(simulate: Simulate) -> None:
    """What MuJoCo refuses is reported with the robot's name."""
    description = make_description(JointType.FIXED)
    description.links[-1].shapes = [Shape(Box((0.0, 0.1, 0.1)))]
    with pytest.raises(HardwareError, match=r'arm cannot be simulated: .*size'):
        simulate(Body(description))
