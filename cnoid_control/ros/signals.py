"""SIGINT and SIGTERM as requests for a clean end."""

from __future__ import annotations

import signal
import socket
import threading

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def catch_stop_signals() -> threading.Event:
    """Event that is set by SIGINT and by SIGTERM from now on; to be called in the main thread.

    The interpreter runs handlers of signals in the main thread only, when that comes back from
    whatever it waits for. It passes the signal's number to a file at once: that is waited for.
    """
    stop = threading.Event()
    watched, told = socket.socketpair()
    told.setblocking(False)
    for number in SIGNALS:
        signal.signal(number, lambda *_: stop.set())
    # The interpreter knows the file by its number only; the thread's arguments keep it open.
    signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    watch = threading.Thread(
        target=_watch, args=(watched, told, stop), name='stop signals', daemon=True
    )
    watch.start()
    return stop


def _watch(watched: socket.socket, told: socket.socket, stop: threading.Event) -> None:
    # For ever: a second signal finds the file open, too.
    while True:
        if watched.recv(1)[0] in SIGNALS:
            stop.set()


def ignore_stop_signals() -> None:
    """Let a repeated signal not change the exit status of a process that is about to end."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
