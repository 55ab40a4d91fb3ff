"""The rows of the ROS loop: ratios of turns that are known, and what they need."""

from __future__ import annotations

import numpy as np
import pytest

from cnoid_control.bench import row, rows_requests, rows_ros_loop
from cnoid_control.bench.registry import bench_rows
from cnoid_control.bench.ros_loop.disturb import Stretch
from cnoid_control.bench.ros_loop.rig import KINDS, Drive
from cnoid_control.bench.row import Found, MetricRow, missing_modules


def _drive(time: float, cpu: float) -> Drive:
    times = np.full(100, time)
    return Drive(times, times, 100 * cpu, 0.1, 0.0)


def _value(name: str) -> tuple[float, str]:
    found = {row.name: row for row in (*rows_ros_loop.ROWS, *rows_requests.ROWS)}[name].find()
    assert isinstance(found, Found)
    return found.value, found.detail


def test_each_ratio_is_against_the_peer_that_it_names(monkeypatch):
    """Round trips and rates against C, processor time and rates against rclpy."""
    cost = [(2e-4, 3e-5), (1.5e-4, 2e-5), (1e-4, 1e-5), (4e-4, 6e-5)]
    times = dict(zip(KINDS, cost, strict=True))
    turns = {kind: [_drive(*times[kind])] * 2 for kind in KINDS}
    rates = dict(zip(KINDS, ([3000.0], [4000.0], [6000.0], [1000.0]), strict=True))
    monkeypatch.setattr(rows_ros_loop, 'turns_of', lambda priority: turns)
    monkeypatch.setattr(rows_ros_loop, 'rates_of', lambda priority: rates)
    for suffix in ('', '_fifo'):
        assert _value(f'ros_loop_median{suffix}')[0] == pytest.approx(2.0)
        assert _value(f'ros_loop_p99{suffix}')[0] == pytest.approx(2.0)
        assert _value(f'ros_loop_cpu{suffix}')[0] == pytest.approx(0.5)
        assert _value(f'ros_loop_rate{suffix}') == (
            0.5,
            'ours 3.00 kHz, bare 4.00 kHz, c 6.00 kHz, stock 1.00 kHz',
        )
        assert _value(f'ros_loop_stock_rate{suffix}')[0] == pytest.approx(3.0)


def test_requests_are_compared_with_the_quiet_stretch(monkeypatch):
    """The figure has both durations and the number of requests."""
    stretches = [Stretch(_drive(1e-3, 0.0), _drive(3e-3, 0.0), 4)] * 2
    # Once something else took the machine.
    stretches.append(Stretch(_drive(1e-3, 0.0), _drive(1.0, 0.0), 4))
    monkeypatch.setattr(rows_requests, 'disturbed_by', lambda what, priority: stretches)
    value, detail = _value('requests_swap')
    assert value == pytest.approx(3.0)
    assert detail == '3.00 ms with 12 requests, 1.00 ms without'


def test_a_program_and_real_time_scheduling_can_be_needed(monkeypatch):
    """Where they are not there, the row says so."""
    assert missing_modules('program:sh') == []
    assert missing_modules('program:no_such_program') == ['program:no_such_program']
    monkeypatch.setattr(row, '_may_use_fifo', lambda: False)
    assert missing_modules('SCHED_FIFO') == ['SCHED_FIFO']
    for one in bench_rows(['ros_loop_cpu_fifo', 'requests_reset']):
        assert 'SCHED_FIFO' in missing_modules(one.needs)


def test_a_figure_tells_what_it_was_made_of():
    """Its detail is in the result, and with it in the report."""
    found = MetricRow('x', '', '', lambda: Found(2.0, '4 of 2'), 'times', goal=3.0).result()
    assert (found.value, found.reached, found.detail) == (2.0, True, '4 of 2')
