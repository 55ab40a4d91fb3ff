"""Real-time scheduling, and a process that does nothing else beside its loop."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys

from threadpoolctl import threadpool_limits

# A busy Python thread may hold the interpreter for this long [s]; the default is 5 ms.
SWITCH_INTERVAL = 5e-5
# The loop's thread may, from the state of a tick to its end.
TICK_INTERVAL = 2e-4
# Options of glibc's mallopt, and the largest value that both take on every platform [bytes].
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT = 32 << 20


class QuietProcess:
    """Keeps out of the loop's way what else works in its process.

    What is alive at the beginning is put aside for good, and no garbage is collected until the
    end, but for that of controllers that have ended: see `collect_garbage`. Linear algebra has
    one thread: the worker threads of BLAS wait busily for their next piece, and take a core from
    the loop and from the monitor that watches it. Threads of Python hand over faster, but for the
    loop's between `keep_interpreter` and `share_interpreter`: each time that it is made to hand
    over it waits for its turn, and a tick would take several turns.
    """

    # How many of them have begun: the interpreter is one for the process.
    count = 0

    def __init__(self) -> None:
        """Change nothing yet."""
        self._begun = False
        self._interval = sys.getswitchinterval()

    def begin(self) -> None:
        """Collect once, then keep the process quiet."""
        if self._begun:
            return
        self._begun = True
        QuietProcess.count += 1
        gc.collect()
        gc.freeze()
        gc.disable()
        keep_memory()
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._blas = threadpool_limits(limits=1, user_api='blas')

    def end(self) -> None:
        """Set everything as it was."""
        if not self._begun:
            return
        self._begun = False
        QuietProcess.count -= 1
        self._blas.restore_original_limits()
        sys.setswitchinterval(self._interval)
        gc.enable()
        gc.unfreeze()
        gc.collect()


def keep_memory() -> None:
    """Have memory that is freed used again, for as long as the process lives.

    The kernel hands out pages of a new block one by one as they are touched: for the computations
    of one robot model that takes a millisecond, in which nothing else of Python runs.
    """
    with contextlib.suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_TRIM_THRESHOLD, KEPT)
        mallopt(M_MMAP_THRESHOLD, KEPT)


def collect_garbage() -> None:
    """Free what controllers that have ended leave behind, in a quiet process.

    A robot's body and its links know each other: only the collector frees them, and some megabytes
    with each. It looks only at what is new since the quiet began, which takes less than a tick.
    """
    if QuietProcess.count:
        gc.collect()


def keep_interpreter() -> None:
    """Let no thread ask this one for the interpreter, for a tick; in a quiet process."""
    if QuietProcess.count:
        sys.setswitchinterval(TICK_INTERVAL)


def share_interpreter() -> None:
    """Have the interpreter back soon after a wait that begins now; in a quiet process."""
    if QuietProcess.count:
        sys.setswitchinterval(SWITCH_INTERVAL)


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
