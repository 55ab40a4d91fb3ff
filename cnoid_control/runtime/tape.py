"""Keeps what the loop sees and does, tick by tick, in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.devices import ForceSensor

Listener = Callable[[np.ndarray], None]

JOINT_COLUMNS = ('q', 'dq', 'q_target', 'dq_target', 'u')


class Tape:
    """One row of float64 a tick, handed on to the listeners a block at a time.

    Writing a row is one call into numpy; whatever is made of the rows (statistics, plots, logs)
    is made of many rows at once, outside the tick.

    Attributes:
        columns: where each quantity stands in a row: time [s], q, dq, q_target, dq_target, u in
            joint-id order as the controllers left them, root_q (position, quaternion x y z w),
            root_motion (v, w; world axes) and F of every force sensor by the sensor's name.
        width: length of a row.
        listeners: called with each full block, shape (rows, width), and with the last, shorter
            one. A block is never written to again.
    """

    def __init__(self, body: Body, block_size: int = 256) -> None:
        """Prepare rows for a body.

        Args:
            body: body of the hardware.
            block_size: rows in a block.
        """
        self._time = np.zeros(1)
        parts = {'time': self._time}
        parts |= {name: getattr(body, name) for name in JOINT_COLUMNS}
        parts |= {'root_q': body.root_q, 'root_motion': body.root_motion.reshape(-1)}
        parts |= {sensor.name: sensor.F for sensor in body.devices_of(ForceSensor)}
        self.columns: dict[str, slice] = {}
        self.width = 0
        for name, part in parts.items():
            self.columns[name] = slice(self.width, self.width + len(part))
            self.width += len(part)
        self._parts = tuple(parts.values())
        self._size = block_size
        self._block = np.empty((block_size, self.width))
        self._row = 0
        self.listeners: list[Listener] = []

    def record(self, time: float) -> None:
        """Write the row of this tick."""
        self._time[0] = time
        np.concatenate(self._parts, out=self._block[self._row])
        self._row += 1
        if self._row == self._size:
            self.flush()

    def flush(self) -> None:
        """Hand on the rows written since the last block."""
        if not self._row:
            return
        block = self._block[: self._row]
        self._block = np.empty((self._size, self.width))
        self._row = 0
        for listener in self.listeners:
            listener(block)
