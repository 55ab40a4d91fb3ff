"""Quadratic programs: both solvers find the point that satisfies the optimality conditions."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from cnoid_control.controllers.tasks.quadratic_program import find_solver
from cnoid_control.exceptions import CnoidControlError


@pytest.fixture(params=['daqp', 'proxsuite'])
def solve(request, monkeypatch):
    """Have each of the solvers, as if the other one were not installed."""
    pytest.importorskip(request.param, reason=f'{request.param} is not installed')
    if request.param == 'proxsuite':
        monkeypatch.setitem(sys.modules, 'daqp', None)
    find_solver.cache_clear()
    yield find_solver()
    find_solver.cache_clear()


@pytest.mark.parametrize('equalities', [0, 2])
def test_the_solution_is_the_best_point(solve, equalities):
    """Stationary with the multipliers, within the bounds, and leaning where these are not 0."""
    random = np.random.default_rng(5)
    size, rows = 9, 6
    for _ in range(5):
        root = random.normal(size=(size, size))
        hessian, gradient = root @ root.T + 0.1 * np.eye(size), 5.0 * random.normal(size=size)
        matrix = random.normal(size=(rows, size))
        upper = np.concatenate([np.full(size, 0.4), np.full(rows, 0.3)])
        lower = -upper
        if equalities:
            lower[-equalities:] = upper[-equalities:] = 0.1
        found, multipliers = solve(hessian, gradient, matrix, lower, upper, equalities)
        values = np.concatenate([found, matrix @ found])
        everything = np.vstack([np.eye(size), matrix])
        stationary = hessian @ found + gradient + everything.T @ multipliers
        np.testing.assert_allclose(stationary, 0.0, atol=1e-6)
        assert (values <= upper + 1e-8).all()
        assert (values >= lower - 1e-8).all()
        np.testing.assert_allclose(values[multipliers > 1e-6], upper[multipliers > 1e-6])
        np.testing.assert_allclose(values[multipliers < -1e-6], lower[multipliers < -1e-6])


def test_no_solution_is_none(solve):
    """Where an equality cannot be kept within the bounds."""
    one = np.ones((1, 2))
    bounds = np.array([1.0, 1.0, 5.0])
    assert solve(np.eye(2), np.zeros(2), one, np.array([-1.0, -1.0, 5.0]), bounds, 1) is None


def test_without_a_solver_it_is_said_which_to_install(monkeypatch):
    """One by pip, one by rosdep."""
    monkeypatch.setitem(sys.modules, 'daqp', None)
    monkeypatch.setitem(sys.modules, 'proxsuite', None)
    find_solver.cache_clear()
    with pytest.raises(CnoidControlError, match='pip install daqp, or proxsuite'):
        find_solver()
    find_solver.cache_clear()
