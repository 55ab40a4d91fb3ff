"""Copies of MuJoCo's state to a body's arrays, in as few calls as possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from cnoid_control.body import Body

# Pieces of a body's values that are filled one by one; more of them are cheaper all at once.
FEW_PIECES = 3


class Part(NamedTuple):
    """Numbers of one of MuJoCo's arrays and where they go.

    Attributes:
        source: an array of an `MjData`, one-dimensional.
        addresses: places in it.
        target: an array in a body's `values`, one-dimensional.
        places: places in that, as many.
    """

    source: np.ndarray
    addresses: np.ndarray
    target: np.ndarray
    places: np.ndarray


def gathering(body: Body, parts: Sequence[Part]) -> list[Callable[[], object]]:
    """Calls that copy all parts, whatever arrays of one `MjData` they come from.

    Args:
        body: the body.
        parts: what is copied; no place twice.
    """
    if not any(part.places.size for part in parts):
        return []
    values, memory = body.values, _window([part.source for part in parts])
    to = np.concatenate([body.place_in_values(part.target) + part.places for part in parts])
    of = np.concatenate([_offset(part.source, memory) + part.addresses for part in parts])
    order = np.argsort(to)
    to, of = to[order], of[order]
    pieces = np.split(np.arange(to.size), np.flatnonzero(np.diff(to) != 1) + 1)
    if len(pieces) <= FEW_PIECES:
        return [
            partial(memory.take, of[piece], None, values[to[piece[0]] : to[piece[-1]] + 1], 'clip')
            for piece in pieces
        ]

    def scatter() -> None:
        values[to] = memory[of]

    return [scatter]


def _window(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """View on all the memory that holds these arrays; those of an `MjData` lie in one buffer."""
    first = min(arrays, key=lambda array: array.ctypes.data)
    size = max(_offset(array, first) + array.size for array in arrays)
    return np.lib.stride_tricks.as_strided(first, (size,), (first.itemsize,), writeable=False)


def _offset(array: np.ndarray, start: np.ndarray) -> int:
    """Elements from the beginning of one array to that of another one."""
    return (array.ctypes.data - start.ctypes.data) // start.itemsize
