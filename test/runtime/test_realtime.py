"""The garbage collector's rest."""

import gc
import io
import sys
import weakref

import pytest

from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.realtime import GcPause, request_realtime


@pytest.fixture(autouse=True)
def _as_before():
    interval = sys.getswitchinterval()
    yield
    assert gc.isenabled()
    assert sys.getswitchinterval() == interval


def test_the_collector_rests_and_comes_back():
    """Between begin and end nothing is collected, and threads hand over faster."""
    rest = GcPause()
    rest.end()
    rest.begin()
    rest.begin()
    assert not gc.isenabled()
    assert gc.get_freeze_count() > 0
    assert sys.getswitchinterval() == pytest.approx(5e-5)
    rest.end()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


class Cycle:
    """Garbage that only the collector finds."""

    def __init__(self):
        self.itself = self


def test_garbage_is_collected_before_and_after_the_rest():
    """What is garbage when the rest begins is not kept by it, nor what becomes garbage in it."""
    gc.disable()
    before = weakref.ref(Cycle())
    rest = GcPause()
    rest.begin()
    try:
        assert before() is None
        meanwhile = weakref.ref(Cycle())
        gc.collect(0)
        kept = Cycle()
        kept_alive = weakref.ref(kept)
    finally:
        rest.end()
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
