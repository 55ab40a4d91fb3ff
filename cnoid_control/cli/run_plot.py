"""One page of curves of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.devices import ForceSensor
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.runtime.loop import ControlLoop

MAX_POINTS = 4000
MAX_JOINTS = 6


def plot_suffixes() -> list[str]:
    """What the name of a plot may end with."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    return [f'.{kind}' for kind in FigureCanvasAgg.get_supported_filetypes()]


class RunPlot:
    """Collects the trace of a run and draws it: tracking, torques, root path, forces, robot."""

    def __init__(self, loop: ControlLoop) -> None:
        """Listen to the detailed trace of a loop."""
        assert loop.trace is not None
        self._body = loop.hardware.body
        self._start = self._body.clone()
        self._columns = loop.trace.columns
        self._blocks: list[np.ndarray] = []
        loop.trace.listeners.append(self._blocks.append)

    def save(self, path: str | Path, title: str) -> None:
        """Draw the page into a file, PNG or whatever its suffix says.

        Raises:
            CnoidControlError: it cannot be written.
        """
        # The canvas is used directly so that no display and no global state is involved.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(18.0, 9.0), layout='constrained')
        FigureCanvasAgg(figure)
        figure.suptitle(title)
        axes = figure.subplots(2, 4)
        rows = self._rows()
        if len(rows):
            self._draw(axes, rows)
        self._draw_robot(axes[0, 3], self._start, 'the robot at the start')
        self._draw_robot(axes[1, 3], self._body, 'the robot at the end')
        try:
            figure.savefig(path, dpi=100)
        except (OSError, ValueError) as error:
            raise CnoidControlError(f'{path} cannot be written: {error}') from error

    def _draw_robot(self, axis: Any, body: Body, title: str) -> None:
        axis.set_title(title)
        axis.set_axis_off()
        try:
            from cnoid_control.hardware.mujoco.picture import draw

            if not np.isfinite(body.configuration).all():
                raise HardwareError('it is nowhere: its state is not finite')
            body.calc_forward_kinematics()
            axis.imshow(draw([body]))
        except (ImportError, HardwareError) as error:
            # Curves are worth having without a picture.
            axis.text(0.5, 0.5, f'no picture: {error}', ha='center', wrap=True)

    def _rows(self) -> np.ndarray:
        if not self._blocks:
            return np.zeros((0, 0))
        rows = np.concatenate(self._blocks)
        return rows[:: max(1, len(rows) // MAX_POINTS)]

    def _draw(self, axes: Any, rows: np.ndarray) -> None:
        time = rows[:, self._columns['time']].ravel()
        q, target = rows[:, self._columns['q']], rows[:, self._columns['q_target']]
        error = q - target
        self._draw_tracking(axes[0, 0], time, q, target)
        self._draw_joints(axes[0, 1], time, error, 'tracking error', 'q - q_target [rad, m]')
        u = rows[:, self._columns['u']]
        self._draw_joints(axes[0, 2], time, u, 'efforts commanded', 'u [N m, N]')
        root = rows[:, self._columns['root_q']]
        self._draw_path(axes[1, 0], root)
        self._draw_height(axes[1, 1], time, root)
        self._draw_forces(axes[1, 2], time, rows)

    def _draw_tracking(
        self, axis: Any, time: np.ndarray, q: np.ndarray, target: np.ndarray
    ) -> None:
        moving = _largest(np.ptp(target, axis=0) + np.ptp(q, axis=0))
        names = self._body.joint_names
        for color, joint in enumerate(moving):
            axis.plot(time, q[:, joint], color=f'C{color}', lw=1.0, label=names[joint])
            axis.plot(time, target[:, joint], color=f'C{color}', lw=1.0, ls=':')
        _finish(axis, 'joint tracking (dotted: reference)', 'time [s]', 'q [rad, m]')

    def _draw_joints(
        self, axis: Any, time: np.ndarray, values: np.ndarray, title: str, label: str
    ) -> None:
        names = self._body.joint_names
        for color, joint in enumerate(_largest(np.abs(values).max(axis=0))):
            axis.plot(time, values[:, joint], color=f'C{color}', lw=0.8, label=names[joint])
        _finish(axis, title, 'time [s]', label)

    def _draw_path(self, axis: Any, root: np.ndarray) -> None:
        axis.plot(root[:, 0], root[:, 1], lw=1.0)
        axis.plot(*root[0, :2], 'o', color='C2', label='start')
        axis.plot(*root[-1, :2], 's', color='C3', label='end')
        # A root that stays in place is shown as such, not as magnified rounding.
        half = max(0.05, 0.55 * float(np.ptp(root[:, :2], axis=0).max()))
        middle = (root[:, :2].max(axis=0) + root[:, :2].min(axis=0)) / 2.0
        axis.set_xlim(middle[0] - half, middle[0] + half)
        axis.set_ylim(middle[1] - half, middle[1] + half)
        axis.set_aspect('equal')
        _finish(axis, 'path of the root', 'x [m]', 'y [m]')

    def _draw_height(self, axis: Any, time: np.ndarray, root: np.ndarray) -> None:
        axis.plot(time, root[:, 2], color='C0', lw=1.0, label='height [m]')
        x, y = root[:, 3], root[:, 4]
        tilt = np.degrees(np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0)))
        other = axis.twinx()
        other.plot(time, tilt, color='C1', lw=0.8, label='tilt [deg]')
        other.set_ylabel('tilt [deg]', color='C1')
        _finish(axis, 'root height and tilt', 'time [s]', 'z [m]')

    def _draw_forces(self, axis: Any, time: np.ndarray, rows: np.ndarray) -> None:
        for color, sensor in enumerate(self._body.devices_of(ForceSensor)):
            force = rows[:, self._columns[sensor.name]][:, :3]
            axis.plot(time, force[:, 2], color=f'C{color}', lw=0.8, label=f'{sensor.name} z')
        _finish(axis, 'forces', 'time [s]', 'f [N]')


def _largest(size: np.ndarray) -> np.ndarray:
    """Indices of the largest elements, the largest first; those that are 0 are left out."""
    order = np.argsort(-size, kind='stable')[:MAX_JOINTS]
    return order[size[order] > 0.0]


def _finish(axis: Any, title: str, x_label: str, y_label: str) -> None:
    axis.set_title(title)
    axis.set_xlabel(x_label)
    axis.set_ylabel(y_label)
    axis.grid(alpha=0.3)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=7, loc='best')
