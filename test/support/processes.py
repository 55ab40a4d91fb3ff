"""Looks at other processes, and waits for what they do."""

import time
from collections.abc import Callable
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Tell whether a process is there and has not ended."""
    try:
        state = Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != 'Z'


def wait_for(condition: Callable[[], bool], timeout: float = 20.0) -> bool:
    """Wait until a condition holds; whether it came to."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
