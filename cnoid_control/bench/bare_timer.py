"""A timer that does nothing: what the machine itself makes late. Runs as a program of its own."""

from __future__ import annotations

import json
import os
import sys
import time


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
