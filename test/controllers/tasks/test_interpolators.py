"""Interpolators: where they end, how fast they go, and what they refuse."""

import numpy as np
import pytest

from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.interpolators import (
    INTERPOLATOR_TYPES,
    IdentityInterpolator,
    InterpolatorParameters,
    TimedInterpolator,
    make_interpolator,
)
from cnoid_control.controllers.tasks.target import PoseTarget
from cnoid_control.parameters import ParameterError

DT = 1e-3


def run(interpolator, ticks):
    """Outputs of so many ticks, the start included."""
    return np.array([interpolator.output, *(interpolator.step(DT) for _ in range(ticks))])


def make(kind, **options):
    """Make an interpolator that stands at (1, -2) and goes to (2, 0)."""
    interpolator = make_interpolator(InterpolatorParameters(type=kind, **options))
    interpolator.reset(np.array([1.0, -2.0]))
    interpolator.set_goal(np.array([2.0, 0.0]))
    return interpolator


@pytest.mark.parametrize('kind', INTERPOLATOR_TYPES)
def test_every_kind_reaches_its_goal(kind):
    """All kinds end at the goal and stay there."""
    path = run(make(kind, duration=0.5, max_velocity=5.0, max_acceleration=30.0), 2500)
    np.testing.assert_allclose(path[-1], [2.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(path[-2], [2.0, 0.0], atol=1e-9)


@pytest.mark.parametrize(
    ('kind', 'middle'), [('linear', 0.25), ('cubic', 0.15625), ('quintic', 0.103515625)]
)
def test_weight_blends_start_and_goal(kind, middle):
    """At weight 1/4 the output is s(1/4) of the way."""
    interpolator = make(kind, weight=0.25)
    np.testing.assert_allclose(interpolator.step(DT), [1.0 + middle, -2.0 + 2.0 * middle])


@pytest.mark.parametrize('kind', ['linear_timed', 'cubic_timed', 'quintic_timed'])
def test_timed_kinds_take_the_given_time(kind):
    """Half of the way at half of the time, all of it at the end, no sooner."""
    path = run(make(kind, duration=0.8), 800)
    np.testing.assert_allclose(path[400], [1.5, -1.0], atol=1e-9)
    np.testing.assert_allclose(path[800], [2.0, 0.0], atol=1e-9)
    assert path[798, 1] < 0.0


@pytest.mark.parametrize(
    ('kind', 'limits'),
    [
        ('cubic_constrained', {'max_velocity': 3.0}),
        ('cubic_constrained', {'max_velocity': 30.0, 'max_acceleration': 20.0}),
        ('quintic_constrained', {'max_velocity': 3.0, 'max_acceleration': 15.0}),
        ('quintic_constrained', {'max_velocity': 30.0, 'max_acceleration': 15.0}),
        ('rate_limiter', {'max_velocity': 3.0}),
        ('time_optimal', {'max_velocity': 3.0, 'max_acceleration': 15.0, 'max_jerk': 300.0}),
    ],
)
def test_limits_are_kept_and_used(kind, limits):
    """Derivatives stay below their limits, and at least one limit is reached."""
    path = run(make(kind, **limits), 3000)
    velocity = np.abs(np.diff(path, axis=0)).max() / DT
    acceleration = np.abs(np.diff(path, n=2, axis=0)).max() / DT**2
    used = [velocity / limits['max_velocity']]
    assert velocity <= limits['max_velocity'] * (1 + 1e-6)
    if 'max_acceleration' in limits:
        assert acceleration <= limits['max_acceleration'] * (1 + 1e-3)
        used.append(acceleration / limits['max_acceleration'])
    assert max(used) > 0.97


def test_time_optimal_takes_over_from_a_running_motion():
    """A new goal in mid-motion changes neither position nor velocity at once."""
    interpolator = make('time_optimal', max_velocity=3.0, max_acceleration=15.0)
    path = list(run(interpolator, 300))
    interpolator.set_goal(np.array([-1.0, -3.0]))
    path.extend(run(interpolator, 2000)[1:])
    acceleration = np.abs(np.diff(path, n=2, axis=0)) / DT**2
    assert acceleration.max() <= 15.0 * (1 + 1e-3)
    np.testing.assert_allclose(path[-1], [-1.0, -3.0], atol=1e-6)


def test_unknown_kinds_list_the_known():
    """A wrong name names those that exist."""
    with pytest.raises(TaskError, match=r"'spline'.*time_optimal"):
        make_interpolator(InterpolatorParameters(type='spline'))


@pytest.mark.parametrize(
    ('kind', 'options'),
    [
        ('linear', {'weight': 0.0}),
        ('cubic_timed', {'duration': 0.0}),
        ('rate_limiter', {'max_velocity': 0.0}),
        ('quintic_constrained', {'max_velocity': -1.0}),
        ('time_optimal', {'max_acceleration': 0.0}),
    ],
)
def test_impossible_options_are_refused(kind, options):
    """Zero or negative limits, times and weights are refused by name."""
    with pytest.raises(ParameterError, match=next(iter(options))):
        make_interpolator(InterpolatorParameters(type=kind, **options))


def test_poses_move_on_a_screw():
    """A pose target passes through rotations, not through matrices that are none."""
    target = PoseTarget(
        'hand', make_interpolator(InterpolatorParameters(type='cubic_timed', duration=0.1))
    )
    goal = np.array([[0.0, -1, 0, 0.5], [1, 0, 0, 0.2], [0, 0, 1, 0.1], [0, 0, 0, 1]])
    target.set(goal)
    for _ in range(100):
        before = target.output
        pose = target.step(DT)
        np.testing.assert_allclose(pose.rotation @ pose.rotation.T, np.eye(3), atol=1e-12)
        np.testing.assert_allclose(
            target.velocity[:3] * DT, pose.translation - before.translation, atol=1e-12
        )
    np.testing.assert_allclose(pose.homogeneous, goal, atol=1e-9)


def test_a_pose_target_without_its_interpolator_stands_still():
    """The velocity of the way that is given up is not fed forward any more."""
    target = PoseTarget('hand', TimedInterpolator(1, 1.0))
    goal = np.eye(4)
    goal[0, 3] = 1.0
    target.set(goal)
    target.step(0.1)
    assert target.velocity[0] > 0.5
    target.interpolator = IdentityInterpolator()
    target.step(0.1)
    assert not target.velocity.any()


def test_a_moved_pose_target_tells_the_pose_asked_for():
    """Position of the last move, orientation as before; what was given may change afterwards."""
    target = PoseTarget('hand')
    position = np.array([1.0, 2.0, 3.0])
    target.move_to(position)
    position[:] = 0.0
    np.testing.assert_array_equal(target.input[:3, 3], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(target.input[:3, :3], np.eye(3))
    target.set(np.eye(4))
    np.testing.assert_array_equal(target.input, np.eye(4))
