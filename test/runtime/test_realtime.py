"""What a loop's process leaves out while the loop runs."""

import ctypes
import gc
import io
import subprocess
import sys
import weakref

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.realtime import (
    SWITCH_INTERVAL,
    TICK_INTERVAL,
    QuietProcess,
    collect_garbage,
    keep_interpreter,
    request_realtime,
    share_interpreter,
)


@pytest.fixture(autouse=True)
def _as_before():
    interval = sys.getswitchinterval()
    yield
    assert gc.isenabled()
    assert sys.getswitchinterval() == interval


def test_the_collector_rests_and_comes_back():
    """Between begin and end nothing is collected, and threads hand over faster."""
    quiet = QuietProcess()
    quiet.end()
    quiet.begin()
    quiet.begin()
    assert not gc.isenabled()
    assert gc.get_freeze_count() > 0
    assert sys.getswitchinterval() == pytest.approx(5e-5)
    quiet.end()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_a_tick_keeps_the_interpreter_in_a_quiet_process():
    """From state to end no thread takes it soon; while the loop waits it is handed over fast."""
    before = sys.getswitchinterval()
    keep_interpreter()
    share_interpreter()
    assert sys.getswitchinterval() == before
    quiet, other = QuietProcess(), QuietProcess()
    quiet.begin()
    other.begin()
    other.end()
    keep_interpreter()
    assert sys.getswitchinterval() == pytest.approx(TICK_INTERVAL)
    share_interpreter()
    assert sys.getswitchinterval() == pytest.approx(SWITCH_INTERVAL)
    quiet.end()
    assert sys.getswitchinterval() == before


def _blas_threads():
    return [pool['num_threads'] for pool in threadpool_info() if pool['user_api'] == 'blas']


def test_linear_algebra_has_one_thread_while_the_loop_runs():
    """Its workers would wait busily on the cores of the loop and of its monitor."""
    quiet = QuietProcess()
    with threadpool_limits(2, 'blas'):
        before = _blas_threads()
        quiet.begin()
        assert set(_blas_threads()) == {1}
        quiet.end()
        assert _blas_threads() == before


class Cycle:
    """Garbage that only the collector finds."""

    def __init__(self):
        self.itself = self


def test_garbage_is_collected_before_and_after_the_rest():
    """What is garbage when the rest begins is not kept by it, nor what becomes garbage in it."""
    gc.disable()
    before = weakref.ref(Cycle())
    quiet = QuietProcess()
    quiet.begin()
    try:
        assert before() is None
        meanwhile = weakref.ref(Cycle())
        assert meanwhile() is not None
        kept = Cycle()
        kept_alive = weakref.ref(kept)
    finally:
        quiet.end()
    assert meanwhile() is None
    assert kept_alive() is kept


@pytest.mark.parametrize('real_time', [False, True])
def test_a_loop_that_keeps_time_lets_it_rest(real_time):
    """Nothing is collected while ticks come at the pace of the clock; else as usual."""
    loop = make_loop(load_config('sr1_pd'), os=io.StringIO())
    enabled = []
    step = loop.step
    loop.step = lambda: enabled.append(gc.isenabled()) or step()
    loop.run(0.005, real_time=real_time)
    assert enabled == [not real_time] * 5


def test_priority_zero_asks_for_nothing(monkeypatch):
    """Another one is asked for, and what came of it is said."""
    asked = []

    def refuse(process, policy, parameters):
        asked.append(parameters.sched_priority)
        raise PermissionError(1, 'Operation not permitted')

    monkeypatch.setattr('os.sched_setscheduler', refuse)
    assert request_realtime(0) == 'real-time scheduling is off (priority 0)'
    assert asked == []
    assert 'no real-time scheduling (Operation not permitted)' in request_realtime(7)
    assert asked == [7]
    monkeypatch.setattr('os.sched_setscheduler', lambda *args: None)
    assert request_realtime(9) == 'real-time scheduling with priority 9'


def test_controllers_that_have_ended_are_freed_in_a_quiet_process():
    """Body and links know each other: without a collection each swap would keep megabytes."""
    quiet = QuietProcess()
    quiet.begin()
    try:
        bodies = []
        for _ in range(4):
            host = make_loop(load_config('sr1_pd'), os=io.StringIO()).host
            host.configure()
            host.initialize()
            bodies.append(weakref.ref(host.controllers[0].io.body))
            host.end()
        # The last one is still known here.
        assert [body() for body in bodies[:-1]] == [None] * 3
        del host
        collect_garbage()
        assert bodies[-1]() is None
    finally:
        quiet.end()


def test_nothing_is_collected_where_the_collector_works():
    """Without a quiet process garbage waits for the collector's own time."""
    gc.disable()
    garbage = weakref.ref(Cycle())
    collect_garbage()
    assert garbage() is not None
    gc.enable()


PAGES = """
import resource, sys
from cnoid_control.runtime.realtime import keep_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def use():
    blocks = [bytearray(100_000) for _ in range(30)]

if sys.argv[1] == 'keep':
    keep_memory()
use()
before = faults()
for _ in range(10):
    use()
print(faults() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), 'mallopt'), reason='needs glibc')
def test_memory_is_used_again_without_the_kernel():
    """What was freed is not handed back, so that no page is asked for a second time."""
    counts = {}
    for word in ('keep', 'give'):
        command = [sys.executable, '-c', PAGES, word]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        counts[word] = int(done.stdout)
    assert counts['give'] > 1000
    assert counts['keep'] < 100
