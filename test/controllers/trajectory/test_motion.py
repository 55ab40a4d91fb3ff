"""References that never jump."""

import numpy as np
import pytest

from cnoid_control.controllers.trajectory.motion import MotionLimits, TrajectoryMotion
from cnoid_control.plugin.mailbox import JointTrajectory

DT = 0.001
LIMITS = MotionLimits(stop_acceleration=20.0, stop_jerk=400.0, blend_time=0.2)


def trajectory(times, positions, velocities=None, accelerations=None, names=('a', 'b')):
    """Return a trajectory message of the points."""
    extra = {}
    if velocities is not None:
        extra['velocities'] = np.array(velocities, dtype=float)
    if accelerations is not None:
        extra['accelerations'] = np.array(accelerations, dtype=float)
    return JointTrajectory(
        names=names, times=np.array(times), positions=np.array(positions, dtype=float), **extra
    )


def run(motion, begin, end):
    """Return times and references (q, dq, ddq) from one time to another."""
    times = np.arange(round(begin / DT), round(end / DT)) * DT
    states = []
    for t in times:
        motion.update(t)
        states.append((motion.q.copy(), motion.dq.copy(), motion.ddq.copy()))
    return times, *(np.array(values) for values in zip(*states, strict=True))


BOTH = np.array([0, 1])


def assert_smooth(q, dq, largest_acceleration):
    """Position steps agree with the velocity, and the velocity does not jump."""
    steps = np.diff(q, axis=0)
    np.testing.assert_allclose(
        steps, 0.5 * (dq[:-1] + dq[1:]) * DT, atol=largest_acceleration * DT**2
    )
    assert np.abs(np.diff(dq, axis=0)).max() < 1.5 * largest_acceleration * DT


def test_it_goes_through_the_points():
    """The reference is at every point at its time, and at rest after the last one."""
    motion = TrajectoryMotion(np.zeros(2), LIMITS)
    points = trajectory([0.5, 1.0], [[1.0, -1.0], [0.0, 2.0]], [[0.5, 0.0], [0.0, 0.0]])
    motion.follow(points, BOTH, now=0.0, start_in=0.0)
    _, q, dq, _ = run(motion, 0.0, 1.2)
    np.testing.assert_allclose(q[500], [1.0, -1.0], atol=1e-9)
    np.testing.assert_allclose(dq[500], [0.5, 0.0], atol=1e-9)
    np.testing.assert_allclose(q[1000:], [[0.0, 2.0]] * 200, atol=1e-12)
    assert motion.end_time == pytest.approx(1.0)
    assert_smooth(q, dq, 60.0)


@pytest.mark.parametrize('first', [0.0, 0.3])
def test_a_new_trajectory_takes_over_without_a_jump(first):
    """In full motion, a trajectory from elsewhere is passed over to smoothly, also from t = 0."""
    motion = TrajectoryMotion(np.zeros(2), LIMITS)
    motion.follow(trajectory([1.0], [[2.0, -1.0]], [[0, 0]], [[0, 0]]), BOTH, 0.0, 0.0)
    _, q0, dq0, _ = run(motion, 0.0, 0.5)
    assert np.abs(dq0[-1]).max() > 3.0
    second = trajectory(
        [first, first + 0.8], [[-1.0, 0.5], [0.0, 0.0]], [[0, 0], [0, 0]], [[0, 0], [0, 0]]
    )
    motion.follow(second, BOTH, 0.5, 0.0)
    _, q1, dq1, _ = run(motion, 0.5, 1.8)
    assert_smooth(np.vstack([q0, q1]), np.vstack([dq0, dq1]), 800.0)
    np.testing.assert_allclose(q1[-1], [0.0, 0.0], atol=1e-9)
    # Behind the passing-over the second trajectory is followed exactly.
    reference = TrajectoryMotion(np.array([-1.0, 0.5]), LIMITS)
    reference.follow(second, BOTH, 0.5, 0.0)
    _, expected, _, _ = run(reference, 0.5, 1.8)
    late = round((max(first, 0.2) + 0.01) / DT)
    np.testing.assert_allclose(q1[late:], expected[late:], atol=1e-9)


def test_a_trajectory_that_has_begun_is_joined_where_it_is():
    """With a start in the past the reference meets the trajectory at its present point."""
    motion = TrajectoryMotion(np.zeros(2), LIMITS)
    points = trajectory([0.0, 2.0], [[0.0, 0.0], [1.0, -1.0]], [[0, 0], [0, 0]])
    motion.follow(points, BOTH, now=5.0, start_in=-1.0)
    _, q, dq, _ = run(motion, 5.0, 6.2)
    np.testing.assert_allclose(q[0], [0.0, 0.0], atol=1e-12)
    cubic = 3 * 0.75**2 - 2 * 0.75**3
    np.testing.assert_allclose(q[500], [cubic, -cubic], atol=1e-9)
    np.testing.assert_allclose(q[-1], [1.0, -1.0], atol=1e-9)
    assert_smooth(q, dq, 150.0)


def test_braking_keeps_to_its_limits():
    """A stop from full speed is smooth, within acceleration and jerk, and then rests."""
    motion = TrajectoryMotion(np.zeros(2), LIMITS)
    motion.follow(trajectory([1.0], [[2.0, -1.0]]), BOTH, 0.0, 0.0)
    _, q0, dq0, _ = run(motion, 0.0, 0.5)
    motion.brake(0.5)
    assert not motion.rests
    _, q1, dq1, ddq1 = run(motion, 0.5, 1.5)
    assert motion.rests
    np.testing.assert_array_equal(dq1[-1], 0.0)
    assert np.abs(ddq1).max() <= 20.0 + 1e-9
    assert np.abs(np.diff(ddq1, axis=0)).max() <= 400.0 * DT + 1e-6
    assert_smooth(np.vstack([q0, q1]), np.vstack([dq0, dq1]), 30.0)
    assert q1[-1, 0] > q0[-1, 0]


def test_joints_left_out_come_to_a_stop():
    """A trajectory for one joint lets the other, which was moving, stop smoothly."""
    motion = TrajectoryMotion(np.zeros(2), LIMITS)
    motion.follow(trajectory([1.0], [[2.0, -1.0]]), BOTH, 0.0, 0.0)
    _, q0, dq0, _ = run(motion, 0.0, 0.5)
    motion.follow(trajectory([1.0], [[1.0]], names=('a',)), np.array([0]), 0.5, 0.0)
    _, q1, dq1, _ = run(motion, 0.5, 1.6)
    assert_smooth(np.vstack([q0, q1]), np.vstack([dq0, dq1]), 40.0)
    assert q1[-1, 0] == pytest.approx(1.0)
    assert -1.0 < q1[-1, 1] < q0[-1, 1] < 0.0
    assert dq1[-1, 1] == 0.0


@pytest.mark.parametrize('interrupted', [0.02, 0.06, 0.1, 0.15])
def test_a_stop_that_was_planned_does_not_outlive_a_trajectory(interrupted):
    """A replaced trajectory's own end is kept, although stopping would have taken longer."""
    motion = TrajectoryMotion(np.zeros(2), MotionLimits(stop_acceleration=2.0, stop_jerk=20.0))
    short = trajectory([0.2], [[0.7, -0.1]])
    motion.follow(short, BOTH, 0.0, 0.0)
    run(motion, 0.0, interrupted)
    motion.follow(short, BOTH, interrupted, 0.0)
    run(motion, interrupted, motion.end_time + 2 * DT)
    motion.finish()
    _, q, dq, _ = run(motion, motion._time, motion._time + 2.0)
    np.testing.assert_allclose(q[-1], [0.7, -0.1], atol=1e-9)
    np.testing.assert_array_equal(dq[-1], 0.0)
    assert motion.rests
