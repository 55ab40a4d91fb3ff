"""Runs the embedded loop at 1 kHz for ten minutes and watches memory and late ticks.

    python tools/soak.py [--duration S]

Fails where memory grows by more than a megabyte after the first minute, or where the second half
has clearly more late ticks than the first.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import time

from cnoid_control.runtime.assembly import make_loop
from cnoid_control.runtime.config import load_config

MEGABYTE = 2**20
WARM_UP = 60.0
LIMIT = 1.0
REPORT_PERIOD = 30.0


def resident_memory() -> float:
    """Memory of this process [MB]."""
    with open('/proc/self/statm', encoding='ascii') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / MEGABYTE


def soak(duration: float) -> bool:
    """Run for so long [s]; whether memory and late ticks stayed flat."""
    loop = make_loop(load_config('sr1_pd'), os=io.StringIO())
    loop.open()
    period = loop.hardware.time_step
    begin = due = time.perf_counter()
    warm_up = min(WARM_UP, 0.1 * duration)
    baseline = 0.0
    late = [0, 0]
    next_report = begin + REPORT_PERIOD
    while (elapsed := time.perf_counter() - begin) < duration:
        loop.step()
        if not baseline and elapsed > warm_up:
            baseline = resident_memory()
        due += period
        ahead = due - time.perf_counter()
        if ahead > 0.0:
            time.sleep(ahead)
        else:
            late[elapsed > 0.5 * duration] += 1
            due = time.perf_counter()
        if time.perf_counter() > next_report:
            next_report += REPORT_PERIOD
            print(f'{elapsed:6.0f} s  {resident_memory():7.2f} MB  late {sum(late)}', flush=True)
    growth = resident_memory() - baseline
    ticks = loop.tick
    loop.close()
    print(
        f'{ticks} ticks, memory grew by {growth:.3f} MB after the first {warm_up:g} s, '
        f'late ticks {late[0]} and {late[1]}'
    )
    # On a machine that does other things too, half as many again are no trend.
    return growth < LIMIT and late[1] <= 1.5 * late[0] + 0.005 * ticks


def main() -> int:
    """Soak, and tell by the exit status."""
    parser = argparse.ArgumentParser(description='Soak test of the embedded loop.')
    parser.add_argument('--duration', type=float, default=600.0, metavar='S')
    return 0 if soak(parser.parse_args().duration) else 1


if __name__ == '__main__':
    sys.exit(main())
