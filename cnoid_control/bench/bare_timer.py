"""Timers that do nothing: what the machine itself makes late. Each is a program of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time


class BaselineTimers:
    """One timer on each processor, beside whatever else runs."""

    def __init__(self, period: float, duration: float, priority: int) -> None:
        """Start them.

        Args:
            period: time between two wake-ups [s].
            duration: time to sleep and wake for [s].
            priority: real-time priority; 0 for none.
        """
        self._timers = [
            subprocess.Popen(
                [sys.executable, '-m', 'cnoid_control.bench.bare_timer']
                + [str(one) for one in (period, duration, processor, priority)],
                stdout=subprocess.PIPE,
            )
            for processor in sorted(os.sched_getaffinity(0))
        ]

    def missed(self) -> float:
        """Share of their periods that they missed, once they have ended."""
        shares = [json.loads(timer.communicate()[0]) for timer in self._timers]
        return sum(shares) / len(shares)


def missed_share(period: float, duration: float) -> float:
    """Share of the periods that a sleeper could not use, as it was woken too late.

    Args:
        period: time between two wake-ups [s].
        duration: time to sleep and wake for [s].
    """
    begin = time.monotonic()
    due, woken = begin + period, 0
    while (now := time.monotonic()) < begin + duration:
        time.sleep(max(0.0, due - now))
        woken += 1
        # As a loop on a robot does: a wake-up that was missed is not made up for.
        late = time.monotonic() - due
        due += period * (1 + max(0, int(late / period)))
    return 1.0 - woken / round((due - period - begin) / period)


def main() -> None:
    """Print the share; arguments: period [s], duration [s], processor, real-time priority."""
    period, duration, processor, priority = sys.argv[1:]
    os.sched_setaffinity(0, {int(processor)})
    if int(priority) > 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(int(priority)))
        except OSError as error:
            print(f'no real-time scheduling: {error.strerror}', file=sys.stderr)
    print(json.dumps(missed_share(float(period), float(duration))))


if __name__ == '__main__':
    main()
