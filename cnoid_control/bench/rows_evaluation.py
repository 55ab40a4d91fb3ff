"""What randomised runs cost against bare runs of the same simulation."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
from typing import Any

from cnoid_control.bench.bare_runs import DURATION
from cnoid_control.bench.row import MetricRow

RUNS_PER_CORE, REPEATS = 16, 3
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


def _bare_speed(cores: int) -> float:
    """Bare runs per second, of one process per core at the same time."""
    command = [sys.executable, '-m', 'cnoid_control.bench.bare_runs', str(RUNS_PER_CORE)]
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(cores)
        ]
        pipes = [(process.stdin, process.stdout) for process in processes]
        for _, said in pipes:
            assert said is not None
            said.readline()
        for heard, _ in pipes:
            assert heard is not None
            heard.write('begin\n')
            heard.flush()
        return sum(float(said.readline()) for _, said in pipes if said is not None)


def _evaluation_speed(cores: int) -> float:
    """Randomised runs per second while all workers are at work."""
    from cnoid_control.evaluation.evaluator import evaluate

    ends: list[float] = []

    def note(evaluation: Any, row: Any) -> None:
        ends.append(time.perf_counter())

    evaluate('sr1_pd', SECTION, RUNS_PER_CORE * cores, duration=DURATION, on_run=note)
    # They have begun, and none has run out of runs.
    return (len(ends) - 2 * cores + 1) / (ends[-cores] - ends[cores - 1])


def evaluation_speed() -> float:
    """Runs per second of `evaluate` over those of bare runs; the median of some comparisons."""
    from cnoid_control.evaluation.executor import core_count

    cores = core_count()
    ratios = [_evaluation_speed(cores) / _bare_speed(cores) for _ in range(REPEATS)]
    return statistics.median(ratios)


ROWS = [
    MetricRow(
        'evaluate',
        'SR1 pushed in randomised runs of 3 s on all cores: runs per second',
        'bare Simulation.run, repeated in one process per core',
        evaluation_speed,
        '',
        '>=',
        0.9,
        needs='mujoco',
    )
]
