import numpy as np

from cnoid_control.viewer.rasterizer import rasterize

SIZE = (40, 60)
# Counter-clockwise as seen, rows going down.
LARGE = [(10.0, 30.0), (50.0, 30.0), (10.0, 10.0)]


def test_a_triangle_covers_its_area():
    """The pixels drawn are those inside, as many as the area says."""
    raster = rasterize(np.array([LARGE]), np.ones((1, 3)), SIZE)
    assert abs((raster.face == 0).sum() - 400) <= 30
    assert raster.face[29, 10] == 0
    assert raster.face[10, 49] == -1
    assert np.isneginf(raster.nearness[raster.face < 0]).all()


def test_the_back_of_a_triangle_is_not_drawn():
    """A triangle that runs the other way round is looked at from behind."""
    raster = rasterize(np.array([LARGE[::-1]]), np.ones((1, 3)), SIZE)
    assert (raster.face == -1).all()


def test_the_nearest_triangle_is_on_top_in_any_order():
    """Order of drawing does not matter, nearness does."""
    points = np.array([LARGE, LARGE, LARGE])
    nearness = np.repeat([[1.0], [3.0], [2.0]], 3, axis=1)
    raster = rasterize(points, nearness, SIZE)
    assert set(raster.face[raster.face >= 0]) == {1}


def test_nearness_is_interpolated_at_the_pixel_centres():
    """Between the corners nearness is affine."""
    columns_as_nearness = np.array([[point[0] for point in LARGE]])
    raster = rasterize(np.array([LARGE]), columns_as_nearness, SIZE)
    _, columns = np.nonzero(raster.face == 0)
    assert np.allclose(raster.nearness[raster.face == 0], columns + 0.5)


def test_triangles_beyond_the_edge_are_cut():
    """A triangle that is larger than the picture fills it."""
    huge = np.array([[(-1000.0, 1000.0), (1000.0, 1000.0), (0.0, -1000.0)]])
    assert (rasterize(huge, np.ones((1, 3)), SIZE).face == 0).all()
