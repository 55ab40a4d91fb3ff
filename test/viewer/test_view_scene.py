"""The picture of a robot: its nodes are where the robot is, by MuJoCo's own positions."""

from __future__ import annotations

import io
import socket
from contextlib import redirect_stdout
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
import viser

from cnoid_control.body.devices import Camera
from cnoid_control.hardware.mujoco.picture_view import View
from cnoid_control.simulation import Simulation, load_robot
from cnoid_control.viewer import figures
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.scene import LAYERS, Scene
from cnoid_control.viewer.surfaces import merged, surfaces


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


@pytest.fixture(scope='module')
def shared_server():
    """A server of viser that no browser looks at."""
    with redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host='127.0.0.1', port=free_port(), verbose=False)
    yield server
    with redirect_stdout(io.StringIO()):
        server.stop()


@pytest.fixture
def server(shared_server):
    """The same without what the last test has left."""
    shared_server.scene.reset()
    shared_server.gui.reset()
    return shared_server


def frame_of(sim):
    """Frame of a simulation, as the loop would write it."""
    hardware = sim.hardware
    body = hardware.body
    return Frame(
        time=hardware.time,
        q=body.q.copy(),
        dq=body.dq.copy(),
        u=body.u.copy(),
        q_target=body.q_target.copy(),
        root=body.root_q.copy(),
        contacts=hardware.contact_forces(),
        things=hardware.things(),
    )


def rotation(node):
    """Axes of a node."""
    w, x, y, z = node.wxyz
    return pin.Quaternion(w, x, y, z).matrix()


@pytest.mark.parametrize('config', ['sr1_walk', 'arm_circle', 'trotter_walk', 'pick_and_place'])
def test_links_are_where_mujoco_has_them(server, config):
    """Every node of the robot has the pose of its MuJoCo body, after some time of a run."""
    with Simulation(config) as sim:
        scene = Scene(server, sim.robot.clone(), sim.config)
        assert not scene.missing
        sim.run(0.6)
        scene.show(frame_of(sim))
        data = sim.hardware.data
        assert len(scene.robot.links) >= 4
        for link in scene.robot.links:
            node, body = scene.robot.node(link), data.body(link.name)
            np.testing.assert_allclose(node.position, body.xpos, atol=1e-5)
            np.testing.assert_allclose(rotation(node), body.xmat.reshape(3, 3), atol=1e-5)


def test_every_visible_shape_is_in_the_node_of_what_carries_it(server):
    """Links behind fixed joints are part of the mesh of the link that moves them."""
    body = load_robot('gripper_arm')
    scene = Scene(server, body)
    for link in body.links:
        if any(shape.visual for shape in link.description.shapes):
            assert scene.robot.node(link) is not None, link.name


def test_things_move_with_the_world(server):
    """The boxes on the conveyor are where MuJoCo has them."""
    with Simulation('conveyor') as sim:
        scene = Scene(server, sim.robot.clone(), sim.config)
        before = {name: node.position.copy() for name, node in scene.things.items()}
        sim.run(1.0)
        scene.show(frame_of(sim))
        assert scene.things
        for name, node in scene.things.items():
            body = sim.hardware.data.body(name)
            np.testing.assert_allclose(node.position, body.xpos, atol=1e-9)
            np.testing.assert_allclose(rotation(node), body.xmat.reshape(3, 3), atol=1e-9)
        moved = [np.abs(node.position - before[name]).max() for name, node in scene.things.items()]
        assert max(moved) > 0.01


def test_contacts_are_drawn_and_vanish_in_the_air(server):
    """An arrow per contact point; none is left when nothing is touched."""
    with Simulation('sr1_pd') as sim:
        scene = Scene(server, sim.robot.clone(), sim.config)
        sim.run(0.3)
        frame = frame_of(sim)
        scene.show(frame)
        arrows = server.scene.get_handle_by_name('/contacts')
        assert arrows.visible
        assert len(arrows.points) == len(frame.contacts)
        np.testing.assert_allclose(arrows.points[:, 0], frame.contacts[:, 1:4], atol=1e-6)
        frame.contacts = frame.contacts[:0]
        scene.show(frame)
        assert not arrows.visible


def test_the_centre_of_mass_is_that_of_mujoco(server):
    """The ball is at MuJoCo's centre of mass of the robot, its shadow below it."""
    with Simulation('trotter_walk') as sim:
        scene = Scene(server, sim.robot.clone(), sim.config)
        sim.run(0.5)
        scene.show(frame_of(sim))
        center = sim.hardware.data.subtree_com[sim.hardware.data.body(sim.robot.links[0].name).id]
        ball = server.scene.get_handle_by_name('/com')
        below = server.scene.get_handle_by_name('/com_ground')
        np.testing.assert_allclose(ball.position, center, atol=1e-3)
        np.testing.assert_allclose(below.position[:2], center[:2], atol=1e-3)


def test_the_ghost_has_the_commanded_posture(server):
    """Its links are where forward kinematics have them in the targets."""
    body = load_robot('arm')
    scene = Scene(server, body.clone())
    target = np.linspace(0.1, 0.6, body.num_joints)
    scene.layers['reference posture'].switch(True)
    scene.show(Frame(q=np.zeros(body.num_joints), q_target=target, root=body.root_q.copy()))
    body.q[:] = target
    body.calc_forward_kinematics()
    for link in scene.robot.links:
        ghost = server.scene.get_handle_by_name(f'/reference/{link.name}')
        np.testing.assert_allclose(ghost.position, link_of(body, link).p, atol=1e-9)
    scene.layers['reference posture'].switch(False)
    assert not server.scene.get_handle_by_name('/reference').visible


def link_of(body, link):
    """The same link of another body."""
    return body.link(link.name)


def test_targets_of_tasks_and_their_errors(server):
    """A frame at the target, a line from what is moved, and the error in words; gone when off."""
    body = load_robot('arm')
    scene = Scene(server, body)
    target, moved = np.eye(4), np.eye(4)
    target[:3, 3], moved[:3, 3] = [0.5, 0.1, 0.7], [0.4, 0.0, 0.6]
    log = {
        'tasks/hand.target': target.ravel(),
        'tasks/hand.frame': moved.ravel(),
        'tasks/hand.error': np.array([0.3, 0.4, 0.0]),
    }
    scene.show(Frame(log=log))
    axes = server.scene.get_handle_by_name('/tasks/tasks_hand')
    np.testing.assert_allclose(axes.position, target[:3, 3])
    line = server.scene.get_handle_by_name('/tasks/tasks_hand_error')
    np.testing.assert_allclose(line.points, [[moved[:3, 3], target[:3, 3]]], atol=1e-6)
    label = server.scene.get_handle_by_name('/tasks/tasks_hand_label')
    assert label.text == 'hand: 0.5'
    scene.show(Frame(log={}))
    assert not any(node.visible for node in (axes, line, label))


def test_the_estimated_base_is_shown_where_it_is_believed_to_be(server):
    """The ghost stands at the logged pose with the measured joints."""
    body = load_robot('sr1')
    scene = Scene(server, body)
    scene.layers['estimated base'].switch(True)
    pose = np.eye(4)
    pose[:3, 3] = [1.0, 2.0, 3.0]
    scene.show(Frame(q=body.q.copy(), root=body.root_q.copy(), log={'c/base_estimate': pose}))
    ghost = server.scene.get_handle_by_name(f'/estimate/{body.root_link.name}')
    np.testing.assert_allclose(ghost.position, [1.0, 2.0, 3.0])


def test_a_trail_follows_its_link_and_begins_anew_with_time(server):
    """The ends of the line are the places where the link was."""
    body = load_robot('arm')
    scene = Scene(server, body)
    trails = scene.layers['trails']
    trails.add(body.links[-1].name)
    places = []
    for tick in range(5):
        q = np.full(body.num_joints, 0.1 * tick)
        scene.show(Frame(time=float(tick), q=q))
        places.append(body.links[-1].p.copy())
    line = server.scene.get_handle_by_name(f'/trails/{body.links[-1].name}')
    np.testing.assert_allclose(line.points[:, 0], places[:-1], atol=1e-6)
    np.testing.assert_allclose(line.points[:, 1], places[1:], atol=1e-6)
    scene.show(Frame(time=0.0, q=np.zeros(body.num_joints)))
    scene.show(Frame(time=1.0, q=np.full(body.num_joints, 0.3)))
    assert len(line.points) == 1


def test_switches_show_and_hide_their_layers(server):
    """There is one for every layer, in its state."""
    body = load_robot('sr1')
    scene = Scene(server, body)
    scene.add_controls()
    assert set(scene.layers) == {layer.label for layer in LAYERS}
    scene.show(Frame(q=body.q.copy(), root=body.root_q.copy()))
    ball = server.scene.get_handle_by_name('/com')
    assert ball.visible
    scene.layers['centre of mass'].switch(False)
    assert not ball.visible
    scene.show(Frame(q=body.q.copy(), root=body.root_q.copy()))
    assert not ball.visible


def test_what_cannot_be_shown_is_said(server, tmp_path):
    """A mesh file that holds none is named; the rest of the robot is there."""
    (tmp_path / 'bad.stl').write_text('nothing')
    model = tmp_path / 'part.urdf'
    model.write_text(
        '<robot name="part"><link name="base"><visual><geometry><mesh filename="bad.stl"/>'
        '</geometry></visual><visual><geometry><box size="1 1 1"/></geometry></visual></link>'
        '</robot>'
    )
    scene = Scene(server, load_robot(model))
    (sentence,) = scene.missing
    assert "'base'" in sentence
    assert 'bad.stl' in sentence
    assert scene.robot.node(scene.body.root_link) is not None


def test_a_state_that_is_no_number_does_not_stop_the_picture(server):
    """The robot stays where it was; the next frame moves it again."""
    body = load_robot('sr1')
    scene = Scene(server, body)
    before = scene.robot.node(body.root_link).position.copy()
    scene.show(Frame(q=np.full(body.num_joints, np.nan), root=np.full(7, np.nan)))
    np.testing.assert_array_equal(scene.robot.node(body.root_link).position, before)
    scene.show(Frame(q=np.zeros(body.num_joints), root=np.array([1.0, 0, 1, 0, 0, 0, 1])))
    np.testing.assert_allclose(scene.robot.node(body.root_link).position, [1.0, 0.0, 1.0])


def test_a_click_tells_the_link_and_the_point(server):
    """The point is the first one of the link's surface on the line of sight, in link axes."""
    body = load_robot('sr1')
    scene = Scene(server, body)
    told = []
    link = scene.robot.links[0]
    start = link.p + link.R @ np.array([5.0, 0.0, 0.0])
    direction = link.R @ np.array([-1.0, 0.0, 0.0])
    click = SimpleNamespace(client='me', ray_origin=tuple(start), ray_direction=tuple(direction))
    scene._clicked(lambda *values: told.append(values), link, click)
    ((client, name, point, line),) = told
    assert (client, name) == ('me', link.name)
    np.testing.assert_allclose(line, direction)
    shapes = [mesh for shape in link.description.shapes for mesh in surfaces(shape)]
    vertices, _ = merged(shapes)
    assert point[0] == pytest.approx(vertices[:, 0].max(), abs=1e-6)
    np.testing.assert_allclose(point[1:], 0.0, atol=1e-9)
    np.testing.assert_array_equal(scene.robot.hit(link, start * 0.0 + 9.0, direction), np.zeros(3))


def moved(root, x, y):
    """Pose of a root that is somewhere else."""
    pose = root.copy()
    pose[:2] += [x, y]
    return pose


def test_who_comes_later_sees_the_robot_where_it_is_then(server):
    """The first view moves with the robot, and is not sent again for every small step."""
    body = load_robot('sr1')
    scene = Scene(server, body)
    camera = server.initial_camera
    first, offset = camera.look_at.copy(), camera.position - camera.look_at
    root = body.root_q.copy()
    scene.show(Frame(q=body.q.copy(), root=moved(root, 0.01, 0.0)))
    np.testing.assert_array_equal(camera.look_at, first)
    scene.show(Frame(q=body.q.copy(), root=moved(root, 5.0, 1.0)))
    np.testing.assert_allclose(camera.look_at - first, [5.0, 1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(camera.position - camera.look_at, offset, atol=1e-9)
    corners = scene.robot.bounds + np.array([5.0, 1.0, 0.0])
    seen = View(tuple(camera.position), tuple(camera.look_at), camera.fov, (600, 800))
    pixels = seen.project(corners)
    assert (pixels > 0.0).all()
    assert (pixels < [800.0, 600.0]).all()


def test_pictures_of_cameras_are_in_the_panel_and_before_the_camera(server):
    """The frustum looks along the camera's axis; the panel has the picture, small enough."""
    body = load_robot('lantern')
    scene = Scene(server, body)
    scene.add_controls()
    camera = body.find_device(Camera, 'Camera')
    image = np.full((480, 1280, 3), 128, dtype=np.uint8)
    scene.show(Frame(devices={'Camera': {'image': image}}))
    frustum = server.scene.get_handle_by_name('/cameras/Camera')
    link = camera.link
    np.testing.assert_allclose(frustum.position, link.p + link.R @ camera.p_local, atol=1e-9)
    # A camera of viser looks along Z, one of OpenGL against it.
    np.testing.assert_allclose(
        rotation(frustum)[:, 2], -(link.R @ camera.R_optical)[:, 2], atol=1e-9
    )
    sights = scene.layers['cameras and lidar']
    assert sights.pictures['Camera'].image.shape == (160, 427, 3)
    scene.show(Frame(devices={'Camera': {'image': np.zeros((0, 0, 3), dtype=np.uint8)}}))


JOINTED = """<robot name="bare"><link name="base"/><link name="tip">{}</link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="tip"/>
  <origin xyz="0.3 0 0.4"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint></robot>"""
COLLIDING = '<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>'


@pytest.mark.parametrize(
    ('inside', 'highest'), [(COLLIDING, 0.5), ('', 0.4)], ids=['collides', 'skeleton']
)
def test_a_robot_without_visible_shapes_is_seen_all_the_same(server, tmp_path, inside, highest):
    """By what collides, or by its joints."""
    model = tmp_path / 'bare.urdf'
    model.write_text(JOINTED.format(inside))
    scene = Scene(server, load_robot(model))
    assert scene.robot.node(scene.body.link('tip')) is not None
    assert scene.robot.bounds[1, 2] == pytest.approx(highest, abs=0.011)


def test_what_is_no_number_is_not_drawn(server):
    """Contacts, targets and estimates of a run that has gone wrong do not reach the browser."""
    body = load_robot('sr1')
    scene = Scene(server, body)
    for name in ('reference posture', 'estimated base', 'joint limits', 'force sensors'):
        scene.layers[name].switch(True)
    bad = np.full((4, 4), np.nan)
    sensor = next(device for device in body.devices if hasattr(device, 'F'))
    frame = Frame(
        q=body.q.copy(),
        root=body.root_q.copy(),
        q_target=np.full(body.num_joints, np.nan),
        u=np.full(body.num_joints, np.inf),
        contacts=np.full((2, 7), np.nan),
        devices={sensor.name: {'F': np.full(6, np.nan)}},
        limited={'effort': ['nobody']},
        log={'t/a.target': bad, 't/a.frame': bad, 't/a.error': bad[0], 'e/base_estimate': bad},
    )
    scene.show(frame)
    for name in ('/contacts', '/tasks/t_a', '/estimate', '/force_sensors'):
        node = server.scene.get_handle_by_name(name)
        assert node is None or not node.visible, name
    ghost = server.scene.get_handle_by_name(f'/reference/{body.root_link.name}')
    assert np.isfinite(ghost.position).all()


def test_a_large_cloud_is_thinned_out(server, monkeypatch):
    """A browser is not sent more points than it can draw."""
    body = load_robot('lantern')
    scene = Scene(server, body)
    cloud = np.random.default_rng(0).normal(size=(50_001, 3))
    monkeypatch.setattr(figures, 'seen_points', lambda *_: cloud)
    scene.show(Frame())
    points = server.scene.get_handle_by_name('/points').points
    assert 16_000 < len(points) <= 20_000
    np.testing.assert_allclose(points[1], cloud[3], atol=1e-6)
