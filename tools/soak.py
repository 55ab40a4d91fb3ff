"""Lets SR1 stand at 1 kHz for ten minutes and watches memory and late ticks.

    python tools/soak.py [--embedded] [--duration S]
    python tools/soak.py --take-overs N
    python tools/soak.py --robots N [--duration S]

Through DDS, with the robot and the node in processes of their own, or in this process alone.
Fails (1) where the memory of what controls grows by a megabyte after the first minute, or where
the late ticks become more with time. Where timers with nothing to do become later, too, it is the
machine, and there is no verdict (2). With `--take-overs` controllers lose the robot N times at
random moments instead: fails where two threads meet on it, or a tick has no command. With
`--robots` N robots run in one graph, for half an hour, with all cores taken by others: fails where
a process ends, a controller is stopped, a state is answered twice, or the memory of a node grows.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, pairwise
from pathlib import Path
from statistics import NormalDist

MEGABYTE = 2**20
PERIOD = 0.001
# Part of the run, and longest time, after which memory must be flat [s].
WARM_UP = (0.1, 60.0)
# Growth of the memory that is too much [MB].
GROWTH = 1.0
# Number of looks at the late ticks.
LOOKS = 20
# Chance to see a trend where there is none.
SIGNIFICANCE = 0.01
START_TIMEOUT = 60.0
# A stall of the whole machine shows in the late ticks; it must not end the soak.
PATIENT = ('watchdog.state_timeout:=1.0', 'watchdog.control_timeout:=1.0')
SETTLING_TIME = 5.0

# How long a soak takes, and one of several robots [s].
DURATION, ROBOTS_DURATION = 600.0, 1800.0

OK, FAILED, NO_VERDICT = range(3)

# Lets it run for so long [s], and gives the late ticks so far.
RunFor = Callable[[float], int]


def resident_memory(process: int) -> float:
    """Memory of a process [MB]."""
    with open(f'/proc/{process}/statm', encoding='ascii') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / MEGABYTE


def grows(counts: Sequence[int]) -> bool:
    """Whether counts become larger with time, by the rank test of Mann and Kendall.

    Only the order of the counts matters: a burst, as other programs of the machine cause it, is
    one large count among others and no trend, however large it is.
    """
    n = len(counts)
    rises = sum(
        (later > earlier) - (later < earlier) for earlier, later in combinations(counts, 2)
    )
    ties = sum(t * (t - 1) * (2 * t + 5) for t in Counter(counts).values())
    variance = (n * (n - 1) * (2 * n + 5) - ties) / 18.0
    if variance <= 0.0:
        return False
    return (rises - 1) / math.sqrt(variance) > NormalDist().inv_cdf(1.0 - SIGNIFICANCE)


@contextmanager
def embedded() -> Iterator[tuple[RunFor, int]]:
    """SR1 in this process: how to let it run, and the process to watch."""
    from cnoid_control.runtime.build import make_loop
    from cnoid_control.runtime.config import load_config

    loop = make_loop(load_config('sr1_pd'), os=io.StringIO())
    loop.open()
    late = 0

    def run_for(duration: float) -> int:
        nonlocal late
        due = time.perf_counter()
        end = due + duration
        while due < end:
            loop.step()
            due += PERIOD
            ahead = due - time.perf_counter()
            if ahead > 0.0:
                time.sleep(ahead)
            else:
                late += 1
                due = time.perf_counter()
        return late

    try:
        yield run_for, os.getpid()
    finally:
        loop.close()


@contextmanager
def through_dds() -> Iterator[tuple[RunFor, int]]:
    """SR1 and the node in two processes: how to let them run, and the process to watch."""
    from cnoid_control.bench.rows_free_run import LoopWatch
    from cnoid_control.demo.process import NODE, SIMULATOR, DemoFailed, Process
    from cnoid_control.ros.transport import reserved_domain

    with reserved_domain() as domain, tempfile.TemporaryDirectory() as folder:
        robot = Process(SIMULATOR, domain, Path(folder, 'robot.log'), 'pacing:=free')
        node = Process(NODE, domain, Path(folder, 'node.log'), *PATIENT)
        watch = LoopWatch(domain)

        def run_for(duration: float) -> int:
            watch.look(duration)
            robot.check()
            node.check()
            if not watch.controller.endswith('runs'):
                raise DemoFailed(f'the controller did not go on: {watch.controller}')
            return watch.bad

        try:
            begin = time.monotonic()
            while not watch.ticks and time.monotonic() < begin + START_TIMEOUT:
                watch.look(0.5)
            watch.look(SETTLING_TIME)
            yield run_for, node.pid
        finally:
            watch.close()
            node.stop()
            robot.stop()


def judge(growth: float, late: Sequence[int], missed: Sequence[int]) -> int:
    """The exit status.

    Args:
        growth: by how much the memory grew [MB].
        late: late ticks, look by look.
        missed: periods that a timer with nothing to do has missed meanwhile.
    """
    if growth >= GROWTH:
        return FAILED
    if not grows([ticks - own for ticks, own in zip(late, missed, strict=True)]):
        return OK
    return NO_VERDICT if grows(missed) else FAILED


def soak(duration: float, is_embedded: bool) -> int:
    """Run for so long [s]; the exit status."""
    from cnoid_control.bench.bare_timer import BaselineTimers
    from cnoid_control.runtime.realtime import DEFAULT_PRIORITY

    warm_up = min(WARM_UP[0] * duration, WARM_UP[1])
    look_time = (duration - warm_up) / LOOKS
    missed = []
    with embedded() if is_embedded else through_dds() as (run_for, process):
        print(f'{0:6.0f} s  {resident_memory(process):8.2f} MB', flush=True)
        late = [run_for(warm_up)]
        memory = [resident_memory(process)]
        for look in range(LOOKS):
            timers = BaselineTimers(PERIOD, look_time, 0 if is_embedded else DEFAULT_PRIORITY)
            late.append(run_for(look_time))
            missed.append(round(timers.missed() * look_time / PERIOD))
            memory.append(resident_memory(process))
            elapsed = warm_up + (look + 1) * look_time
            print(
                f'{elapsed:6.0f} s  {memory[-1]:8.2f} MB  {late[-1] - late[-2]:5d} late  '
                f'{missed[-1]:5d} missed by bare timers',
                flush=True,
            )
    growth = memory[-1] - memory[0]
    counts = [after - before for before, after in pairwise(late)]
    status = judge(growth, counts, missed)
    verdict = (
        'no trend',
        'a trend' if growth < GROWTH else 'too much memory',
        'a trend of the machine',
    )
    print(
        f'memory grew by {growth:.3f} MB after the first {warm_up:g} s, {sum(counts)} late ticks, '
        f'{sum(missed)} periods missed by bare timers: {verdict[status]}'
    )
    return status


def soak_take_overs(count: int) -> int:
    """Take the robot over so many times; the exit status."""
    import take_overs

    begin = time.monotonic()
    figures = take_overs.TakeOvers(count).run()
    print(f'{take_overs.report(figures)} in {time.monotonic() - begin:.0f} s')
    return OK if figures.is_clean else FAILED


def soak_robots(count: int, duration: float) -> int:
    """Let so many robots run for so long [s]; the exit status."""
    import robots

    wrong = robots.soak_robots(count, duration, 'sr1_pd')
    print('\n'.join(wrong) or f'{count} robots, all cores busy, {duration:g} s: nothing wrong')
    return FAILED if wrong else OK


def main() -> int:
    """Soak, and tell by the exit status."""
    parser = argparse.ArgumentParser(description='Soak test: SR1 stands at 1 kHz.')
    parser.add_argument(
        '--duration', type=float, metavar='S', help='default: 600 s, and 1800 s for --robots'
    )
    parser.add_argument('--embedded', action='store_true', help='in this process, without ROS')
    parser.add_argument('--take-overs', type=int, metavar='N', help='take-overs, and nothing else')
    parser.add_argument('--robots', type=int, metavar='N', help='robots in one graph, busy cores')
    args = parser.parse_args()
    if args.take_overs is not None:
        return soak_take_overs(args.take_overs)
    if args.robots is not None:
        return soak_robots(args.robots, args.duration or ROBOTS_DURATION)
    return soak(args.duration or DURATION, args.embedded)


if __name__ == '__main__':
    sys.exit(main())
