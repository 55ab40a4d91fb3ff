"""The testbed of the embedded faults: it runs the loop that a user runs."""

from __future__ import annotations

import pytest

from cnoid_control.faults import testbed
from cnoid_control.faults.testbed import FAULTY_CONTROLLER, EmbeddedTestbed
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch):
    """Return a testbed, and the loops that `make_loop` made meanwhile."""
    loops = []

    def note(*args, **kwargs):
        loops.append(make_loop(*args, **kwargs))
        return loops[-1]

    monkeypatch.setattr(testbed, 'make_loop', note)
    embedded = EmbeddedTestbed()
    yield embedded, loops
    embedded.close()


def test_the_loop_is_the_one_that_a_user_gets(made) -> None:
    """`make_loop` makes it, with the shipped thresholds but for the grace of the start."""
    embedded, loops = made
    assert loops == [embedded.loop]
    user = load_config('sr1_pd', {'controller': FAULTY_CONTROLLER}).parameters
    used = embedded.config.parameters
    assert used.limits == user.limits
    assert used.safe_state == user.safe_state
    assert embedded.loop.watchdog.parameters.state_timeout == user.watchdog.state_timeout
    assert embedded.loop.watchdog.parameters.device_timeout == user.watchdog.device_timeout
    assert embedded.loop.watchdog.parameters.control_timeout == user.watchdog.control_timeout
    assert embedded.loop.on_fault == 'hold'
