"""Trajectories that cannot be followed are refused with the reason."""

import numpy as np
import pytest

from cnoid_control.controllers.trajectory.exceptions import InvalidTrajectory
from cnoid_control.controllers.trajectory.follower import check_trajectory
from cnoid_control.plugin.mailbox import JointTrajectory
from cnoid_control.plugin.trajectory_goal import FollowTrajectory, JointTolerance, TrajectoryResult

JOINTS = ('hip', 'knee')
GOOD = {
    'names': JOINTS,
    'times': np.array([0.5, 1.0]),
    'positions': np.array([[0.1, 0.2], [0.3, 0.4]]),
}


def check(allow_partial=False, allow_moving_end=False, goal=None, **changes):
    """Check the good trajectory with some of its fields changed."""
    follow = FollowTrajectory(trajectory=JointTrajectory(**{**GOOD, **changes}), **(goal or {}))
    check_trajectory(follow, JOINTS, allow_partial, allow_moving_end)


def test_a_good_trajectory_passes():
    """Positions in increasing time are all that is needed; the order of joints is free."""
    check()
    check(names=('knee', 'hip'), velocities=np.array([[1.0, 2.0], [0.0, 0.0]]))


@pytest.mark.parametrize(
    ('changes', 'code', 'words'),
    [
        ({'names': ('hip', 'ankle')}, -2, 'unknown joints: ankle; choose from: hip, knee'),
        ({'names': ('hip', 'hip')}, -2, 'more than once: hip'),
        ({'names': ('hip',), 'positions': np.array([[0.1], [0.2]])}, -2, 'left out.*knee'),
        ({'names': ()}, -1, 'no joints'),
        ({'times': np.zeros(0), 'positions': np.zeros((0, 2))}, -1, 'no points'),
        ({'positions': np.zeros((0, 0))}, -1, 'positions: 2 points of 2 joints'),
        ({'velocities': np.zeros((2, 1))}, -1, 'velocities: .*shape .2, 1.'),
        ({'positions': np.array([[0, 0], [0, np.nan]])}, -1, "point 1 of joint 'knee' is nan"),
        ({'times': np.array([1.0, 1.0])}, -1, 'increasing'),
        ({'times': np.array([-0.1, 1.0])}, -1, 'not negative'),
        ({'times': np.array([0.1, np.inf])}, -1, 'finite'),
        ({'velocities': np.array([[0, 0], [0, 0.5]])}, -1, "'knee' still moves"),
        ({'goal': {'start_in': -1.5}}, -3, 'ended 0.500 s ago'),
        ({'goal': {'start_in': np.nan}}, -1, 'finite time'),
        ({'goal': {'path_tolerance': {'elbow': JointTolerance(1.0)}}}, -2, 'elbow'),
    ],
)
def test_a_bad_one_is_refused(changes, code, words):
    """Each fault is named, with the code that joint_trajectory_controller's action has."""
    with pytest.raises(InvalidTrajectory, match=words) as raised:
        check(**changes)
    assert raised.value.code == TrajectoryResult(code)


def test_options_allow_more():
    """Some of the joints, and a velocity at the end, pass where they are allowed."""
    check(names=('hip',), positions=np.array([[0.1], [0.2]]), allow_partial=True)
    check(velocities=np.array([[0, 0], [0, 0.5]]), allow_moving_end=True)
