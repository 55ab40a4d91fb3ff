"""The three kinds of controllers by turns: their answers at 1 kHz, and their highest rates."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from cnoid_control.bench.ros_loop.rig import KINDS, RATE, Drive, Driven, driven
from cnoid_control.exceptions import CnoidControlError

ResultT = TypeVar('ResultT')
Turns = dict[str, list[Drive]]
Rates = dict[str, list[float]]

# How often a measurement begins anew because the machine has stood still.
RETRIES = 20
ROUNDS = 5
TICKS = 2000
# Ticks before those that count.
WARM_UP = 500
# Share of the states that may stay unanswered at a rate that a controller keeps up with.
LOST = 0.005
# Share of lost states from which on a turn is not one of a controller that controls.
MOST = 0.5
# Time for which a rate is tried [s], how often before it is given up, and the next higher one.
TRIAL_TIME, TRIALS, FACTOR = 0.5, 2, 1.15
# Rates that are tried at most [Hz], and how close the robot itself must come to one.
HIGHEST, KEPT = 20000.0, 0.97
RATE_ROUNDS = 2


class StoodStill(CnoidControlError):
    """Nothing ran for so long that what was measured says nothing of the controllers."""


def take_turns(priority: int, rounds: int = ROUNDS, ticks: int = TICKS) -> Turns:
    """Drive each kind at 1 kHz, by turns.

    Args:
        priority: real-time priority of the controllers; 0 for none.
        rounds: number of turns of each.
        ticks: states in each turn.

    Returns:
        What each turn came to, by kind.

    Raises:
        CnoidControlError: most of a turn's states were lost; it tells nothing then.
    """

    def drive(pair: Driven) -> Drive:
        require_valid(pair.drive(RATE, min(WARM_UP, ticks)))
        turn = require_valid(pair.drive(RATE, ticks))
        if turn.lost > MOST:
            raise too_busy(f'{100.0 * turn.lost:.0f} % of the states at 1 kHz were lost')
        return turn

    return _by_turns(priority, rounds, lambda: drive)


def highest_rates(priority: int, rounds: int = RATE_ROUNDS) -> Rates:
    """The highest rate that each kind keeps up with [Hz], by turns; as `take_turns`.

    Raises:
        CnoidControlError: a kind keeps up with none.
    """

    def find() -> Callable[[Driven], float]:
        search = RateSearch()

        def go_on(pair: Driven) -> float:
            if not search.go_on(pair):
                lost = f'{100.0 * LOST:g} % of the states at {RATE:g} Hz, or more, were lost'
                raise too_busy(lost)
            return search.found

        return go_on

    return _by_turns(priority, rounds, find)


def too_busy(what: str) -> CnoidControlError:
    """The machine does other things, or a controller has been stopped by its watchdog."""
    return CnoidControlError(f'{what}: the machine is too busy to measure it')


def _by_turns(
    priority: int, rounds: int, begin: Callable[[], Callable[[Driven], ResultT]]
) -> dict[str, list[ResultT]]:
    results: dict[str, list[ResultT]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds):
            # Who begins changes with the turns.
            for kind in KINDS[turn % len(KINDS) :] + KINDS[: turn % len(KINDS)]:
                measure = partial(_measure, kind, priority, folder, begin())
                results[kind].append(retried(measure))
    return results


def _measure(
    kind: str, priority: int, folder: str, measure: Callable[[Driven], ResultT]
) -> ResultT:
    with driven(kind, priority, Path(folder)) as pair:
        return measure(pair)


def require_valid(drive: Drive) -> Drive:
    """Give back what was driven while the machine went on.

    Raises:
        StoodStill: it did not.
    """
    if not drive.is_valid:
        raise StoodStill(f'the machine stood still for {1e3 * drive.late:.0f} ms')
    return drive


def retried(measure: Callable[[], ResultT]) -> ResultT:
    """Measure once more, with processes that begin anew, where the machine stood still.

    Raises:
        StoodStill: it did so each time.
    """
    for _ in range(RETRIES):
        with contextlib.suppress(StoodStill):
            return measure()
    return measure()


class RateSearch:
    """Looks for the highest rate at which less than 0.5 % of the states are lost.

    Rates are tried upwards until one is not kept up with; `FACTOR` lies between two of them.

    Attributes:
        found: the highest one so far [Hz]; 0 for none.
    """

    def __init__(self, first: float = RATE, highest: float = HIGHEST) -> None:
        """Begin at one rate, and end at another [Hz]."""
        self.found = 0.0
        self._rate, self._highest = first, highest

    def go_on(self, pair: Driven) -> float:
        """Try rates from where the search is, to the end; the rate found.

        Args:
            pair: the controller and its robot.

        Raises:
            StoodStill: the machine did; the search goes on with another pair.
        """
        while self._rate <= self._highest:
            if not any(_keeps_up(pair, self._rate) for _ in range(TRIALS)):
                break
            self.found = self._rate
            self._rate *= FACTOR
        return self.found


def _keeps_up(pair: Driven, rate: float) -> bool:
    drive = require_valid(pair.drive(rate, round(rate * TRIAL_TIME)))
    return drive.lost < LOST and drive.rate > KEPT * rate


turns_of = cache(take_turns)
rates_of = cache(highest_rates)


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Median of the ratios of the turns."""
    return float(np.median(np.divide(ours, theirs)))
