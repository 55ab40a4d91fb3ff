"""Figures: values with goals, left out where what they need is not installed."""

from __future__ import annotations

import pytest

from cnoid_control.bench.registry import bench_rows
from cnoid_control.bench.row import MetricRow
from cnoid_control.cli.main import main


def test_a_figure_is_held_against_its_goal():
    """At most, or at least, as the row says."""
    row = MetricRow('x', 'subject', 'reference', lambda: 0.5, 'm', goal=1.0)
    assert (row.result().value, row.result().reached, row.result().goal) == (0.5, True, '<= 1')
    assert not MetricRow('x', '', '', lambda: 0.5, 'm', '>=', 1.0).result().reached


def test_a_figure_that_needs_something_else_is_left_out():
    """Nothing is called and there is no value."""
    row = MetricRow('x', '', '', lambda: 1 / 0, '', needs='no_such_module')
    assert row.result().value is None
    assert row.result().reached is None


def test_the_estimators_have_figures():
    """Errors of the estimators are in the table, with the goals that they are held to."""
    names = ['base_drift', 'base_tilt', 'base_speed', 'joint_rate', 'outside_force']
    assert [row.goal for row in bench_rows(names)] == [5.0, 1.0, 0.02, 0.1, 1.0]


def test_klampt_gives_the_same_times():
    """Where Klamp't is installed, milestones take as long as there."""
    pytest.importorskip('klampt', reason='Klampt is not installed')
    (row,) = bench_rows(['klampt_times'])
    assert row.result().value < 1.0


def test_the_table_shows_figures(capsys):
    """Figures have a table of their own on the command line."""
    assert main(['bench', 'klampt_times']) == 0
    assert "Klamp't" in capsys.readouterr().out
