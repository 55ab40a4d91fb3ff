"""Real-time scheduling, and a pause of the garbage collector."""

from __future__ import annotations

import gc
import os
import sys

# A busy Python thread may hold the interpreter for this long [s]; the default is 5 ms.
SWITCH_INTERVAL = 5e-5


class GcPause:
    """Keeps the garbage collector out of the way while the loop runs.

    What is alive at the beginning is put aside for good, and nothing is collected until the end.
    """

    def __init__(self) -> None:
        """Change nothing yet."""
        self._resting = False
        self._interval = sys.getswitchinterval()

    def begin(self) -> None:
        """Collect once, then let the collector rest; threads hand over faster."""
        if self._resting:
            return
        self._resting = True
        gc.collect()
        gc.freeze()
        gc.disable()
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)

    def end(self) -> None:
        """Let the collector work again."""
        if not self._resting:
            return
        self._resting = False
        sys.setswitchinterval(self._interval)
        gc.enable()
        gc.unfreeze()
        gc.collect()


DEFAULT_PRIORITY = 40


def request_realtime(priority: int = DEFAULT_PRIORITY) -> str:
    """Ask for first-in-first-out scheduling of this thread and those it starts.

    Call it before `rclpy.init`: the threads of the middleware then inherit it.

    Args:
        priority: 1 to 99; 0 asks for nothing.

    Returns:
        What came of it, in a sentence.
    """
    if priority <= 0:
        return 'real-time scheduling is off (priority 0)'
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (AttributeError, OSError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        return f'no real-time scheduling ({reason}): expect late ticks on a busy machine'
    return f'real-time scheduling with priority {priority}'
