"""When the simulated robot goes on; time itself is not measured."""

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from cnoid_control.ros.sim.pacing import FREE, LOCKSTEP, PACED, Pacing

NEVER = lambda: False  # noqa: E731


class CommandControllers:
    """Stands for the topics: gives the commands that a test has scheduled."""

    def __init__(self, pacing, answers):
        """Give so many commands in each tick."""
        self.pacing = pacing
        self.answers = answers
        self.left = 0

    def tick(self):
        """Let a state go out and wait for the next step; returns commands left over."""
        self.pacing.state_sent(['effort'])
        self.left += self.answers.pop(0)
        self.pacing.wait(self.take, NEVER)
        return self.left

    def take(self, timeout):
        """Hand a command over, one a call."""
        if self.left:
            self.left -= 1
            self.pacing.command_came('effort')


def make(mode, answers, timeout=0.01):
    """Return pacing and command_controllers; the clock does not matter."""
    pacing = Pacing(mode, factor=0.0, timeout=timeout, time_step=0.001)
    return pacing, CommandControllers(pacing, answers)


def test_free_waits_for_nothing():
    """A free-running robot goes on without commands and counts no time-outs."""
    pacing, command_controllers = make(FREE, [0, 0, 0])
    for _ in range(3):
        command_controllers.tick()
    assert pacing.timeouts == 0


@pytest.mark.parametrize('mode', [PACED, LOCKSTEP])
def test_a_missing_command_times_out(mode):
    """Without a command the robot goes on after the time-out, and it is counted."""
    pacing, command_controllers = make(mode, [1, 0, 1])
    for timeouts in (0, 1):
        command_controllers.tick()
        assert pacing.timeouts == timeouts


def test_lockstep_takes_a_late_answer_for_what_it_is():
    """An answer that comes a tick late is not taken for the answer to the next state."""
    pacing, command_controllers = make(LOCKSTEP, [1, 0, 2, 1, 1])
    assert command_controllers.tick() == 0
    command_controllers.tick()
    assert pacing.timeouts == 1
    for _ in range(3):
        assert command_controllers.tick() == 0
    assert pacing.timeouts == 1


def test_lockstep_gets_over_a_lost_answer():
    """After a lost answer it waits once more, then goes on in step."""
    pacing, command_controllers = make(LOCKSTEP, [0, 1, 1, 1, 1])
    for _ in range(5):
        command_controllers.tick()
    assert pacing.timeouts == 2
    assert not pacing.waits


def test_paced_waits_only_for_commands_that_are_too_old():
    """A paced robot goes on without commands for the age that they may reach, then it waits."""
    pacing = Pacing(PACED, factor=0.0, timeout=0.01, time_step=0.001, command_age=0.003)
    command_controllers = CommandControllers(pacing, [1, 0, 0, 0, 0, 1, 0])
    for timeouts in (0, 0, 0, 0, 1, 1, 1):
        command_controllers.tick()
        assert pacing.timeouts == timeouts


def test_paced_waits_for_every_command_when_it_is_behind(monkeypatch):
    """Behind the clock a paced robot does not catch up in bursts that nobody answers."""
    now = [100.0]
    monkeypatch.setattr('time.monotonic', lambda: now[0])
    pacing = Pacing(PACED, factor=1.0, timeout=1.0, time_step=0.001, command_age=0.003)
    pacing.state_sent(['effort'])
    assert not pacing.waits
    now[0] += 0.01
    assert pacing.waits
    pacing.command_came('effort')
    assert not pacing.waits


def test_controllers_that_are_gone_owe_nothing():
    """When a controller is deactivated its answer is not waited for."""
    pacing = Pacing(LOCKSTEP, factor=0.0, timeout=60.0, time_step=0.001)
    pacing.state_sent(['effort', 'position'])
    pacing.command_came('effort')
    assert pacing.owes('position')
    pacing.keep(['effort'])
    assert not pacing.waits


def test_it_does_not_run_ahead_of_the_clock():
    """At a factor of 1, a hundred ticks of a millisecond take the commands of their waits."""
    pacing = Pacing(FREE, factor=1.0, timeout=1.0, time_step=0.001)
    waits = []
    for _ in range(20):
        pacing.state_sent([])
        pacing.wait(waits.append, NEVER)
    assert sum(wait > 0 for wait in waits) >= 10


def test_it_gives_lost_time_up(monkeypatch):
    """After a long stall it does not chase the clock with a burst of ticks."""
    now = [100.0]
    monkeypatch.setattr('time.monotonic', lambda: now[0])
    pacing = Pacing(FREE, factor=1.0, timeout=1.0, time_step=0.001)
    now[0] += 3.0
    waited = []

    def take(timeout):
        waited.append(timeout)
        now[0] += timeout

    pacing.wait(take, NEVER)
    assert pacing.overruns == 1
    pacing.wait(take, NEVER)
    assert waited[-1] == pytest.approx(0.001)
