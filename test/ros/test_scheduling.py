"""Real-time priority."""

import os
import threading

from cnoid_control.runtime.realtime import request_realtime


def in_thread(function):
    """Run a function in a thread of its own and return its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_real_time_is_used_or_its_lack_is_told():
    """Either the thread is scheduled first in, first out, or the sentence says why not."""

    def attempt():
        return request_realtime(3), os.sched_getscheduler(0)

    sentence, policy = in_thread(attempt)
    if policy == os.SCHED_FIFO:
        assert sentence == 'real-time scheduling with priority 3'
    else:
        assert sentence.startswith('no real-time scheduling (')
    assert in_thread(lambda: (request_realtime(0), os.sched_getscheduler(0))[1]) == os.SCHED_OTHER


def test_a_refusal_is_told(monkeypatch):
    """Where the system does not permit it, the reason is in the sentence."""

    def refuse(*arguments):
        raise PermissionError(1, 'Supervisor not permitted')

    monkeypatch.setattr(os, 'sched_setscheduler', refuse)
    assert 'Supervisor not permitted' in request_realtime()
