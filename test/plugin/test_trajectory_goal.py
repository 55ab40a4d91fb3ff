"""Goals that are followed: their handle and the mailbox's door."""

import pytest

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin.mailbox import Mailbox
from cnoid_control.plugin.trajectory_goal import (
    FollowTrajectory,
    GoalHandle,
    GoalState,
    TrajectoryResult,
)


def test_the_first_end_of_a_goal_counts():
    """A goal that is done stays as it ended, whatever comes later."""
    handle = GoalHandle()
    assert not handle.wait(0.0)
    handle.finish(GoalState.ABORTED, TrajectoryResult.PATH_TOLERANCE_VIOLATED, 'too far')
    handle.finish(GoalState.SUCCEEDED, TrajectoryResult.SUCCESSFUL, 'reached')
    handle.request_cancel()
    assert handle.wait(0.0)
    assert (handle.state, handle.code, handle.text) == (
        GoalState.ABORTED,
        TrajectoryResult.PATH_TOLERANCE_VIOLATED,
        'too far',
    )


def test_goals_do_not_share_a_handle():
    """Each goal has a handle of its own; a stop is asked of one of them only."""
    first, second = FollowTrajectory(), FollowTrajectory()
    first.handle.request_cancel()
    assert first.handle.cancel_requested
    assert not second.handle.cancel_requested


def test_a_mailbox_refuses_at_the_door():
    """What the controller's check refuses is not left in the mailbox; the reason goes back."""
    mailbox = Mailbox('follow', FollowTrajectory)

    def refuse(message: FollowTrajectory) -> None:
        raise CnoidControlError(f'no points in {message.trajectory.names}')

    mailbox.validate = refuse
    with pytest.raises(CnoidControlError, match='no points'):
        mailbox.post(FollowTrajectory())
    assert mailbox.take() is None
    mailbox.validate = None
    goal = FollowTrajectory()
    mailbox.post(goal)
    assert mailbox.take() is goal
