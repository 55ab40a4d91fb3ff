"""In-memory trace of a run for summaries and plots."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.copies import noting_call
from cnoid_control.body.devices import ForceSensor

Listener = Callable[[np.ndarray], None]

# What a plot shows besides.
PLOT_COLUMNS = ('dq', 'dq_target', 'u', 'root_motion')


class TickTrace:
    """One row of float64 a tick, handed on to the listeners a block at a time.

    Noting a row copies a piece of memory; whatever is made of the rows (statistics, plots) is made
    of many rows at once, outside the tick.

    Attributes:
        columns: where each quantity stands in a row: time [s], q and q_target in joint-id order
            as the controllers left them, root_q (position, quaternion x y z w); in detail also
            dq, dq_target, u, root_motion (v, w; world axes) and F of every force sensor by the
            sensor's name.
        width: length of a row.
        listeners: called with each full block, shape (rows, width), and with the last, shorter
            one. A block is never written to again.
    """

    def __init__(self, body: Body, detailed: bool = False, block_size: int = 256) -> None:
        """Prepare rows for a body.

        Args:
            body: body of the hardware.
            detailed: note what plots need, not only what the summary needs.
            block_size: rows in a block.
        """
        parts = {'root_q': body.root_q, 'q': body.q, 'q_target': body.q_target}
        if detailed:
            parts |= {name: getattr(body, name).reshape(-1) for name in PLOT_COLUMNS}
            parts |= {sensor.name: sensor.F for sensor in body.devices_of(ForceSensor)}
        self.columns: dict[str, slice] = {'time': slice(0, 1)}
        self.width = 1
        for name, part in parts.items():
            self.columns[name] = slice(self.width, self.width + part.size)
            self.width += part.size
        # Pose of the root and displacements lie side by side: they are noted in one piece.
        del parts['root_q'], parts['q']
        noted = [body.configuration[: body.root_q.size + body.num_joints], *parts.values()]
        self._size = block_size
        self.listeners: list[Listener] = []
        self._rows = bytearray()
        self._notes = [noting_call(self._rows, part) for part in noted]
        self._times: list[float] = []

    def record(self, time: float) -> None:
        """Note the row of this tick."""
        for note in self._notes:
            note()
        times = self._times
        times.append(time)
        if len(times) == self._size:
            self.flush()

    def flush(self) -> None:
        """Hand on the rows written since the last block."""
        if not self._times:
            return
        times = np.array(self._times)[:, None]
        values = np.frombuffer(bytes(self._rows)).reshape(len(times), -1)
        block = np.concatenate([times, values], axis=1)
        self._times.clear()
        self._rows.clear()
        for listener in self.listeners:
            listener(block)
