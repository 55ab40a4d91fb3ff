import numpy as np
import pytest

from cnoid_control.viewer.shadow import ShadowMap

UP = np.array([0.0, 0.6, 0.8])
# A square of 2 m at z = 1, facing up.
SQUARE = np.array(
    [
        [(-1, -1, 1), (1, -1, 1), (1, 1, 1)],
        [(-1, -1, 1), (1, 1, 1), (-1, 1, 1)],
    ],
    dtype=float,
)


@pytest.mark.parametrize('height', [0.0, 0.5])
def test_the_shadow_is_the_square_moved_along_the_light(height):
    """Under a tilted light the shadow lies beside the square, as far as the height says."""
    grid = np.linspace(-3, 3, 61) + 0.013
    x, y = np.meshgrid(grid, grid)
    points = np.stack([x, y, np.full_like(x, height)], axis=2).reshape(-1, 3)
    lit = ShadowMap(SQUARE, UP).lit(points)
    shift = (1 - height) * 0.6 / 0.8
    inside = (np.abs(points[:, 0]) < 1) & (np.abs(points[:, 1] + shift) < 1)
    edge = (np.abs(np.abs(points[:, 0]) - 1) < 0.02) | (
        np.abs(np.abs(points[:, 1] + shift) - 1) < 0.02
    )
    assert (lit[inside & ~edge] == 0).all()
    assert (lit[~inside & ~edge] == 1).all()


def test_a_lit_surface_does_not_shadow_itself():
    """The square's own upper side is in the light."""
    points = np.random.default_rng(0).uniform((-1, -1, 1), (1, 1, 1), (200, 3))
    assert (ShadowMap(SQUARE, UP).lit(points) == 1).all()


def test_an_empty_scene_has_no_shadows():
    """Where nothing is, everything is lit."""
    assert (ShadowMap(np.zeros((0, 3, 3)), UP).lit(np.zeros((4, 3))) == 1).all()
