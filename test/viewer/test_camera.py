import numpy as np
import pytest

from cnoid_control.viewer.camera import Camera

CAMERA = Camera(position=(3.0, 0.0, 1.0), target=(0.0, 0.0, 1.0), size=(200, 400))


def test_the_target_is_in_the_middle():
    """What the camera looks at is at the picture's centre, at its true distance."""
    point, depth = CAMERA.project(np.array([0.0, 0.0, 1.0]))
    assert point == pytest.approx((200.0, 100.0))
    assert depth == pytest.approx(3.0)


def test_up_is_up_and_left_is_left():
    """From the front, the world's Z goes up the picture and its Y to the right."""
    point, _ = CAMERA.project(np.array([0.0, 0.1, 1.1]))
    assert point[0] > 200
    assert point[1] < 100


def test_rays_are_the_inverse_of_projection():
    """A point on the ray of a pixel is projected to that pixel's centre."""
    points = np.array(CAMERA.position) + 2.5 * CAMERA.rays()
    projected, depth = CAMERA.project(points)
    rows, columns = np.mgrid[0:200, 0:400] + 0.5
    assert np.allclose(projected, np.stack([columns, rows], axis=2))
    assert np.allclose(depth, 2.5)


@pytest.mark.parametrize('azimuth', [0.0, 1.0, 3.0])
def test_framing_shows_all_points_and_wastes_little(azimuth):
    """All points are in the picture, and they reach near to an edge of it."""
    points = np.random.default_rng(1).uniform((-1, -0.2, 0), (1, 0.2, 1.5), (200, 3))
    camera = Camera.framing(points, azimuth=azimuth, size=(300, 400))
    projected, depth = camera.project(points)
    assert (depth > 0).all()
    from_middle = np.abs(projected / (400, 300) - 0.5).max()
    assert 0.4 < from_middle < 0.5
