"""How regularly the loop ticks, and how long its ticks take."""

from __future__ import annotations

from array import array

import numpy as np

# Ticks that are looked at: some seconds at the usual rates.
WINDOW = 4096


class LoopStatistics:
    """Times of the last ticks, and counts since the start.

    `tick` belongs to the loop's thread and costs well under a microsecond; `summary` may be
    called from any other thread.

    Attributes:
        period: nominal time between ticks [s].
        ticks: ticks so far.
        late: ticks whose command came more than a period after their state.
        lost: states that were missing between two ticks.
    """

    def __init__(self, period: float) -> None:
        """Start with nothing."""
        self.period = period
        self.ticks = 0
        self.late = 0
        self.lost = 0
        # Half the cost of an element of a numpy array.
        self._arrivals = array('d', bytes(8 * WINDOW))
        self._durations = array('d', bytes(8 * WINDOW))
        self._late_limit = period
        self._lost_limit = 1.5 * period

    def tick(self, arrival: float, duration: float, dt: float) -> None:
        """Note a tick.

        Args:
            arrival: steady time at which its state came [s].
            duration: time from there until its command was sent [s].
            dt: time between its state and the one before, by their stamps [s].
        """
        place = self.ticks % WINDOW
        self._arrivals[place] = arrival
        self._durations[place] = duration
        self.ticks += 1
        if duration > self._late_limit:
            self.late += 1
        if dt > self._lost_limit:
            self.lost += round(dt / self.period) - 1

    def summary(self) -> dict[str, float]:
        """Rate [Hz], jitter and durations [s] of the last ticks, and the counts.

        Jitter is the standard deviation of the time between two ticks.
        """
        count = min(self.ticks, WINDOW)
        begin = self.ticks % WINDOW if self.ticks > WINDOW else 0
        arrivals = np.roll(np.array(self._arrivals), -begin)[:count]
        durations = np.array(self._durations)[:count]
        periods = np.diff(arrivals)
        # A place that the loop writes at this moment shows as one wild period.
        periods = periods[periods > 0.0]
        if not periods.size:
            periods = np.array([np.nan])
        if not count:
            durations = np.array([np.nan])
        return {
            'rate': float(1.0 / periods.mean()),
            'jitter': float(periods.std()),
            'period_max': float(periods.max()),
            'duration_median': float(np.median(durations)),
            'duration_p99': float(np.quantile(durations, 0.99)),
            'duration_max': float(durations.max()),
            'ticks': float(self.ticks),
            'late': float(self.late),
            'lost': float(self.lost),
        }
