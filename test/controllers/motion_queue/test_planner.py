"""Planner of the motion queue: what one plan leaves to the next, and speeds that stop in time."""

import numpy as np
import pytest

from cnoid_control.controllers.motion_queue import MotionQueue, MotionState, make_limits
from cnoid_control.controllers.motion_queue import planner as planner_module
from cnoid_control.controllers.motion_queue.planner import plan_line, plan_ramp, plan_velocity

N = 4
NAMES = tuple('ABCD')


def any_plan(rng: np.random.Generator, kinds: list):
    """One of the kinds of plans, with random bounds, as a call that can be repeated."""
    limits = kinds[rng.integers(len(kinds))]
    start = MotionState(
        rng.uniform(-0.8, 0.8, N), rng.uniform(-0.3, 0.3, N), rng.uniform(-0.1, 0.1, N)
    )
    goal, velocity = rng.uniform(-0.9, 0.9, N), rng.uniform(-0.1, 0.1, N)
    wait = float(rng.choice([0.0, 5.0]))
    calls = (
        lambda: plan_ramp(start, goal, np.zeros(N), limits, wait),
        lambda: plan_ramp(start, goal, velocity, limits),
        lambda: plan_velocity(start, velocity, limits),
        # Stops that lead beyond a limit, where the joints do not wait for each other.
        lambda: plan_velocity(start._replace(position=0.999 * np.sign(goal)), velocity, limits),
        lambda: plan_line(start, goal, limits)[-1],
    )
    return calls[rng.integers(len(calls))]


def outcome(plan) -> tuple:
    """Duration and states of a plan, or the message of what was refused."""
    try:
        profile = plan()
    except planner_module.MotionRefused as error:
        return (str(error),)
    times = np.linspace(0.0, profile.duration, 5)
    return profile.duration, *(profile.at(time) for time in times)


def test_a_plan_does_not_depend_on_the_plans_before_it():
    """After any others, a plan is to the bit the one that comes first in a program."""
    rng = np.random.default_rng(3)
    kinds = [
        make_limits(NAMES, velocity=1.0, acceleration=4.0, **more)
        for more in ({}, {'jerk': 40.0}, {'lower': -1.0, 'upper': 1.0})
    ]
    kinds.append(make_limits(NAMES, velocity=[1.0, 0.5, 2.0, 1.0], acceleration=3.0, jerk=20.0))
    plans = [any_plan(rng, kinds) for _ in range(200)]
    after_others = [outcome(plan) for plan in plans]
    for plan, expected in zip(plans, after_others, strict=True):
        planner_module._planner.cache_clear()
        np.testing.assert_equal(outcome(plan), expected)


def test_the_time_of_a_motion_is_not_kept_for_the_next():
    """A milestone after a timed motion is as fast as the bounds allow."""
    limits = make_limits(NAMES, velocity=1.0, acceleration=4.0)
    queue = MotionQueue(limits, np.zeros(N), smooth=True)
    queue.set_linear(np.full(N, 0.25), 10.0)
    assert queue.remaining_time == pytest.approx(10.0)
    queue.set_milestone(np.full(N, 0.25))
    assert queue.remaining_time == pytest.approx(0.5)


def test_two_queues_of_one_size_keep_their_own_bounds():
    """Queues that plan in turns do not plan with each other's bounds."""
    slow = MotionQueue(make_limits(NAMES, velocity=1.0, acceleration=1.0), np.zeros(N))
    fast = MotionQueue(make_limits(NAMES, velocity=9.0, acceleration=4.0), np.zeros(N))
    for _ in range(3):
        slow.set_milestone(np.ones(N))
        fast.set_milestone(np.ones(N))
        assert slow.remaining_time == pytest.approx(2.0)
        assert fast.remaining_time == pytest.approx(1.0)


def test_a_goal_with_huge_numbers_is_clamped_like_any_other():
    """Finite numbers whose sum is not are no reason to call one infinite."""
    limits = make_limits(NAMES, velocity=1.0, acceleration=1.0, lower=-1.0, upper=1.0)
    lines: list[str] = []
    queue = MotionQueue(limits, np.zeros(N), report=lines.append)
    queue.set_milestone([1.5e308, 1.5e308, 0.0, 0.0])
    assert queue.goal[0] == pytest.approx(1.0, abs=1e-6)
    assert lines == [
        f"milestone of joint '{name}' clamped from 1.5e+308 to 1, limits [-1, 1]" for name in 'AB'
    ]


@pytest.mark.parametrize('jerk', [np.inf, 200.0, 5.0])
@pytest.mark.parametrize('distance', [0.0, 1e-6, 0.01, 0.3, 20.0, np.inf])
def test_the_stoppable_velocity_is_the_largest_that_stops_in_time(jerk: float, distance: float):
    """A joint stops from it within the distance, and not from a hair more."""
    velocity, acceleration = [0.5, 2.0, 8.0, 2.0], [1.0, 6.0, 3.0, 0.0]
    limits = make_limits(NAMES, velocity=velocity, acceleration=acceleration, jerk=jerk)
    room = np.full(N, distance)
    speed = limits.stoppable_velocity(room)
    assert (limits.stopping_distance(speed)[:3] <= distance).all()
    more = speed * (1.0 + 1e-9) + 1e-9
    assert ((limits.stopping_distance(more) > room) | (speed == limits.velocity))[:3].all()
    # A joint without acceleration stops from no speed.
    assert speed[3] == 0.0 or distance == np.inf
    assert (speed <= limits.velocity).all()
