"""What other threads ask of a run: single steps, and calls between ticks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from fake_hardware import Scripted, fake_loop

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.exceptions import LoopStalled
from cnoid_control.runtime.loop import ControlLoop


def wait_until(is_so: Callable[[], bool], timeout: float = 20.0) -> None:
    """Wait; a test that waits for ever says nothing."""
    deadline = time.monotonic() + timeout
    while not is_so():
        assert time.monotonic() < deadline, 'it has not come to that'
        time.sleep(0.001)


@pytest.fixture
def paused():
    """Return a run that is halted before its first tick."""
    loop = fake_loop(Scripted())
    loop.hardware.states = 10**9
    loop.pause()
    thread = threading.Thread(target=loop.run)
    thread.start()
    yield loop
    loop.request_stop()
    thread.join(20.0)
    assert not thread.is_alive()


def test_single_steps_are_taken_in_a_pause(paused: ControlLoop):
    """As many as were asked for, and it halts again."""
    paused.single_step()
    wait_until(lambda: paused.tick == 1)
    paused.single_step(3)
    wait_until(lambda: paused.tick == 4)
    # Whatever is done in the pause comes after the ticks.
    assert paused.call(lambda: paused.tick) == 4
    assert paused.is_paused


def test_single_steps_need_a_pause():
    """Otherwise they would be none."""
    loop = fake_loop(Scripted())
    with pytest.raises(CnoidControlError, match='it runs'):
        loop.single_step()


def test_steps_that_are_left_are_forgotten_at_the_end_of_the_pause(paused: ControlLoop):
    """The next pause is one."""
    paused.single_step()
    paused.resume()
    wait_until(lambda: paused.tick > 10)
    paused.pause()
    before = paused.call(lambda: paused.tick)
    assert paused.call(lambda: paused.tick) in (before, before + 1)
    assert paused.call(lambda: paused.tick) == paused.tick


def test_a_call_runs_in_the_thread_of_the_loop(paused: ControlLoop):
    """In a pause and between two ticks; it returns and raises what the function does."""
    for is_paused in (True, False):
        name = paused.call(lambda: threading.current_thread().name)
        assert name == 'control loop'
        with pytest.raises(ZeroDivisionError):
            paused.call(lambda: 1 / 0)
        if is_paused:
            paused.resume()


def test_a_call_that_comes_too_late_is_refused(paused: ControlLoop):
    """When the run has ended, and when it ends before the call."""
    hold = threading.Event()
    outcome: list[str] = []

    def ask() -> None:
        try:
            paused.call(lambda: outcome.append('done'))
        except CnoidControlError as error:
            outcome.append(str(error))

    paused._calls.add(hold.wait)
    asking = threading.Thread(target=ask)
    asking.start()
    wait_until(lambda: len(paused._calls._calls) > 0)
    paused.request_stop()
    hold.set()
    asking.join(20.0)
    wait_until(lambda: paused.has_ended)
    assert len(outcome) == 1
    wait_until(lambda: paused._is_closed)
    with pytest.raises(CnoidControlError, match='run has ended'):
        paused.call(lambda: None)


def test_a_call_that_is_not_begun_in_time_never_is():
    """Who was told that it failed does not see it take effect."""
    loop = fake_loop(Scripted())
    done: list[int] = []
    with pytest.raises(LoopStalled):
        loop.call(lambda: done.append(1), timeout=0.01)
    loop.hardware.states = 3
    loop.run()
    assert not done
