"""Rows of a body's values, noted as bytes and made into numbers later."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cnoid_control.body.body import Body


class ValueRows:
    """Some arrays of a body, side by side in rows.

    To note a row is one copy of a piece of the body's `values` as bytes, the cheapest there is;
    the arrays are picked out of many rows at once.

    Attributes:
        note: bytes of the present row.
        width: numbers in a row.
    """

    def __init__(self, body: Body, arrays: Sequence[np.ndarray]) -> None:
        """Look at arrays that lie in `body.values`, in the order that the rows are to have."""
        places = [body.place_in_values(array) + np.arange(array.size) for array in arrays]
        columns = np.concatenate(places) if places else np.zeros(0, dtype=np.intp)
        self.width = columns.size
        first, end = (columns.min(), columns.max() + 1) if columns.size else (0, 0)
        self._columns = columns - first
        self._size = end - first
        self.note = body.values[first:end].tobytes

    def decode(self, noted: Sequence[bytes], rows: int) -> np.ndarray:
        """Numbers of some rows, shape (rows, width); what was noted behind each stays there."""
        numbers = np.frombuffer(b''.join(noted)).reshape(rows, -1)
        behind = np.arange(self._size, numbers.shape[1])
        return numbers.take(np.concatenate([self._columns, behind]), axis=1)
