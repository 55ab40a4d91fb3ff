"""What crosses between a robot and its controllers in a tick, as rows of numbers.

A recording writes these rows, a replay puts them back: whatever a controller reads or commands
passes through here, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cnoid_control.body import Body, StateFlag
from cnoid_control.body.channels import COMMAND_ARRAYS, GAINS
from cnoid_control.body.value_rows import ValueRows
from cnoid_control.hardware.hardware import IORequest

LINK_VALUES = {
    StateFlag.LINK_POSITION: ('p', 'R'),
    StateFlag.LINK_TWIST: ('v', 'w'),
    StateFlag.LINK_ACCELERATION: ('dv', 'dw'),
    StateFlag.LINK_EXT_WRENCH: ('F_ext',),
}
SHAPES: dict[str, tuple[int, ...]] = {'R': (3, 3), 'F_ext': (6,)}


class Channels:
    """Columns of a row, and the values behind them.

    Attributes:
        columns: place of each quantity in a row: joint arrays and root arrays by name, link
            values as 'LINK.p'.
        width: length of a row.
    """

    def __init__(
        self, body: Body, arrays: list[str], links: dict[str, StateFlag], root: bool
    ) -> None:
        """Line up the columns.

        Args:
            body: body of the hardware.
            arrays: names of joint arrays, taken as a whole, virtual joints included.
            links: what is taken of links, by link name.
            root: whether pose and motion of the root are taken as well.
        """
        self.columns: dict[str, slice] = {}
        self.width = 0
        self._arrays: list[np.ndarray] = []
        self._links: list[tuple[Callable[[], np.ndarray], Callable[[np.ndarray], None]]] = []
        for name in arrays:
            self._add_array(name, body.joint_arrays[name])
        if root:
            self._add_array('root_q', body.configuration[: body.root_q.size])
            self._add_array('root_motion', body.root_motion.reshape(-1))
        for link, flags in links.items():
            for flag, names in LINK_VALUES.items():
                if flags & flag:
                    for name in names:
                        self._add_link(body, link, name)
        self._values = ValueRows(body, self._arrays)
        self._note = self._values.note

    def _add(self, name: str, size: int) -> None:
        self.columns[name] = slice(self.width, self.width + size)
        self.width += size

    def _add_array(self, name: str, array: np.ndarray) -> None:
        self._add(name, array.size)
        self._arrays.append(array)

    def _add_link(self, body: Body, link: str, name: str) -> None:
        view = body.link(link)
        shape = SHAPES.get(name, (3,))
        self._add(f'{link}.{name}', int(np.prod(shape)))

        def get() -> np.ndarray:
            return getattr(view, name).reshape(-1)

        def put(values: np.ndarray) -> None:
            setattr(view, name, values.reshape(shape))

        self._links.append((get, put))

    def take(self, row: np.ndarray) -> None:
        """Fill a row, shape (width,), with the present values."""
        if self._links:
            parts = [*self._arrays, *(get() for get, _ in self._links)]
            np.concatenate(parts, out=row)
        else:
            np.concatenate(self._arrays, out=row)

    def note(self) -> bytes:
        """Note a row; to `decode` later, many at once."""
        if self._links:
            return b''.join([self._note(), *(get().tobytes() for get, _ in self._links)])
        return self._note()

    def decode(self, noted: Sequence[bytes]) -> np.ndarray:
        """Rows that were noted, at least one, shape (rows, width)."""
        return self._values.decode(noted, len(noted))

    def put(self, row: np.ndarray) -> None:
        """Set the values to those of a row, shape (width,)."""
        start = 0
        for array in self._arrays:
            array[:] = row[start : start + array.size]
            start += array.size
        for (_, put), place in zip(
            self._links, list(self.columns.values())[len(self._arrays) :], strict=True
        ):
            put(row[place])


def input_channels(body: Body, request: IORequest) -> Channels:
    """What the controllers may read besides devices and contacts: the state after a read.

    Displacements, velocities and the root are there in any case.
    """
    arrays = ['q', 'dq']
    wanted = StateFlag.NONE
    for flags in request.inputs.values():
        wanted |= flags
    if wanted & StateFlag.JOINT_ACCELERATION:
        arrays.append('ddq')
    if wanted & StateFlag.JOINT_EFFORT:
        arrays.append('u')
    return Channels(body, arrays, dict(sorted(request.inputs.items())), root=True)


def output_channels(body: Body, request: IORequest) -> Channels:
    """What the controllers command besides devices."""
    arrays = [*COMMAND_ARRAYS]
    modes = request.outputs.values()
    arrays += [gain.command for gain in GAINS if any(gain.serves(mode) for mode in modes)]
    if any(mode & StateFlag.JOINT_ACCELERATION for mode in modes):
        arrays.append('ddq')
    return Channels(body, arrays, dict(sorted(request.outputs.items())), root=False)
