"""Pass rates with their confidence, and what failures have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from cnoid_control.exceptions import CnoidControlError

CONFIDENCE = 0.95
QUARTERS = 4
# Groups smaller than this say nothing.
LEAST = 3


def wilson_interval(passed: int, runs: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval of a rate.

    It holds for few runs and for rates near 0 and 1, too.

    Args:
        passed: number of runs that passed.
        runs: number of runs.
        confidence: probability with which such intervals cover the true rate.

    Raises:
        CnoidControlError: the numbers make no rate.
    """
    if not 0 <= passed <= runs or not 0.0 < confidence < 1.0:
        raise CnoidControlError(f'{passed} of {runs} with confidence {confidence} is no rate')
    if not runs:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    rate = passed / runs
    middle = rate + z * z / (2 * runs)
    half = z * math.sqrt(rate * (1.0 - rate) / runs + z * z / (4 * runs * runs))
    scale = 1.0 + z * z / runs
    # At the ends the bound is exact; rounding would put it beside.
    low = 0.0 if passed == 0 else max(0.0, (middle - half) / scale)
    high = 1.0 if passed == runs else min(1.0, (middle + half) / scale)
    return low, high


@dataclass(frozen=True)
class Separation:
    """How a parameter separates failures from passes.

    Attributes:
        name: the parameter; `name = value` for one of several choices.
        auc: probability that a failed run has the larger value than a passed one, ties half.
        side: which values fail: 'high', 'low', 'outer' or 'inner' (far from or near to the
            middle), or 'chosen' or 'not chosen' for a choice.
        p: probability of so much separation by chance, of this parameter among all (Holm).
        quarters: failure rate in each quarter of the values, from the lowest; empty for choices.
    """

    name: str
    auc: float
    side: str
    p: float
    quarters: tuple[float, ...]

    @property
    def is_significant(self) -> bool:
        """Whether chance is no explanation, at 5 % for all parameters together."""
        return self.p < 0.05


def mann_whitney(failed: np.ndarray, passed: np.ndarray) -> tuple[float, float]:
    """Area under the ROC curve of a value as a test for failure, and its two-sided p-value.

    The p-value is the normal approximation with correction for ties and for continuity.

    Args:
        failed: values of failed runs, shape (m,).
        passed: values of passed runs, shape (n,).
    """
    m, n = len(failed), len(passed)
    if not m or not n:
        return 0.5, 1.0
    values = np.concatenate([failed, passed])
    distinct, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    del distinct
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2.0)[places]
    statistic = float(ranks[:m].sum()) - m * (m + 1) / 2.0
    total = m + n
    ties = float(((counts**3 - counts).sum()) / (total * (total - 1))) if total > 1 else 0.0
    variance = m * n / 12.0 * ((total + 1) - ties)
    auc = statistic / (m * n)
    if variance <= 0.0:
        return auc, 1.0
    z = max(0.0, abs(statistic - m * n / 2.0) - 0.5) / math.sqrt(variance)
    return auc, math.erfc(z / math.sqrt(2.0))


def separations(
    parameters: Mapping[str, Sequence[Any]], passed: Sequence[bool]
) -> list[Separation]:
    """What the failures have in common: parameters that separate them from the passes.

    Each parameter is looked at twice: whether its high or its low values fail, and whether those
    far from its middle do. Choices that are no numbers are looked at one by one. All p-values
    are corrected for the number of looks (Holm), so that of many parameters none is found that
    only chance has made stand out.

    Args:
        parameters: values by name, one per run.
        passed: which runs passed.

    Returns:
        The most certain one first.
    """
    good = np.asarray(passed, dtype=bool)
    if min(int(good.sum()), int((~good).sum())) < LEAST:
        return []
    found: list[Separation] = []
    for name, values in parameters.items():
        if all(isinstance(value, (int, float)) for value in values):
            numbers = np.asarray(values, dtype=float)
            if np.isfinite(numbers).all() and np.ptp(numbers) > 0.0:
                found += _of_number(name, numbers, good)
        else:
            texts = [str(value) for value in values]
            for choice in sorted(set(texts)):
                chosen = np.array([text == choice for text in texts], dtype=float)
                if np.ptp(chosen) > 0.0:
                    auc, p = mann_whitney(chosen[~good], chosen[good])
                    side = 'chosen' if auc > 0.5 else 'not chosen'
                    found.append(Separation(f'{name} = {choice}', auc, side, p, ()))
    return _holm(found)


def _of_number(name: str, values: np.ndarray, good: np.ndarray) -> list[Separation]:
    rates = _quarters(values, good)
    auc, p = mann_whitney(values[~good], values[good])
    looks = [Separation(name, auc, 'high' if auc > 0.5 else 'low', p, rates)]
    away = np.abs(values - np.median(values))
    if len(np.unique(away)) > 1:
        auc, p = mann_whitney(away[~good], away[good])
        looks.append(Separation(name, auc, 'outer' if auc > 0.5 else 'inner', p, rates))
    return looks


def _quarters(values: np.ndarray, good: np.ndarray) -> tuple[float, ...]:
    """Failure rate in each quarter of the runs, ordered by the value."""
    order = np.argsort(values, kind='stable')
    parts = np.array_split(~good[order], QUARTERS)
    return tuple(float(part.mean()) if len(part) else math.nan for part in parts)


def _holm(found: list[Separation]) -> list[Separation]:
    """Correct the p-values for their number, and keep the better look at each parameter."""
    ranked = sorted(found, key=lambda one: (one.p, one.name))
    largest = 0.0
    best: dict[str, Separation] = {}
    for i, one in enumerate(ranked):
        largest = max(largest, min(1.0, one.p * (len(ranked) - i)))
        best.setdefault(one.name, Separation(one.name, one.auc, one.side, largest, one.quarters))
    return sorted(best.values(), key=lambda one: (one.p, -abs(one.auc - 0.5), one.name))
