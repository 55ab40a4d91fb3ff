"""The observation vector: terms one after the other, with scale, clip and history."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from cnoid_control.controllers.policy.terms import (
    Elements,
    Read,
    Situation,
    TermParameters,
    Written,
    element_names,
    make_term,
)
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import not_allowed


@dataclass
class Term:
    """One term of an observation.

    Attributes:
        name: its name in the configuration.
        read: computes it.
        size: number of its values in one period.
        scale: factors, shape (size,).
        clip: least and largest value before the scale.
        history: its values of the last periods, the newest last, shape (history, size).
        late: its values of the last ticks, the oldest first, where it is delayed.
        source: kind of the term.
        elements: names of its values in one period: joints, axes or numbers.
        delay: age of its values in ticks.
    """

    name: str
    read: Read
    size: int
    scale: np.ndarray
    clip: tuple[float, float] | None
    history: np.ndarray
    late: deque[np.ndarray] | None = None
    source: str = ''
    elements: list[str] = field(default_factory=list)
    delay: int = 0

    @property
    def length(self) -> int:
        """Number of its values in the observation."""
        return self.history.size

    def oldest(self) -> np.ndarray:
        """What it was, so many ticks ago as it is delayed; before the first tick what it is."""
        return self.late[0] if self.late else self.read()


class Observation:
    """Terms in order, as one vector.

    Attributes:
        terms: the terms.
        vector: the observation of the last refresh.
    """

    def __init__(
        self,
        names: Sequence[str],
        given: Mapping[str, TermParameters],
        situation: Situation,
        newest_first: bool = False,
        interleaved: bool = False,
    ) -> None:
        """Make the terms; each enables what it reads.

        Args:
            names: the terms in order.
            given: their options by name.
            situation: what they are computed from.
            newest_first: whether the newest values of a history come first.
            interleaved: whether the history is of the whole observation, period by period, not of
                each term.

        Raises:
            CnoidControlError: a term does not exist or cannot be had.
            ParameterError: an option of a term does not fit.
        """
        self._newest_first = newest_first
        self._interleaved = interleaved
        self._is_new = True
        self.terms = [_make(name, given.get(name, TermParameters()), situation) for name in names]
        if interleaved and len({len(term.history) for term in self.terms}) > 1:
            lengths = {term.name: len(term.history) for term in self.terms}
            raise not_allowed('terms', lengths, 'a whole history needs the same length everywhere')
        self._delayed = [term for term in self.terms if term.late is not None]
        self.vector = np.zeros(self.size)
        self._compile()

    @property
    def history_of(self) -> str:
        """Whether each term has its history or the whole observation, as the option says it."""
        return 'whole' if self._interleaved else 'term'

    def _compile(self) -> None:
        """Prepare arrays of all terms, so that clip and scale are one operation for all."""
        self._scale = np.concatenate([term.scale for term in self.terms])
        self._has_history = any(len(term.history) > 1 for term in self.terms)
        self._scaled = np.zeros(self._scale.size) if self._has_history else self.vector
        self._scales = bool((self._scale != 1.0).any())
        self._values = values = np.zeros(self._scale.size) if self._scales else self._scaled
        bounds = [term.clip or (-np.inf, np.inf) for term in self.terms]
        sizes = [term.size for term in self.terms]
        self._lower, self._upper = (np.repeat(bound, sizes) for bound in zip(*bounds, strict=True))
        self._clips = any(term.clip is not None for term in self.terms)
        ends = np.cumsum(sizes)
        slots = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        # What only has to be copied needs no function of its own in every period.
        self._copies: list[tuple[np.ndarray, np.ndarray]] = []
        self._picks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._writes: list[tuple[Callable[[np.ndarray], object], np.ndarray]] = []
        self._reads: list[tuple[np.ndarray, Read]] = []
        for slot, term in zip(slots, self.terms, strict=True):
            read, place = term.read if term.late is None else term.oldest, values[slot]
            if isinstance(read, Written):
                self._writes.append((read.write, place))
                continue
            if not isinstance(read, Elements):
                self._reads.append((place, read))
                continue
            array, origin = read.array, read.origin
            if read.ids is not None:
                self._picks.append((place, array, read.ids))
                array = place
            if origin is not None and origin.any():
                self._writes.append((partial(np.subtract, array, origin), place))
            elif read.ids is None:
                self._add_copy(place, array)
        self._rows = [self._scaled[slot] for slot in slots]
        if not self._has_history:
            # What is in the vector is all that they remember.
            for term, row in zip(self.terms, self._rows, strict=True):
                term.history = row[np.newaxis]

    def _add_copy(self, place: np.ndarray, array: np.ndarray) -> None:
        """Have an array copied; together with the one before where both lie side by side."""
        if self._copies:
            before, source = self._copies[-1]
            joined = [_joined(before, place), _joined(source, array)]
            if joined[0] is not None and joined[1] is not None:
                self._copies[-1] = (joined[0], joined[1])
                return
        self._copies.append((place, array))

    @property
    def has_delays(self) -> bool:
        """Whether a term is delayed, so that `tick` has something to do."""
        return bool(self._delayed)

    @property
    def size(self) -> int:
        """Number of values."""
        return sum(term.length for term in self.terms)

    def reset(self) -> None:
        """Begin a new history with the next refresh."""
        self._is_new = True
        for term in self._delayed:
            assert term.late is not None
            term.late.clear()

    def tick(self) -> None:
        """Keep the values of delayed terms; to be called in every tick, before `refresh`."""
        for term in self._delayed:
            assert term.late is not None
            value = np.array(term.read(), dtype=float)
            # What is older than the first tick is as it was then.
            term.late.extend([value] * ((term.late.maxlen or 1) if not term.late else 1))

    def refresh(self) -> np.ndarray:
        """Compute all terms; the vector."""
        values = self._values
        for slot, array in self._copies:
            slot[...] = array
        for slot, array, ids in self._picks:
            # The ids are a robot's joints: nothing is ever clipped, but it is not looked for.
            array.take(ids, None, slot, 'clip')
        for write, slot in self._writes:
            write(slot)
        for slot, read in self._reads:
            slot[...] = read()
        if self._clips:
            np.maximum(values, self._lower, out=values)
            np.minimum(values, self._upper, out=values)
        if self._scales:
            np.multiply(values, self._scale, self._scaled)
        if self._has_history:
            self._remember()
        return self.vector

    def _remember(self) -> None:
        """Forget the oldest values; all of them become the new ones at the start."""
        for term, row in zip(self.terms, self._rows, strict=True):
            history = term.history
            if self._is_new:
                history[:] = row
            else:
                history[:-1] = history[1:]
                history[-1] = row
        self._is_new = False
        if self._interleaved:
            whole = np.hstack([term.history for term in self.terms])
            self.vector[:] = (whole[::-1] if self._newest_first else whole).reshape(-1)
            return
        start = 0
        for term in self.terms:
            history = term.history[::-1] if self._newest_first else term.history
            self.vector[start : start + term.length] = history.reshape(-1)
            start += term.length

    def bad_terms(self) -> list[str]:
        """Names of the terms that are not finite."""
        return [term.name for term in self.terms if not np.isfinite(term.history).all()]

    def places(self) -> list[np.ndarray]:
        """Indices in the vector of each term, the oldest period first, shapes (history, size)."""
        places = [np.zeros(term.history.shape, dtype=np.intp) for term in self.terms]
        start = 0
        if self._interleaved:
            periods = len(places[0]) if places else 0
            for period in range(periods):
                row = periods - 1 - period if self._newest_first else period
                for term, place in zip(self.terms, places, strict=True):
                    place[row] = np.arange(start, start + term.size)
                    start += term.size
            return places
        for term, place in zip(self.terms, places, strict=True):
            rows = np.arange(start, start + term.length).reshape(place.shape)
            place[:] = rows[::-1] if self._newest_first else rows
            start += term.length
        return places

    def layout(self) -> list[tuple[str, int, int]]:
        """Name, first index and number of values of each term; of a period where interleaved."""
        rows = []
        start = 0
        for term in self.terms:
            length = term.size if self._interleaved else term.length
            rows.append((term.name, start, length))
            start += length
        return rows

    def demand_size(self, wanted: int, what: str) -> None:
        """Raise CnoidControlError where the observation has another size than an input."""
        if self.size != wanted:
            listed = ', '.join(f'{term.name} {term.length}' for term in self.terms)
            raise CnoidControlError(
                f'{what} wants {wanted} values, and the observation has {self.size}: {listed}'
            )


def _joined(first: np.ndarray, second: np.ndarray) -> np.ndarray | None:
    """Two neighbours in an array as one; None where they are no neighbours."""
    whole = first.base
    if whole is None or whole is not second.base or not whole.flags.c_contiguous:
        return None
    if any(one.dtype != float or not one.flags.c_contiguous for one in (whole, first, second)):
        return None
    start = (first.ctypes.data - whole.ctypes.data) // whole.itemsize
    if second.dtype != float or second.ctypes.data != first.ctypes.data + first.nbytes:
        return None
    return whole.reshape(-1)[start : start + first.size + second.size]


def _make(name: str, given: TermParameters, situation: Situation) -> Term:
    read = make_term(name, situation, given)
    size = len(np.atleast_1d(read()))
    key = f'terms.{name}'
    scale = (
        np.broadcast_to(np.asarray(given.scale, dtype=float), (size,)).copy()
        if isinstance(given.scale, (int, float))
        else np.array(given.scale, dtype=float)
    )
    if scale.size != size:
        raise not_allowed(f'{key}.scale', given.scale, f'it needs 1 or {size} values')
    clip = None
    if given.clip:
        if len(given.clip) != 2 or not given.clip[0] < given.clip[1]:
            raise not_allowed(f'{key}.clip', given.clip, 'it needs a lower and an upper bound')
        clip = (given.clip[0], given.clip[1])
    late: deque[np.ndarray] | None = deque(maxlen=given.delay + 1) if given.delay else None
    source = str(given.source or name)
    elements = element_names(source, size, situation, given)
    history = np.zeros((given.history, size))
    return Term(name, read, size, scale, clip, history, late, source, elements, given.delay)
