"""Goals: how they end, and with which code."""

import numpy as np
import pytest

from cnoid_control.controllers.trajectory.follower import ToleranceDefaults, TrajectoryFollower
from cnoid_control.controllers.trajectory.motion import MotionLimits
from cnoid_control.plugin.mailbox import JointTrajectory
from cnoid_control.plugin.trajectory_goal import (
    FollowTrajectory,
    GoalState,
    JointTolerance,
    TrajectoryResult,
)

DT = 0.001


def make_follower(**defaults):
    """Return a follower of two joints at zero."""
    tolerances = {'path': np.zeros(2), 'goal': np.zeros(2), **defaults}
    return TrajectoryFollower(
        ('a', 'b'), np.zeros(2), ToleranceDefaults(**tolerances), MotionLimits()
    )


def goal(target=(1.0, -1.0), names=('a', 'b'), **fields):
    """Return a goal that is to be reached in a second."""
    points = JointTrajectory(names=names, times=np.array([1.0]), positions=np.array([target]))
    return FollowTrajectory(trajectory=points, **fields)


def run(follower, begin, end, error=0.0, velocity_error=0.0):
    """Let the follower run with a robot that is off by a constant error."""
    for tick in range(round(begin / DT), round(end / DT)):
        motion = follower.motion
        follower.update(tick * DT, motion.q - error, motion.dq - velocity_error)


def test_a_goal_is_reached():
    """At the end of its time, within the tolerances, a goal succeeds and the joints stay."""
    follower, wanted = make_follower(goal=np.full(2, 0.01)), goal()
    follower.accept(wanted, 0.0)
    run(follower, 0.0, 0.999)
    assert not wanted.handle.done
    run(follower, 0.999, 1.1, error=0.009)
    assert wanted.handle.state is GoalState.SUCCEEDED
    assert wanted.handle.code is TrajectoryResult.SUCCESSFUL
    np.testing.assert_allclose(follower.motion.q, [1.0, -1.0])
    assert follower.goal is None


def test_leaving_the_path_aborts_and_stops():
    """An error beyond the path tolerance aborts, names the joint, and the reference stops."""
    follower = make_follower()
    wanted = goal(path_tolerance={'b': JointTolerance(position=0.05)})
    follower.accept(wanted, 0.0)
    run(follower, 0.0, 0.5, error=np.array([0.5, 0.04]))
    assert not wanted.handle.done
    run(follower, 0.5, 0.501, error=np.array([0.0, -0.06]))
    assert wanted.handle.state is GoalState.ABORTED
    assert wanted.handle.code is TrajectoryResult.PATH_TOLERANCE_VIOLATED
    assert "error of joint 'b'" in wanted.handle.text
    assert 'allowed is 0.05' in wanted.handle.text
    moving = np.abs(follower.motion.dq).max()
    run(follower, 0.501, 0.502)
    assert 0.9 * moving < np.abs(follower.motion.dq).max() < moving
    run(follower, 0.502, 1.2)
    assert follower.motion.rests


def test_a_goal_that_is_not_reached_in_time_aborts():
    """Beyond the goal tolerance after the goal time, a goal is aborted; not before."""
    follower, wanted = make_follower(goal=np.full(2, 0.01), goal_time=0.3), goal()
    follower.accept(wanted, 0.0)
    run(follower, 0.0, 1.29, error=0.02)
    assert not wanted.handle.done
    run(follower, 1.29, 1.32, error=0.02)
    assert wanted.handle.code is TrajectoryResult.GOAL_TOLERANCE_VIOLATED
    assert wanted.handle.state is GoalState.ABORTED


def test_without_a_goal_time_it_waits():
    """Without a goal time a goal is waited for, and succeeds late."""
    follower, wanted = make_follower(goal=np.full(2, 0.01)), goal()
    follower.accept(wanted, 0.0)
    run(follower, 0.0, 5.0, error=0.02)
    assert not wanted.handle.done
    run(follower, 5.0, 5.01, error=0.005)
    assert wanted.handle.state is GoalState.SUCCEEDED


@pytest.mark.parametrize(
    ('tolerance', 'succeeds'),
    [({}, False), ({'a': JointTolerance(-1.0, -1.0)}, True), ({'a': JointTolerance(0.2)}, True)],
)
def test_a_goal_overrides_the_defaults(tolerance, succeeds):
    """A tolerance of a goal replaces the default one; a negative one allows anything."""
    follower = make_follower(goal=np.array([0.01, 0.0]), goal_time=0.1)
    wanted = goal(goal_tolerance=tolerance)
    follower.accept(wanted, 0.0)
    run(follower, 0.0, 1.2, error=np.array([0.1, 0.0]))
    assert (wanted.handle.state is GoalState.SUCCEEDED) is succeeds


def test_a_robot_that_still_moves_has_not_arrived():
    """The goal is reached only when the joints have stopped."""
    follower, wanted = make_follower(stopped_velocity=0.01, goal_time=0.1), goal()
    follower.accept(wanted, 0.0)
    run(follower, 0.0, 1.2, velocity_error=0.02)
    assert wanted.handle.code is TrajectoryResult.GOAL_TOLERANCE_VIOLATED
    assert 'velocity error' in wanted.handle.text


def test_cancelling_ends_when_the_reference_rests():
    """A cancelled goal stops smoothly and is done when nothing moves any more."""
    follower, wanted = make_follower(), goal()
    follower.accept(wanted, 0.0)
    run(follower, 0.0, 0.5)
    wanted.handle.request_cancel()
    run(follower, 0.5, 0.51)
    assert wanted.handle.state is GoalState.CANCELING
    assert not follower.motion.rests
    run(follower, 0.51, 1.2)
    assert wanted.handle.state is GoalState.CANCELED
    assert follower.motion.rests
    assert 0.5 < follower.motion.q[0] < 1.0


def test_a_new_goal_ends_the_old_one():
    """The old goal is cancelled with joint_trajectory_controller's code, the new one reached."""
    follower, first, second = make_follower(), goal(), goal((0.2, 0.2))
    follower.accept(first, 0.0)
    run(follower, 0.0, 0.5)
    before = follower.motion.q.copy()
    follower.accept(second, 0.5)
    run(follower, 0.5, 0.501)
    assert np.abs(follower.motion.q - before).max() < 0.01
    assert first.handle.state is GoalState.CANCELED
    assert first.handle.code is TrajectoryResult.INVALID_GOAL
    run(follower, 0.501, 1.6)
    assert second.handle.state is GoalState.SUCCEEDED
    np.testing.assert_allclose(follower.motion.q, [0.2, 0.2])


def test_only_the_joints_of_the_goal_are_judged():
    """A joint that a goal leaves out does not fail it, however far it is."""
    follower = make_follower(path=np.full(2, 0.05), goal=np.full(2, 0.05))
    wanted = goal((1.0,), names=('a',))
    follower.accept(wanted, 0.0)
    run(follower, 0.0, 1.1, error=np.array([0.0, 3.0]))
    assert wanted.handle.state is GoalState.SUCCEEDED
