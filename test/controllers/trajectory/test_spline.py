"""Polynomials through trajectory points, against scipy and finite differences."""

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicHermiteSpline, PchipInterpolator

from cnoid_control.controllers.trajectory.spline import TrajectorySpline, monotone_velocities

TIMES = np.array([0.0, 0.4, 1.0, 1.1, 2.0])


def random_knots(seed: int, joints: int = 3) -> tuple[np.ndarray, ...]:
    """Return positions, velocities and accelerations of five knots."""
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=(len(TIMES), joints)) for _ in range(3))


def test_velocities_give_cubics():
    """Positions and velocities give the cubic Hermite spline."""
    q, v, _ = random_knots(1)
    spline, expected = TrajectorySpline(TIMES, q, v), CubicHermiteSpline(TIMES, q, v)
    for t in np.linspace(0.0, 1.999, 57):
        for order, value in enumerate(spline.sample(t)):
            np.testing.assert_allclose(value, expected(t, order), atol=1e-9)


def test_accelerations_give_quintics():
    """Positions, velocities and accelerations give the quintic Hermite spline."""
    q, v, a = random_knots(2)
    spline = TrajectorySpline(TIMES, q, v, a)
    expected = BPoly.from_derivatives(TIMES, np.stack([q, v, a], axis=1))
    for t in np.linspace(0.0, 1.999, 57):
        for order, value in enumerate(spline.sample(t)):
            np.testing.assert_allclose(value, expected(t, order), atol=1e-8)


def test_inner_velocities_are_those_of_pchip():
    """Positions alone get the inner velocities of the monotone spline, and rest at the end."""
    q, _, _ = random_knots(3)
    velocities = monotone_velocities(TIMES, q, np.full(3, 0.5))
    expected = PchipInterpolator(TIMES, q).derivative()(TIMES)
    np.testing.assert_allclose(velocities[1:-1], expected[1:-1], atol=1e-12)
    np.testing.assert_array_equal(velocities[0], 0.5)
    np.testing.assert_array_equal(velocities[-1], 0.0)


def test_positions_alone_do_not_overshoot():
    """Between two knots the position stays between theirs."""
    q = np.array([[0.0], [1.0], [1.0], [3.0], [2.0]])
    spline = TrajectorySpline(TIMES, q)
    for t in np.linspace(0.0, 2.0, 201):
        i = min(int(np.searchsorted(TIMES, t, side='right')) - 1, 3)
        low, high = sorted((q[i, 0], q[i + 1, 0]))
        assert low - 1e-12 <= spline.sample(t)[0][0] <= high + 1e-12


@pytest.mark.parametrize('knots', [1, 5])
def test_it_rests_at_the_last_knot(knots):
    """From the last knot on it stands still at its position; one knot is enough."""
    q, v, _ = random_knots(4)
    spline = TrajectorySpline(TIMES[:knots], q[:knots], v[:knots])
    assert spline.end_time == TIMES[knots - 1]
    for value, expected in zip(spline.sample(5.0), (q[knots - 1], 0.0, 0.0), strict=True):
        np.testing.assert_array_equal(value, np.broadcast_to(expected, 3))
