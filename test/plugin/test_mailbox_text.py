"""Messages survive being written as text."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cnoid_control.plugin.mailbox import (
    JointTrajectory,
    JointValues,
    Pose,
    Trigger,
    Twist,
    Value,
    message_from_text,
    message_to_text,
)
from cnoid_control.plugin.trajectory_goal import FollowTrajectory, JointTolerance

RNG = np.random.default_rng(5)
MESSAGES = [
    Trigger(stamp=1.5),
    Value(value=1.0 / 3.0),
    Twist(frame='hand', linear=RNG.normal(size=3), angular=RNG.normal(size=3)),
    Pose(frame='world', T=RNG.normal(size=(4, 4))),
    JointValues(names=('a', 'b'), position=RNG.normal(size=2)),
    JointTrajectory(names=('a',), times=np.arange(3.0), positions=RNG.normal(size=(3, 1))),
]


def same(one, other) -> bool:
    """Whether two messages say the same, to the bit."""
    for field in dataclasses.fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            if mine.shape != theirs.shape or mine.tobytes() != theirs.tobytes():
                return False
        elif mine != theirs:
            return False
    return type(one) is type(other)


@pytest.mark.parametrize('message', MESSAGES, ids=lambda message: type(message).__name__)
def test_round_trip(message):
    """Every kind comes back with the same bits."""
    assert same(message_from_text(type(message), message_to_text(message)), message)


def test_goals_come_back_without_their_handle():
    """Who waited for the goal is not there any more; what was asked for is."""
    trajectory = JointTrajectory(names=('a',), times=np.ones(1), positions=np.ones((1, 1)))
    goal = FollowTrajectory(trajectory=trajectory, path_tolerance={'a': JointTolerance(0.1)})
    found = message_from_text(FollowTrajectory, message_to_text(goal))
    assert same(found.trajectory, trajectory)
    assert found.path_tolerance == goal.path_tolerance
    assert found.handle is not goal.handle


@pytest.mark.parametrize('text', ['{"speed": 1}', '[1]', '3'])
def test_texts_of_other_things_are_refused(text):
    """With the kind that was expected."""
    with pytest.raises(ValueError, match='no Value'):
        message_from_text(Value, text)
