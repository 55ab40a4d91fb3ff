"""The timer that does nothing: what it says of a machine."""

from __future__ import annotations

import pytest

from cnoid_control.bench import bare_timer


class StallingClock:
    """A clock whose sleeper oversleeps every tenth time."""

    def __init__(self, stall: float) -> None:
        self.now = 100.0
        self.stall = stall
        self.sleeps = 0

    def monotonic(self) -> float:
        """Present time [s]."""
        return self.now

    def sleep(self, duration: float) -> None:
        """Let the time go by, and now and then more of it."""
        self.sleeps += 1
        self.now += duration + 1e-6
        if self.sleeps % 10 == 0:
            self.now += self.stall


@pytest.mark.parametrize(('stall', 'share'), [(0.0, 0.0), (0.0005, 0.0), (0.0035, 3 / 13)])
def test_a_stall_costs_the_periods_that_it_lasts(monkeypatch, stall, share):
    """Each stall of some periods makes so many periods unusable; half a period makes none."""
    monkeypatch.setattr(bare_timer, 'time', StallingClock(stall))
    assert bare_timer.missed_share(0.001, 1.3) == pytest.approx(share, abs=0.005)
