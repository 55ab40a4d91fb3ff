"""Colours of curves, and places of names beside and above them."""

from __future__ import annotations

from collections.abc import Sequence
from colorsys import hsv_to_rgb

import numpy as np

# Rows of names of events, and the share of a panel's width that a letter takes.
EVENT_ROWS, EVENT_LETTER = 3, 0.0095
PALETTE = (
    '#1f77b4', '#d62728', '#2ca02c', '#ff7f0e', '#9467bd', '#8c564b',
    '#e377c2', '#17becf', '#7f7f7f', '#bcbd22', '#0b3d91', '#a6611a',
)  # fmt: skip


def event_rows(events: Sequence[tuple[float, str]], span: tuple[float, float]) -> list[int | None]:
    """Row in which the name of each event stands, 0 the uppermost; None where there is no room.

    Args:
        events: times and names.
        span: times at which the panels begin and end.
    """
    taken = [-np.inf] * EVENT_ROWS
    found: list[int | None] = []
    for time, what in events:
        begin = (time - span[0]) / (span[1] - span[0])
        end = begin + EVENT_LETTER * (len(what) + 1)
        free = [row for row in range(EVENT_ROWS) if taken[row] <= begin]
        if free and end <= 1.0 + EVENT_LETTER:
            taken[free[0]] = end
            found.append(free[0])
        else:
            found.append(None)
    return found


def distinct_colors(count: int) -> list[str]:
    """So many colours, no two of them the same."""
    from matplotlib.colors import to_hex

    more = range(max(0, count - len(PALETTE)))
    # Shades between those of the palette, by the golden ratio, dark and bright in turns.
    hues = [(0.05 + 0.618034 * i) % 1.0 for i in more]
    shades = [to_hex(hsv_to_rgb(hue, 0.85, 0.9 - 0.35 * (i % 2))) for i, hue in enumerate(hues)]
    return [*PALETTE[:count], *shades]


def spread(heights: Sequence[float], least: float) -> list[float]:
    """Heights from 0 to 1 moved apart until they differ by a least distance, order kept."""
    order = np.argsort(np.asarray(heights, dtype=float), kind='stable')
    placed = np.clip(np.asarray(heights, dtype=float)[order], 0.0, 1.0)
    for i in range(1, len(placed)):
        placed[i] = max(placed[i], placed[i - 1] + least)
    if len(placed) and placed[-1] > 1.0:
        placed[-1] = 1.0
        for i in range(len(placed) - 2, -1, -1):
            placed[i] = min(placed[i], placed[i + 1] - least)
    found = np.empty(len(placed))
    found[order] = placed
    return [float(value) for value in found]
