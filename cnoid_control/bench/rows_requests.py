"""The largest tick of the control node while it is asked for something, beside quiet ones.

The largest of a second, the median of such seconds: the largest one of all is whatever else the
machine did once.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from cnoid_control.bench.ros_loop.compiled import COMPILER
from cnoid_control.bench.ros_loop.disturb import disturbed_by, largest
from cnoid_control.bench.row import FIFO, PROGRAM, Found, MetricRow
from cnoid_control.runtime.realtime import DEFAULT_PRIORITY

# Seen by timers around the parts of the longest ticks.
WHY = (
    'what is asked for is done by another thread of Python, which keeps the interpreter for 0.4 '
    'to 0.8 ms when it frees the controllers that have ended; otherwise the tick has it back '
    'within 0.1 ms'
)


def _find(what: str) -> Found:
    stretches = disturbed_by(what, DEFAULT_PRIORITY)
    quiet = np.median([largest(stretch.quiet) for stretch in stretches])
    disturbed = np.median([largest(stretch.disturbed) for stretch in stretches])
    count = sum(stretch.requests for stretch in stretches)
    detail = f'{1e3 * disturbed:.2f} ms with {count} requests, {1e3 * quiet:.2f} ms without'
    return Found(float(disturbed / quiet), detail)


ROWS = tuple(
    MetricRow(
        f'requests_{what}',
        f'longest wait for a command in a second at 1 kHz while {subject}, SCHED_FIFO',
        'the longest one in a quiet second of the same run',
        partial(_find, what),
        'times',
        '<=',
        2.0,
        f'rclpy {PROGRAM}{COMPILER} {FIFO}',
        WHY,
    )
    for what, subject in (
        ('swap', 'controllers are swapped again and again'),
        ('reset', 'it is stopped and reset again and again'),
        ('set_gain', 'gains are set again and again'),
    )
)
