"""The ROS loop between two processes, against a node in C and one that rclpy's user writes first.

SR1's 29 joints, an IMU and a force sensor come as three topics; efforts go back. The same robot
drives all three: see `ros_loop`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cnoid_control.bench.ros_loop.compare import rates_of, ratio, turns_of
from cnoid_control.bench.ros_loop.compiled import COMPILER
from cnoid_control.bench.ros_loop.rig import KINDS, OURS, STOCK, C, Drive
from cnoid_control.bench.row import FIFO, PROGRAM, Found, MetricRow
from cnoid_control.runtime.realtime import DEFAULT_PRIORITY

Row = Callable[[int], Found]
# Seen by timers around the parts of a tick, by the time of each thread and by perf: `bare` is a
# loop of Python that takes, computes and sends, and does nothing else.
MEDIAN = (
    'a bare loop of Python takes 1.2 to 1.3 times as long as C already; until its command is '
    'published the node works for 41 µs, the bare loop for 15: taking and checking the state 14 '
    '(7), devices 13 (4), the controller with its copies 12 (4), limits and watchdog 3; all of it '
    'in caches that others have emptied since the last tick'
)
SLOWEST = (
    'as the median: the slowest hundredth is two to three times the median with all four; with '
    "the node's other threads all but asleep it was the same"
)
CPU = (
    "of 120 to 150 µs the loop's thread takes two thirds and the threads of the middleware the "
    'rest, as in C; half of the former are the interpreter and numpy, a third is the kernel, '
    'which wakes other threads'
)
RATE = (
    'a tick has to end within a period, with what disturbs it: what slows the median slows this, '
    'and without real-time scheduling whatever else runs ends the search early, with all four'
)


def _of_turns(of: Callable[[Drive], float], peer: str) -> Row:
    """Ratio of a quantity [s] of each turn, with its values."""

    def find(priority: int) -> Found:
        turns = turns_of(priority)
        values = {kind: [of(drive) for drive in turns[kind]] for kind in KINDS}
        told = (f'{kind} {1e6 * ratio(values[kind], [1.0]):.0f} µs' for kind in KINDS)
        return Found(ratio(values[OURS], values[peer]), ', '.join(told))

    return find


def _of_rates(peer: str) -> Row:
    def find(priority: int) -> Found:
        rates = rates_of(priority)
        told = (f'{kind} {1e-3 * ratio(rates[kind], [1.0]):.2f} kHz' for kind in KINDS)
        return Found(ratio(rates[OURS], rates[peer]), ', '.join(told))

    return find


def _rows(
    name: str, subject: str, reference: str, find: Row, comparison: str, goal: float, why: str = ''
) -> list[MetricRow]:
    """The row without and with real-time scheduling."""
    needs = f'rclpy {PROGRAM}{COMPILER}'
    return [
        MetricRow(
            f'{name}{suffix}',
            f'{subject}, SCHED_{policy}',
            reference,
            partial(find, priority),
            'times',
            comparison,
            goal,
            more_needs,
            why,
        )
        for suffix, policy, priority, more_needs in (
            ('', 'OTHER', 0, needs),
            ('_fifo', 'FIFO', DEFAULT_PRIORITY, f'{needs} {FIFO}'),
        )
    ]


ROWS = (
    *_rows(
        'ros_loop_median',
        'round trip of the control node at 1 kHz, median',
        'a node in C on rcl',
        _of_turns(lambda drive: drive.quantile(0.5), C),
        '<=',
        1.3,
        MEDIAN,
    ),
    *_rows(
        'ros_loop_p99',
        'round trip of the control node at 1 kHz, 99 %',
        'a node in C on rcl',
        _of_turns(lambda drive: drive.quantile(0.99), C),
        '<=',
        1.5,
        SLOWEST,
    ),
    *_rows(
        'ros_loop_cpu',
        'processor time of the control node for a tick at 1 kHz',
        'a typed node of rclpy in a SingleThreadedExecutor',
        _of_turns(lambda drive: drive.cpu_per_tick, STOCK),
        '<=',
        0.35,
        CPU,
    ),
    *_rows(
        'ros_loop_rate',
        'highest rate of the control node with less than 0.5 % of the ticks lost',
        'a node in C on rcl',
        _of_rates(C),
        '>=',
        0.6,
        RATE,
    ),
    *_rows(
        'ros_loop_stock_rate',
        'highest rate of the control node with less than 0.5 % of the ticks lost',
        'a typed node of rclpy in a SingleThreadedExecutor',
        _of_rates(STOCK),
        '>=',
        2.5,
        RATE,
    ),
)
