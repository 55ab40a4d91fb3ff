"""SIGINT and SIGTERM as a request to end in order."""

from __future__ import annotations

import signal
import threading

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def catch_stop_signals() -> threading.Event:
    """Event that is set by SIGINT and by SIGTERM from now on."""
    stop = threading.Event()
    for number in SIGNALS:
        signal.signal(number, lambda *_: stop.set())
    return stop


def ignore_stop_signals() -> None:
    """Let a repeated signal not change the exit status of a process that is about to end."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
