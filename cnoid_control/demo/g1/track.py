"""The way of a robot through a run, and what is read from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnoid_control.demo.robot_sample import Sample, tilt_of

# Angle to the vertical beyond which it has fallen [degrees].
FALLEN = 50.0


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Attributes:
        what: what was looked at.
        seen: what was seen, with its unit.
        expected: what was to be seen; empty where it is only told.
        ok: whether it is as expected.
    """

    what: str
    seen: str
    expected: str
    ok: bool


class Track:
    """Samples of a robot in the order of time."""

    def __init__(self, samples: list[Sample]) -> None:
        """Take over what was seen."""
        self.samples = samples
        self.times = np.array([sample.time for sample in samples])
        self.positions = np.array([sample.position for sample in samples])
        self.tilts = np.degrees([tilt_of(sample) for sample in samples])
        self.headings = np.array([heading_of(sample) for sample in samples])

    def _part(self, begin: float, end: float) -> np.ndarray:
        """Numbers of the samples of a time [s]."""
        return np.flatnonzero((self.times >= begin) & (self.times <= end))

    def at(self, time: float) -> Sample:
        """The first sample from a time [s] on, or the last one."""
        place = int(np.searchsorted(self.times, time))
        return self.samples[min(place, len(self.samples) - 1)]

    def forward(self, begin: float, end: float) -> float:
        """Mean velocity forward, along the robot's own heading [m/s]."""
        part = self._part(begin, end)
        if len(part) < 2:
            return float('nan')
        ways = np.diff(self.positions[part, :2], axis=0)
        angles = self.headings[part[:-1]]
        along = ways[:, 0] * np.cos(angles) + ways[:, 1] * np.sin(angles)
        return float(along.sum() / (self.times[part[-1]] - self.times[part[0]]))

    def drift(self, begin: float, end: float) -> float:
        """Largest distance from where it was at the beginning [m]."""
        part = self._part(begin, end)
        if not len(part):
            return float('nan')
        ways = self.positions[part, :2] - self.positions[part[0], :2]
        return float(np.linalg.norm(ways, axis=1).max())

    def tilt(self, begin: float, end: float) -> float:
        """Largest angle to the vertical [degrees]."""
        part = self._part(begin, end)
        return float(self.tilts[part].max()) if len(part) else float('nan')


def heading_of(sample: Sample) -> float:
    """Direction in which the root looks [rad]."""
    x, y, z, w = sample.orientation
    return float(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))


def speed_row(what: str, seen: float, wanted: float, tolerance: float = 0.3) -> Row:
    """A line about a speed that is to be near the commanded one."""
    ok = abs(seen - wanted) <= tolerance * wanted
    return Row(what, f'{seen:.2f} m/s', f'{wanted:g} m/s ± {100 * tolerance:.0f} %', bool(ok))


def limit_row(what: str, seen: float, limit: float, unit: str, digits: int = 1) -> Row:
    """A line about a value that is to stay below a limit."""
    return Row(
        what, f'{seen:.{digits}f} {unit}', f'< {limit:.{digits}f} {unit}', bool(seen < limit)
    )


def dance_row(seen: float, wanted: float) -> Row:
    """A line about a dance that was to last so long [s], until its successor takes over."""
    ok = abs(seen - wanted) < 1.0
    return Row('dances, is succeeded', f'{seen:.1f} of {wanted:.1f} s', '± 1 s', ok)
