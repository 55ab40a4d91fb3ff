"""What randomised runs cost against bare runs of the same simulation."""

from __future__ import annotations

import time
from typing import Any

from cnoid_control.bench.row import MetricRow

DURATION = 3.0
BARE_RUNS, RUNS_PER_CORE = 8, 24
SECTION = {
    'friction': {'uniform': [0.4, 1.0]},
    'mass.*': {'uniform': [0.9, 1.1]},
    'push.one': {
        'link': 'WAIST',
        'force': {'uniform': [100.0, 400.0]},
        'heading': {'uniform': [-180.0, 180.0]},
        'time': {'uniform': [0.5, 1.0]},
    },
}


def _bare_time() -> float:
    """Time of a run in one process, with nothing around it [s]."""
    from cnoid_control.simulation import Simulation

    simulation = Simulation('sr1_pd', record=False)
    simulation.run(DURATION)
    begin = time.perf_counter()
    for _ in range(BARE_RUNS):
        simulation.reset()
        simulation.run(0.5)
        simulation.push('WAIST', [250.0, 0.0, 0.0], 0.1)
        simulation.run(DURATION - 0.5)
    return (time.perf_counter() - begin) / BARE_RUNS


def evaluation_speed() -> float:
    """Runs per second of `evaluate` on all cores, over those of bare runs times the cores."""
    from cnoid_control.evaluation.evaluator import evaluate
    from cnoid_control.evaluation.executor import core_count

    cores = core_count()
    ends: list[float] = []

    def note(evaluation: Any, row: Any) -> None:
        ends.append(time.perf_counter())

    bare = _bare_time()
    evaluate('sr1_pd', SECTION, RUNS_PER_CORE * cores, duration=DURATION, on_run=note)
    # While all workers are at work: they have begun, and none has run out of runs.
    span = ends[-cores] - ends[cores - 1]
    return (len(ends) - 2 * cores + 1) / span * bare / cores


ROWS = [
    MetricRow(
        'evaluate',
        'SR1 pushed in randomised runs of 3 s on all cores: runs per second',
        'bare Simulation.run repeated in one process, times the cores',
        evaluation_speed,
        '',
        '>=',
        0.9,
        needs='mujoco',
    )
]
