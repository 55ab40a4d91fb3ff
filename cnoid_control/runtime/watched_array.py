"""A joint array that tells when its elements are read or written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np


class ArrayWatcher(Protocol):
    """Who wants to know."""

    def read(self, array: str, slots: np.ndarray) -> None:
        """Elements of an array were read."""

    def written(self, array: str, slots: np.ndarray) -> None:
        """Elements of an array were written."""


class WatchedArray(np.ndarray):
    """View on a joint array; results of computations with it are plain arrays.

    Slices are watched too. What numpy converts in compiled code, such as np.asarray, is not
    noticed.

    Attributes:
        watcher: who is told; None for nobody.
        array: name of the joint array.
        slots: row of each element in the joint array.
    """

    watcher: ArrayWatcher | None
    array: str
    slots: np.ndarray

    def __array_finalize__(self, parent: Any) -> None:
        """Begin unwatched, as copies and results are."""
        self.watcher = None

    @classmethod
    def watch(
        cls, values: np.ndarray, watcher: ArrayWatcher, array: str, slots: np.ndarray
    ) -> WatchedArray:
        """Make a watched view."""
        view = values.view(cls)
        view.watcher, view.array, view.slots = watcher, array, slots
        return view

    def plain(self) -> np.ndarray:
        """The same memory, unwatched."""
        return self.view(np.ndarray)

    def _tell_read(self, key: Any = slice(None)) -> None:
        if self.watcher is not None:
            self.watcher.read(self.array, np.atleast_1d(self.slots[key]))

    def _tell_written(self, key: Any = slice(None)) -> None:
        if self.watcher is not None:
            self.watcher.written(self.array, np.atleast_1d(self.slots[key]))

    def __getitem__(self, key: Any) -> Any:
        """Elements; a slice is a watched view."""
        if self.watcher is not None and isinstance(key, slice):
            return self.watch(self.plain()[key], self.watcher, self.array, self.slots[key])
        self._tell_read(key)
        return self.plain()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write elements."""
        self._tell_written(key)
        self.plain()[key] = unwatched(value)

    def __iter__(self) -> Iterator[Any]:
        """Elements one by one."""
        self._tell_read()
        return iter(self.plain())

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any
    ) -> Any:
        """Compute with plain arrays."""
        operands = [unwatched(one) for one in inputs]
        if out is not None:
            for one in out:
                if isinstance(one, WatchedArray):
                    one._tell_written()
            options['out'] = tuple(
                one.plain() if isinstance(one, WatchedArray) else one for one in out
            )
        result = getattr(ufunc, method)(*operands, **options)
        # In-place operators hand the result on to the name they stand at.
        return out[0] if out is not None and len(out) == 1 else result

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        """Compute with plain arrays."""
        return function(*unwatched(args), **unwatched(kwargs))


def unwatched(value: Any) -> Any:
    """Plain arrays in the place of watched ones, which are told that they are read."""
    if isinstance(value, WatchedArray):
        value._tell_read()
        return value.plain()
    if isinstance(value, (list, tuple)):
        return type(value)([unwatched(one) for one in value])
    if isinstance(value, dict):
        return {key: unwatched(one) for key, one in value.items()}
    return value


def _reading(name: str) -> Any:
    method = getattr(np.ndarray, name)

    def read(self: WatchedArray, *args: Any, **kwargs: Any) -> Any:
        self._tell_read(args[0] if name == 'item' and args else slice(None))
        return method(self.plain(), *unwatched(args), **unwatched(kwargs))

    read.__doc__ = method.__doc__
    return read


# Methods that are no ufuncs.
for _name in ('item', 'copy', 'tolist', 'tobytes', 'take', 'dot', 'astype', 'argmax', 'argmin'):
    setattr(WatchedArray, _name, _reading(_name))
