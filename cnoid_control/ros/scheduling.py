"""Real-time priority."""

from __future__ import annotations

import os

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
