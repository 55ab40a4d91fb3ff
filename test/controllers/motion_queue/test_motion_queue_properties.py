"""Motion queues that are interrupted at random keep every bound and never jump."""

import numpy as np
import pytest

from cnoid_control.controllers.motion_queue import MotionQueue, MotionRefused, make_limits

QUEUES = 1000
DT = 0.004


def ask(queue: MotionQueue, rng: np.random.Generator, smooth: bool) -> None:
    """Ask for something at random, legal or just beyond what is legal."""
    n = queue.limits.size
    q = rng.uniform(-2.2, 2.2, n)
    dq = rng.uniform(-1.0, 1.0, n) * queue.limits.velocity
    dt = float(rng.uniform(0.05, 1.5))
    calls = [
        lambda: queue.set_milestone(q),
        lambda: queue.set_milestone(q, dq),
        lambda: queue.add_milestone(q),
        lambda: queue.add_milestone(q, dq),
        lambda: queue.set_milestone_linear(q),
        lambda: queue.add_milestone_linear(q),
        lambda: queue.set_milestone(q[:1], joints=[0]),
        queue.brake,
        queue.pause,
        queue.resume,
        lambda: queue.set_feed_rate(float(rng.uniform(0.3, 1.0))),
    ]
    if smooth:
        calls += [
            lambda: queue.set_linear(q, dt),
            lambda: queue.add_linear(q, dt),
            lambda: queue.set_cubic(q, dq, dt),
            lambda: queue.add_cubic(q, dq, dt),
            lambda: queue.set_velocity(dq, dt),
        ]
    try:
        calls[rng.integers(len(calls))]()
    except MotionRefused:
        return


@pytest.mark.parametrize('jerk_limited', [False, True])
@pytest.mark.parametrize('smooth', [False, True])
def test_random_interrupted_queues_keep_every_bound(jerk_limited: bool, smooth: bool) -> None:
    """Velocity, acceleration, jerk and position stay within bounds; nothing ever jumps."""
    rng = np.random.default_rng(20 + jerk_limited + 2 * smooth)
    for _ in range(QUEUES // 4):
        n = int(rng.integers(1, 4))
        V, A = rng.uniform(0.5, 3.0, n), rng.uniform(2.0, 10.0, n)
        J = rng.uniform(20.0, 200.0, n) if jerk_limited else np.full(n, np.inf)
        limits = make_limits(
            [f'joint {i}' for i in range(n)],
            velocity=V,
            acceleration=A,
            jerk=J,
            lower=-2.0,
            upper=2.0,
        )
        queue = MotionQueue(limits, rng.uniform(-1.0, 1.0, n), smooth=smooth)
        before = queue.state
        for _ in range(6):
            ask(queue, rng, smooth)
            for _ in range(int(rng.integers(1, 60))):
                now = queue.advance(DT)
                assert (np.abs(now.velocity) <= V + 1e-6).all()
                assert (np.abs(now.acceleration) <= A + 1e-6).all()
                assert (np.abs(now.velocity - before.velocity) <= A * DT + 1e-6).all()
                step = now.position - before.position
                mean = 0.5 * (now.velocity + before.velocity)
                assert (np.abs(step - mean * DT) <= 0.25 * A * DT**2 + 1e-9).all()
                assert (np.abs(now.position) <= 2.0 + 1e-6).all()
                if jerk_limited:
                    change = np.abs(now.acceleration - before.acceleration)
                    assert (change <= J * DT + 1e-6).all()
                before = now
