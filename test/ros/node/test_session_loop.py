"""Functions of others between the ticks of a loop that does not always come to them."""

import concurrent.futures
import threading

import pytest
from fake_hardware import FakeHardware, fake_loop, two_joint_body

from cnoid_control import SimpleController
from cnoid_control.ros.exceptions import LoopCallTimeout
from cnoid_control.ros.node import session_loop as loop_runner
from cnoid_control.ros.node.session_loop import SessionLoop


class Standing(FakeHardware):
    """Reads at once, or stands until the test lets it go."""

    arrival = 0.0

    def __init__(self):
        """Tick."""
        super().__init__(two_joint_body(), states=10**9)
        self.runs = threading.Event()
        self.runs.set()
        self.stands = threading.Event()

    def read(self):
        """Take a state."""
        while not self.runs.wait(0.01):
            self.stands.set()
        return super().read()

    def write(self):
        """Keep nothing."""


class Idle(SimpleController):
    """Commands nothing."""

    def initialize(self, io):
        """Read nothing."""
        return True

    def control(self):
        """Do nothing."""
        return True


@pytest.fixture
def loop():
    """Return the hardware of a loop, which is opened."""
    return Standing()


@pytest.fixture
def runner(loop):
    """Return the runner of the loop, started."""
    control_loop = fake_loop(Idle(), hardware=loop)
    control_loop.open()
    made = SessionLoop(control_loop, loop, lambda duration: None, lambda: None, lambda: None)
    made.start()
    yield made
    loop.runs.set()
    made.stop()


def test_what_was_given_up_is_not_done_later(loop, runner):
    """A caller who was told that the request was cancelled does not see it happen."""
    ran = []
    loop.runs.clear()
    assert loop.stands.wait(20.0)
    runner.patience = 0.01
    with pytest.raises(LoopCallTimeout, match='request cancelled'):
        runner.call(lambda: ran.append('late'))
    loop.runs.set()
    runner.patience = 20.0
    assert runner.call(lambda: list(ran)) == []


@pytest.fixture
def work(monkeypatch):
    """Return what the loop begins in time and ends only when `work.finish` is set.

    `work.waits` is called in the place of the second wait for it.
    """

    class Work:
        waits = staticmethod(lambda futures, timeout: None)

        def __init__(self):
            self.begun, self.finish = threading.Event(), threading.Event()

        def __call__(self):
            self.begun.set()
            assert self.finish.wait(20.0)
            return 'done'

    made = Work()

    def first(futures, timeout):
        assert made.begun.wait(20.0)
        monkeypatch.setattr(loop_runner, 'wait', made.waits)

    monkeypatch.setattr(loop_runner, 'wait', first)
    yield made
    made.finish.set()


def test_what_has_begun_is_waited_for(runner, work):
    """Its result counts, also where it comes after the time in which it had to begin."""

    def wait(futures, timeout):
        work.finish.set()
        return concurrent.futures.wait(futures, 20.0)

    work.waits = wait
    assert runner.call(work) == 'done'


def test_what_does_not_come_back_is_not_waited_for_for_ever(runner, work):
    """The caller is told that it has begun."""
    with pytest.raises(LoopCallTimeout, match='started the request'):
        runner.call(work)
