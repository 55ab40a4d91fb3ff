"""Functions of other threads, run by the thread that has time for them."""

import threading

import pytest

from cnoid_control.runtime.call_queue import CallQueue


def test_functions_run_in_order_in_the_thread_that_runs_them():
    """Each is run once, and its caller gets the result."""
    calls = CallQueue()
    assert not calls
    ran = []
    futures = []

    def ask():
        futures.extend(calls.add(lambda i=i: ran.append(i) or i) for i in range(3))

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join()
    assert calls
    assert ran == []
    calls.run_all()
    assert ran == [0, 1, 2]
    assert [future.result(0) for future in futures] == ran
    assert not calls


def test_what_a_function_raises_is_its_callers():
    """The others are run all the same."""
    calls = CallQueue()
    bad, good = calls.add(lambda: 1 / 0), calls.add(lambda: 2)
    calls.run_all()
    with pytest.raises(ZeroDivisionError):
        bad.result(0)
    assert good.result(0) == 2


def test_what_is_cancelled_is_never_run():
    """Not even when the loop comes to it later; the others are run all the same."""
    calls = CallQueue()
    ran = []
    given_up = calls.add(lambda: ran.append('late'))
    kept = calls.add(lambda: ran.append('in time'))
    assert given_up.cancel()
    calls.run_all()
    assert ran == ['in time']
    assert kept.done()
