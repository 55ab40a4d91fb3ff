"""A step of an environment, against the same ticks without an agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from cnoid_control.bench.row import BenchRow, Work

CONFIG = 'trotter_walk'
# Longer than the benchmark takes.
DURATION = 1e6


@contextmanager
def environment_step() -> Iterator[tuple[Work, Work]]:
    """Trotter stands: for a period by an agent, and as long by its policy."""
    from cnoid_control.environment import Environment
    from cnoid_control.simulation import Simulation

    env = Environment(CONFIG, duration=DURATION)
    env.reset()
    action = np.zeros(env.action_space.shape)
    with Simulation(CONFIG, record=False, changes={'policy.velocity.script': {}}) as simulation:
        simulation.run(0.1)
        yield lambda: env.step(action), lambda: simulation.run(env.period)
    env.close()


ROWS = (
    BenchRow(
        name='environment_step',
        subject='a step of a gymnasium environment: Trotter for 0.02 s',
        reference='the same ticks by Simulation.run, with the policy that it stands for',
        make=environment_step,
        kind='time',
        comparison='<=',
        goal=1.1,
        calls=50,
        needs='gymnasium onnxruntime',
    ),
)
