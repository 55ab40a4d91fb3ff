"""What a run has recorded, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.notebook import html_image, html_table, png_of_figure, side_by_side
from cnoid_control.runtime.trace import TickTrace

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from cnoid_control.body import Body

MAX_CURVES = 8
# What the columns of an array are called that has not one per joint; others are wrenches.
PARTS = {
    'root_q': ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw'),
    'root_motion': ('vx', 'vy', 'vz', 'wx', 'wy', 'wz'),
}
WRENCH = ('fx', 'fy', 'fz', 'tx', 'ty', 'tz')
# Arrays with one value per joint.
JOINT_ARRAYS = ('q', 'dq', 'u', 'q_target', 'dq_target')


class Recording:
    """State and commands of every tick so far, one row per tick.

    What was read of the robot, and what the controllers commanded before limits and the safe
    state acted. Vectors of joints are in joint-id order, those of the root in world axes. Other
    arrays, such as the wrench `F` of a force sensor, are found by name: `recorded['name']`.

    Attributes:
        joint_names: names of the joints, by joint id.
    """

    def __init__(self, trace: TickTrace, body: Body) -> None:
        """Listen to a detailed trace from now on."""
        self.joint_names = [joint.joint_name or str(i) for i, joint in enumerate(body.joints)]
        self._trace = trace
        self._blocks: list[np.ndarray] = []
        trace.listeners.append(self._blocks.append)

    @property
    def rows(self) -> np.ndarray:
        """Everything, shape (ticks, width); `names` says what stands where."""
        self._trace.flush()
        if len(self._blocks) != 1:
            empty = np.zeros((0, self._trace.width))
            self._blocks[:] = [np.concatenate([empty, *self._blocks])]
        return self._blocks[0]

    @property
    def names(self) -> list[str]:
        """Names of the arrays."""
        return list(self._trace.columns)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> np.ndarray:
        """Array by its name, shape (ticks, size).

        Raises:
            CnoidControlError: there is none of that name.
        """
        if name not in self._trace.columns:
            raise CnoidControlError(f'nothing recorded under {name!r}; {choices(self.names)}')
        return self.rows[:, self._trace.columns[name]]

    @property
    def time(self) -> np.ndarray:
        """Time of each tick [s], shape (ticks,)."""
        return self['time'][:, 0]

    @property
    def q(self) -> np.ndarray:
        """Measured displacements [rad] or [m], shape (ticks, joints)."""
        return self['q']

    @property
    def dq(self) -> np.ndarray:
        """Measured velocities [rad/s] or [m/s], shape (ticks, joints)."""
        return self['dq']

    @property
    def u(self) -> np.ndarray:
        """Efforts [N m] or [N]: commanded ones where the joint is commanded by them."""
        return self['u']

    @property
    def q_target(self) -> np.ndarray:
        """Commanded displacements, or references in other modes, shape (ticks, joints)."""
        return self['q_target']

    @property
    def dq_target(self) -> np.ndarray:
        """Commanded velocities, shape (ticks, joints)."""
        return self['dq_target']

    @property
    def root_position(self) -> np.ndarray:
        """Position of the root [m], shape (ticks, 3)."""
        return self['root_q'][:, :3]

    @property
    def root_orientation(self) -> np.ndarray:
        """Orientation of the root as quaternions x, y, z, w, shape (ticks, 4)."""
        return self['root_q'][:, 3:]

    @property
    def root_velocity(self) -> np.ndarray:
        """Linear velocity of the root's origin [m/s], shape (ticks, 3)."""
        return self['root_motion'][:, :3]

    @property
    def root_angular_velocity(self) -> np.ndarray:
        """Angular velocity of the root [rad/s], shape (ticks, 3)."""
        return self['root_motion'][:, 3:]

    def parts(self, name: str) -> Sequence[str]:
        """What the columns of an array are called: joints, or parts of a pose or wrench."""
        if name in JOINT_ARRAYS:
            return self.joint_names
        return PARTS.get(name, WRENCH) if name != 'time' else ('time',)

    def to_pandas(self) -> pandas.DataFrame:
        """Table with the time as index and a column per value: `q.shoulder`, `root_q.z`.

        Raises:
            CnoidControlError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise CnoidControlError('pandas is not installed: pip install pandas') from error
        columns: dict[str, np.ndarray] = {}
        for name in self.names:
            if name == 'time':
                continue
            values = self[name]
            columns |= {f'{name}.{part}': values[:, i] for i, part in enumerate(self.parts(name))}
        return pandas.DataFrame(columns, index=pandas.Index(self.time, name='time'))

    def plot(self, *names: str, joints: list[str] | None = None) -> Figure:
        """Curves over time, one panel per array.

        Args:
            *names: the arrays; `q` and `u` where none is named.
            joints: joints to draw; those that move most where None.

        Raises:
            CnoidControlError: there is no such array or joint.
        """
        # The canvas is used directly so that no display and no global state is involved.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        names = names or ('q', 'u')
        figure = Figure(figsize=(9.0, 2.6 * len(names)), layout='constrained')
        FigureCanvasAgg(figure)
        panels = figure.subplots(len(names), 1, squeeze=False, sharex=True)[:, 0]
        for name, axes in zip(names, panels, strict=True):
            values = self[name]
            parts = self.parts(name)
            for column in self._curves(joints) if name in JOINT_ARRAYS else range(len(parts)):
                axes.plot(self.time, values[:, column], label=parts[column], linewidth=1.0)
            axes.set_ylabel(name)
            axes.grid(True, alpha=0.3)
            if values.shape[1]:
                axes.legend(fontsize=7, loc='center left', bbox_to_anchor=(1.0, 0.5))
        panels[-1].set_xlabel('time [s]')
        return figure

    def _curves(self, joints: list[str] | None) -> list[int]:
        for name in joints or ():
            if name not in self.joint_names:
                raise CnoidControlError(f'unknown joint {name!r}; {choices(self.joint_names)}')
        if joints is not None:
            return [self.joint_names.index(name) for name in joints]
        spans = np.ptp(self.q, axis=0) if len(self) else np.zeros(len(self.joint_names))
        return sorted(np.argsort(-spans, kind='stable')[:MAX_CURVES].tolist())

    def __repr__(self) -> str:
        span = f'{self.time[0]:g} to {self.time[-1]:g} s' if len(self) else 'empty'
        return f'<Recording of {len(self)} ticks, {span}: {", ".join(self.names)}>'

    def _repr_html_(self) -> str:
        rows = {name: str(self[name].shape) for name in self.names}
        return side_by_side(html_table(rows, repr(self)), html_image(self._repr_png_()))

    def _repr_png_(self) -> bytes | None:
        return png_of_figure(self.plot()) if len(self) else None
