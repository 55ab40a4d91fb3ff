"""The largest tick of the control node while it is asked for something, beside quiet ones."""

from __future__ import annotations

from functools import partial

from cnoid_control.bench.ros_loop.compare import ratio
from cnoid_control.bench.ros_loop.compiled import COMPILER
from cnoid_control.bench.ros_loop.disturb import disturbed_by, largest
from cnoid_control.bench.row import FIFO, PROGRAM, Found, MetricRow
from cnoid_control.runtime.realtime import DEFAULT_PRIORITY


def _find(what: str) -> Found:
    stretches = disturbed_by(what, DEFAULT_PRIORITY)
    quiet = [largest(stretch.quiet) for stretch in stretches]
    disturbed = [largest(stretch.disturbed) for stretch in stretches]
    count = sum(stretch.requests for stretch in stretches)
    detail = f'{1e3 * ratio(disturbed, [1.0]):.2f} ms with {count} requests, '
    return Found(ratio(disturbed, quiet), f'{detail}{1e3 * ratio(quiet, [1.0]):.2f} ms without')


ROWS = tuple(
    MetricRow(
        f'requests_{what}',
        f'longest wait for a command at 1 kHz while {subject}, SCHED_FIFO',
        'the longest one in as many quiet ticks of the same run',
        partial(_find, what),
        'times',
        '<=',
        2.0,
        f'rclpy {PROGRAM}{COMPILER} {FIFO}',
    )
    for what, subject in (
        ('swap', 'controllers are swapped again and again'),
        ('reset', 'it is stopped and reset again and again'),
        ('set_gain', 'gains are set again and again'),
    )
)
