"""Pictures of robots: size, order in depth, light, shadow, and the default view."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from cnoid_control.body import Body
from cnoid_control.body.description import (
    BodyDescription,
    Box,
    JointType,
    LinkDescription,
    Mesh,
    Shape,
)
from cnoid_control.hardware.exceptions import HardwareError, RenderingUnavailable
from cnoid_control.hardware.mujoco import picture
from cnoid_control.hardware.mujoco.picture import RAYS, open_drawer, save_picture
from cnoid_control.hardware.mujoco.picture_scene import Still
from cnoid_control.hardware.mujoco.picture_view import View

# By rays, pictures are the same to the bit everywhere.
draw = partial(picture.draw, renderer=RAYS)

FRONT = View(position=(5.0, 0.0, 1.0), target=(0.0, 0.0, 1.0), size=(120, 160))


def cube(position, color=(1.0, 0.0, 0.0, 1.0), geometry=None, visual=True):
    """Return a cube of 0.4 m edges at a position."""
    shape = Shape(geometry or Box((0.4, 0.4, 0.4)), color=color, visual=visual)
    link = LinkDescription('cube', joint_type=JointType.FREE, shapes=[shape])
    body = Body(BodyDescription('cube', [link]))
    body.root_link.p = np.array(position)
    body.calc_forward_kinematics()
    return body


def red(image):
    """Pixels that are red."""
    return (image[..., 0] > 60) & (image[..., 1] < 30)


def test_a_cube_is_as_large_as_it_should_be():
    """The front face of the cube covers the square that the pinhole model says."""
    view = replace(FRONT, size=(360, 480))
    image = draw([cube((0.0, 0.0, 1.0))], view)
    edge = 0.4 / (5.0 - 0.2) * view.focal_length
    assert red(image).sum() == pytest.approx(edge**2, rel=0.1)


def test_a_robot_in_front_hides_the_one_behind():
    """Between the camera and the red cube, a blue one is all that is seen."""
    image = draw([cube((0, 0, 1)), cube((1, 0, 1), (0.0, 0.0, 1.0, 1.0))], FRONT)
    assert not red(image).any()
    assert (image[60, 80] == (0, 0, image[60, 80, 2])).all()


def test_a_link_below_the_floor_is_hidden():
    """The floor covers what is under it."""
    assert not red(draw([cube((0, 0, -1))], FRONT)).any()


def test_an_invisible_shape_is_not_drawn():
    """Shapes that only collide are not seen."""
    assert not red(draw([cube((0, 0, 1), visual=False)], FRONT)).any()


def test_a_hovering_cube_throws_a_shadow_on_the_floor_only_where_it_is():
    """The floor is darker under the cube, away from the light, and unchanged elsewhere."""
    above = View(position=(0.0, -4.0, 6.0), target=(0.0, 0.0, 0.0), size=(120, 160))
    difference = draw([], above).astype(int) - draw([cube((0, 0, 1))], above).astype(int)
    light = np.array([0.35, 0.45, 0.82])
    centre = np.array([0.0, 0.0, 1.0]) - light / light[2]
    column, row = above.project(centre)
    assert (difference[int(row), int(column)] > 30).all()
    mirrored = above.project(np.array([-centre[0], -centre[1], 0.0]))
    assert (difference[int(mirrored[1]), int(mirrored[0])] == 0).all()


def test_a_face_towards_the_light_is_lit_and_one_away_from_it_is_not():
    """The near side of the cube shades with its direction, and no surface shadows itself."""
    towards = draw([cube((0, 0, 1))], FRONT)[60, 80, 0]
    back = View(position=(-5.0, 0.0, 1.0), target=(0.0, 0.0, 1.0), size=(120, 160))
    away = draw([cube((0, 0, 1))], back)[60, 80, 0]
    cosine = 0.35 / np.linalg.norm([0.35, 0.45, 0.82])
    assert away == round(255 * 0.45)
    assert towards == pytest.approx(255 * (0.45 + 0.55 * cosine), abs=1)


def test_without_a_camera_the_whole_robot_is_in_the_picture(tmp_path):
    """The default view shows all of the robot, and the file holds the picture."""
    from matplotlib.image import imread

    path = tmp_path / 'robot.png'
    save_picture(path, [cube((3, 2, 0.2))])
    image = (imread(path)[..., :3] * 255).round().astype(np.uint8)
    rows, columns = np.nonzero(red(image))
    assert len(rows) > 5000
    assert rows.min() > 0
    assert rows.max() < image.shape[0] - 1
    assert columns.min() > 0
    assert columns.max() < image.shape[1] - 1


def test_a_mesh_that_cannot_be_read_is_named():
    """The message names the file."""
    with pytest.raises(HardwareError, match=r'foot\.stl'):
        draw([cube((0, 0, 1), geometry=Mesh(path='/nowhere/foot.stl'))], FRONT)


def test_the_default_view_looks_at_all_points_from_the_front_left():
    """Corners of a box that is not at the origin stay inside the picture, near its edge."""
    points = np.array([[x, y, z] for x in (1, 3) for y in (-1, 0) for z in (0, 2)], dtype=float)
    view = View.framing(points, size=(300, 500))
    columns, rows = view.project(points).T
    assert view.position[0] > 3
    assert view.position[1] > 0
    assert columns.min() > 0
    assert columns.max() < 500
    assert rows.min() > 0
    assert rows.max() < 300
    assert rows.max() - rows.min() > 200


def test_a_turned_robot_is_drawn_whole():
    """What collides is seen as what does not, whichever way it is turned."""
    slope = np.array([0.35, 0.0, 0.94])
    side = np.array([0.0, 1.0, 0.0])
    slope /= np.linalg.norm(slope)
    turn = np.column_stack([np.cross(side, slope), side, slope])
    pictures = []
    for collision in (True, False):
        shape = Shape(Box((2.0, 1.0, 0.1)), color=(1.0, 0.0, 0.0, 1.0), collision=collision)
        link = LinkDescription('plate', joint_type=JointType.FREE, shapes=[shape])
        body = Body(BodyDescription('plate', [link]))
        body.root_link.p, body.root_link.R = np.array([0.0, 0.0, 1.0]), turn
        body.calc_forward_kinematics()
        view = View(position=(4.0, -3.0, 3.0), target=(0.0, 0.0, 1.0), size=(120, 160))
        pictures.append(draw([body], view))
    assert red(pictures[1]).sum() > 500
    np.testing.assert_array_equal(pictures[0], pictures[1])


def test_everything_that_is_seen_is_drawn():
    """A long part that only is seen, beside a small one that collides, on a turned link."""
    rod = Shape(Box((0.1, 0.1, 1.6)), np.array([0.0, 0.0, 0.8]), color=(1.0, 0.0, 0.0, 1.0))
    rod.collision = False
    lump = Shape(Box((0.1, 0.1, 0.1)), visual=False)
    turned = np.diag([-1.0, 1.0, -1.0])
    for mass in (0.0, 1.0):
        root = LinkDescription('root', translation=np.array([0.0, 0.0, 1.8]))
        link = LinkDescription('rod', 'root', rotation=turned, mass=mass, shapes=[rod, lump])
        link.inertia = mass * np.eye(3)
        image = draw([Body(BodyDescription('rod', [root, link]))], FRONT)
        size = 1.6 * 0.1 * (FRONT.focal_length / 4.95) ** 2
        assert red(image).sum() == pytest.approx(size, rel=0.25)


def test_both_renderers_see_the_same():
    """A cube is in the same place and as large by OpenGL as by rays, with its shadow."""
    scene = picture.PictureScene([cube((0.3, -0.2, 0.6))])
    view = View.framing(scene.corners(), size=(240, 320))
    try:
        drawer = open_drawer(scene, picture.GL, view.size)
    except RenderingUnavailable as error:
        pytest.skip(str(error))
    by_gl = drawer.draw(view)
    larger = drawer.draw(replace(view, size=(480, 640)))
    drawer.close()
    by_rays = open_drawer(scene, RAYS).draw(view)
    ours, theirs = red(by_rays), red(by_gl)
    assert (ours & theirs).sum() > 0.95 * ours.sum()
    assert (ours ^ theirs).sum() < 0.06 * ours.sum()
    assert red(larger).sum() == pytest.approx(4 * theirs.sum(), rel=0.03)


def test_a_scene_follows_its_robots_and_things():
    """Nothing is built again: both are drawn where they are moved to."""
    body = cube((0.0, 0.0, 1.0))
    thing = Still('ball', [Shape(Box((0.4, 0.4, 0.4)), color=(0.0, 0.0, 1.0, 1.0))])
    thing.position = np.array([0.0, 1.0, 1.0])
    scene = picture.PictureScene([body], [thing])
    drawer = open_drawer(scene, RAYS)
    before = drawer.draw(FRONT)
    body.root_link.p, thing.position = np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0])
    body.calc_forward_kinematics()
    scene.move()
    after = drawer.draw(FRONT)
    blue = (before[..., 2] > 60) & (before[..., 0] < 30)
    assert (red(after) == blue).mean() > 0.99
    assert red(after).any()
    assert not (red(after) & red(before)).any()


def test_a_tinted_robot_has_one_colour():
    """And is drawn where its own colour would be."""
    scene = picture.PictureScene([cube((0, 0, 1))], tints=[(0.0, 0.0, 1.0, 1.0)])
    image = open_drawer(scene, RAYS).draw(FRONT)
    assert not red(image).any()
    assert ((image[..., 2] > 60) & (image[..., 0] < 30)).sum() > 50


def test_an_unknown_renderer_is_refused():
    """With those that there are."""
    with pytest.raises(HardwareError, match=r"unknown renderer 'x'; choose from: auto, gl, rays"):
        draw([cube((0, 0, 1))], FRONT, renderer='x')
