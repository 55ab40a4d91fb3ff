"""The last seconds as curves, and the list of limits."""

from __future__ import annotations

import numpy as np
import pytest

from cnoid_control.simulation import load_robot
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.history import History
from cnoid_control.viewer.plots import acting, readable_power


@pytest.fixture
def history():
    """Ten seconds of an arm, ten frames per second."""
    body = load_robot('arm')
    kept = History(body)
    for tick in range(101):
        kept.add(
            Frame(
                time=0.1 * tick,
                q=np.full(body.num_joints, tick),
                q_target=np.full(body.num_joints, tick + 1.0),
                u=np.full(body.num_joints, -tick),
                compute=np.array([1e-4, 2e-4]),
                period=np.array([1e-3, 3e-3]),
                log={'a/x': np.array([tick]), 'a/hand.error': np.array([3.0, 4.0])},
            )
        )
    return kept


def test_tracking_shows_the_last_seconds(history):
    """Measured and commanded, of the joint and the window asked for."""
    curves = history.tracking(1, 2.0)
    np.testing.assert_allclose(curves.x, np.arange(80, 101) / 10.0)
    np.testing.assert_allclose(curves.y['measured'], np.arange(80, 101))
    np.testing.assert_allclose(curves.y['target'], np.arange(81, 102))
    assert '[rad]' in curves.title


def test_effort_is_shown_with_its_limits(history):
    """Both limits are curves of the same length."""
    body = load_robot('arm')
    curves = history.effort(0, 1.0)
    np.testing.assert_allclose(curves.y['effort'], -np.arange(90, 101))
    np.testing.assert_allclose(curves.y['limit'], body.u_upper[0])
    np.testing.assert_allclose(curves.y['-limit'], body.u_lower[0])
    assert {len(values) for values in curves.y.values()} == {len(curves.x)}


def test_loop_times_are_in_milliseconds(history):
    """Mean and longest of ticks and of periods."""
    curves = history.loop_time(1.0)
    last = {name: values[-1] for name, values in curves.y.items()}
    assert last == pytest.approx(
        {'tick, mean': 0.1, 'tick, longest': 0.2, 'period, mean': 1.0, 'period, longest': 3.0}
    )


def test_errors_of_tasks_and_logged_values(history):
    """The norm of each task's error; a logged number as it is."""
    np.testing.assert_allclose(history.task_errors(1.0).y['a/hand'], 5.0)
    np.testing.assert_allclose(history.logged('a/x', 0.5).y['a/x'], np.arange(95, 101))
    assert list(history.logged('a/hand.error', 1.0).y) == ['0', '1']
    assert history.log_names() == ['a/hand.error', 'a/x']


def test_what_is_logged_now_and_then_has_gaps(history):
    """Frames without the value are no points; the curve is as long as time."""
    history.add(Frame(time=11.0))
    curves = history.logged('a/x', 2.0)
    assert len(curves.y['a/x']) == len(curves.x)
    assert np.isnan(curves.y['a/x'][-1])
    assert np.isnan(history.tracking(0, 2.0).y['measured'][-1])


def test_a_reset_begins_anew(history):
    """Time that goes back is another run."""
    history.add(Frame(time=0.0, q=np.zeros(7)))
    assert len(history.tracking(0, 60.0).x) == 1


def test_acting_limits_are_listed_by_joint_and_constraints_by_name():
    """Limits of the loop, and constraints that a controller of tasks logs."""
    frame = Frame(
        limited={'effort': ['elbow'], 'velocity': ['wrist', 'elbow']},
        log={'tasks/limited_by.speed': np.array([2.0]), 'tasks/limited_by.range': np.zeros(1)},
    )
    assert acting(frame) == [
        'elbow: effort',
        'wrist: velocity',
        'elbow: velocity',
        'speed (constraint of tasks)',
    ]


def test_texts_in_the_log_are_no_curves(history):
    """A controller may log words as well."""
    history.add(Frame(time=11.0, log={'a/word': np.array(['stance']), 'a/x': np.ones(1)}))
    assert history.log_names() == ['a/x']
    assert acting(Frame(log={'a/limited_by.x': np.array(['no'])})) == []


@pytest.mark.parametrize(
    ('spread', 'power'), [(0.0, 0), (5.0, 0), (0.02, 0), (0.019, -3), (3e-5, -3), (1e-6, -6)]
)
def test_small_values_are_shown_with_a_power_of_ten(spread, power):
    """So that three digits behind the point say something; gaps do not matter."""
    assert readable_power(np.array([[1.0, 1.0 + spread, np.nan]])) == power
