"""One page of curves of a run, or of several over each other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cnoid_control.body import JointType
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.viewer.plot_data import RunData
from cnoid_control.viewer.plot_layout import PALETTE, distinct_colors, event_rows, spread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Joints in a panel: of one run, and of each of several.
MAX_JOINTS, MAX_JOINTS_EACH = 6, 4
MAX_FIELDS = 6
STYLES = ('-', '--', ':', '-.')
# What is smaller than this is not shown: it stands still [m], [rad], [N].
LEAST_TRAVEL, LEAST_PATH, LEAST_MOTION, LEAST_FORCE = 0.005, 0.3, 1e-6, 1e-6
# Curves that stay below this share of the largest of their panel lie on its zero line.
LEAST_SHARE = 0.002
# Joints that move by less about a reference that stands still are held [rad], [m].
HELD = 0.05
# Share of a limit from which on it is drawn.
NEAR_LIMIT = 0.5
WIDTH, HEIGHT = 7.2, 2.5
# Names that fit beside a panel of that height, and how far they are apart there.
LABELS, LABEL_DISTANCE = 12, 0.085
# Share of such a panel that a row of names of events takes.
EVENT_ROW = 0.07
AXES = ('#d62728', '#2ca02c', '#1f77b4')


def plot_suffixes() -> list[str]:
    """What the name of a plot may end with."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    return [f'.{kind}' for kind in FigureCanvasAgg.get_supported_filetypes()]


@dataclass(frozen=True)
class Panel:
    """One panel of the page.

    Attributes:
        title: what it shows.
        draw: draws it into axes.
        is_time: whether its x axis is time.
    """

    title: str
    draw: Callable[[Any], None]
    is_time: bool = True


@dataclass
class Curve:
    """One curve, and its name beside it."""

    times: np.ndarray
    values: np.ndarray
    color: str
    style: str = '-'
    label: str = ''
    width: float = 1.1
    alpha: float = 1.0


def save_page(
    runs: Sequence[RunData],
    path: str | Path,
    joints: Sequence[str] = (),
    picture: bool = True,
) -> list[str]:
    """Draw the page into a file: PNG, PDF, SVG or whatever its suffix says.

    Args:
        runs: one run, or several to compare.
        path: the file.
        joints: joints to show; those that say most where empty.
        picture: whether the robot is on the page.

    Returns:
        Titles of the panels.

    Raises:
        CnoidControlError: there is no such joint, or the file cannot be written.
    """
    figure, panels = make_figure(runs, joints, picture)
    if not panels:
        raise CnoidControlError(
            f'{path}: nothing moved, and nothing was sent: no curve says anything'
        )
    try:
        figure.savefig(path, dpi=110)
    except (OSError, ValueError) as error:
        raise CnoidControlError(f'{path} cannot be written: {error}') from error
    return panels


def make_figure(
    runs: Sequence[RunData], joints: Sequence[str] = (), picture: bool = True
) -> tuple[Figure, list[str]]:
    """Draw the page as a figure; its arguments are those of `save_page`.

    Returns:
        The figure, and the titles of its panels.
    """
    # The canvas is used directly so that no display and no global state is involved.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    page = PlotPage(runs, joints)
    panels = page.panels()
    if picture:
        panels.append(Panel('the robot at the end', page.draw_robot, is_time=False))
    rows = max(1, (len(panels) + 1) // 2)
    figure = Figure(figsize=(2 * WIDTH, page.height * rows + 0.9), layout='constrained')
    FigureCanvasAgg(figure)
    figure.suptitle(page.title, fontsize=12, ha='left', x=0.01)
    page.add_legend(figure)
    places = figure.subplots(rows, 2, squeeze=False).ravel()
    for place, panel in zip(places, panels, strict=False):
        panel.draw(place)
        place.set_title(panel.title, fontsize=10, loc='left')
        if panel.is_time:
            page.finish_time(place)
    for place in places[len(panels) :]:
        place.set_axis_off()
    return figure, [panel.title for panel in panels]


class PlotPage:
    """Chooses the panels that say something, and draws them.

    Attributes:
        title: what the page is of.
        colors: colour of each joint, throughout the page.
        height: of a panel with all names beside it [in].
    """

    def __init__(self, runs: Sequence[RunData], joints: Sequence[str] = ()) -> None:
        """Choose the joints.

        Args:
            runs: the runs.
            joints: joints to show; those that say most where empty.

        Raises:
            CnoidControlError: there is no such joint.
        """
        self._runs = list(runs)
        self._names = list(runs[0].body.joint_names)
        for name in joints:
            if name not in self._names:
                raise CnoidControlError(f'unknown joint {name!r}; {choices(self._names)}')
        self._given = list(joints)
        self._most = MAX_JOINTS if len(self._runs) == 1 else MAX_JOINTS_EACH
        self._chosen = {kind: self._largest(kind) for kind in ('q', 'error', 'u', 'effort')}
        shown = dict.fromkeys(name for names in self._chosen.values() for name in names)
        ordered = sorted(shown, key=self._names.index)
        self.colors = dict(zip(ordered, distinct_colors(len(ordered)), strict=True))
        names = max(len(chosen) for chosen in self._chosen.values())
        self.height = HEIGHT * max(1.0, names / LABELS)
        begin = min(run.times[0] for run in self._runs)
        end = max(run.times[-1] for run in self._runs)
        self._span = (begin, end if end > begin else begin + 1e-3)
        self._event_rows = event_rows(self._runs[0].events, self._span)
        self.title = self._make_title()

    def _make_title(self) -> str:
        run = self._runs[0]
        span = f'{run.times[0]:g} to {run.times[-1]:g} s'
        if len(self._runs) == 1:
            cut = '' if run.log.is_complete else ', cut off'
            return f'{run.log.name} ({run.body.name}), {span}, {run.log.ticks} ticks{cut}'
        return f'{run.body.name}, {span}'

    def add_legend(self, figure: Any) -> None:
        """Say which log has which kind of line, where there are several."""
        from matplotlib.lines import Line2D

        if len(self._runs) > 1:
            lines = [
                Line2D([], [], color='black', ls=self._style(run), label=run.label)
                for run in self._runs
            ]
            figure.legend(handles=lines, loc='upper right', ncols=len(lines), fontsize=9)

    def _largest(self, kind: str) -> list[str]:
        """Joints whose curves say most, in the order of the joints."""
        size = np.zeros(len(self._names))
        for run in self._runs:
            values = run.joints.get(kind)
            if values is None or not self._fits(run):
                continue
            spread = np.ptp(values, axis=0) if kind == 'q' else np.abs(values).max(axis=0)
            size = np.maximum(size, np.nan_to_num(spread, nan=np.inf))
        if self._given:
            return [name for name in self._given if size[self._names.index(name)] > LEAST_MOTION]
        order = np.argsort(-size, kind='stable')[: self._most]
        finite = size[np.isfinite(size)]
        least = max(LEAST_MOTION, LEAST_SHARE * float(finite.max(initial=0.0)))
        chosen = [int(joint) for joint in order if size[joint] > least]
        return [self._names[joint] for joint in sorted(chosen)]

    def _fits(self, run: RunData) -> bool:
        """Whether a run is of the same joints as the first one."""
        return list(run.body.joint_names) == self._names

    def _style(self, run: RunData) -> str:
        return STYLES[self._runs.index(run) % len(STYLES)]

    # --- panels -------------------------------------------------------------------------------

    def panels(self) -> list[Panel]:
        """Panels that say something, in the order of the page."""
        found = []
        if self._chosen['q'] and not self._only_holds():
            dotted = '; dotted: reference' if len(self._runs) == 1 else ''
            found.append(Panel(f'joints: position{dotted}', self._draw_positions))
        if self._chosen['error'] and not self._has_no_reference():
            found.append(Panel('joints: tracking error', self._joint_panel('error', 'q - q_ref')))
        if self._chosen['u']:
            dashed = '; dashed: limit' if self._comes_near_limits() else ''
            found.append(Panel(f'joints: effort sent{dashed}', self._joint_panel('u', 'u')))
        if self._chosen['effort']:
            found.append(Panel('joints: effort measured', self._joint_panel('effort', 'u')))
        found += self._base_panels()
        for kind, title, unit in (
            ('tasks', 'tasks: norm of the error', 'm, rad'),
            ('fields', 'logged by the controller', ''),
        ):
            if any(getattr(run, kind) for run in self._runs):
                found.append(Panel(title, self._series_panel(kind, unit)))
        forces = [values for run in self._runs for _, values in run.forces.values()]
        if any(np.abs(values[:, 2]).max() > LEAST_FORCE for values in forces):
            found.append(Panel('force sensors: normal force', self._draw_forces))
        return found

    def _only_holds(self) -> bool:
        """Whether the joints are held where they are, so that their errors say everything."""
        moved = max(float(np.ptp(run.joints['q'], axis=0).max()) for run in self._runs)
        return moved < HELD and not self._is_reference_moving()

    def _has_no_reference(self) -> bool:
        """Whether nothing is commanded, so that errors are the positions once more."""
        sent = bool(self._chosen['u'])
        return not sent and not self._only_holds() and not self._is_reference_moving()

    def _is_reference_moving(self) -> bool:
        return any(
            np.ptp(run.joints['q_target'], axis=0).max() > LEAST_MOTION for run in self._runs
        )

    def _base_panels(self) -> list[Panel]:
        moving = [run for run in self._runs if not run.body.is_fixed_root]
        if not moving:
            return []
        found = []
        travel = max(float(np.ptp(run.root['position'], axis=0).max()) for run in moving)
        path = max(float(np.ptp(run.root['position'][:, :2], axis=0).max()) for run in moving)
        if travel > LEAST_TRAVEL:
            found.append(
                Panel('base: position', self._axes_panel('position', ('x', 'y', 'z'), 'm'))
            )
        tilts = self._axes_panel('rpy', ('roll', 'pitch'), 'deg')
        found.append(Panel('base: roll and pitch', tilts))
        if path > LEAST_PATH:
            names = ('forwards [m/s]', 'left [m/s]', 'turn [rad/s]')
            found.append(
                Panel('base: velocity in its heading', self._axes_panel('velocity', names, ''))
            )
            found.append(Panel('base: path from above', self._draw_path, is_time=False))
        return found

    def _draw_positions(self, axes: Any) -> None:
        curves = []
        for run in filter(self._fits, self._runs):
            for name in self._chosen['q']:
                joint, color = self._names.index(name), self.colors[name]
                values = run.joints['q'][:, joint]
                if len(self._runs) == 1:
                    target = run.joints['q_target'][:, joint]
                    curves.append(Curve(run.times, target, color, ':', alpha=0.8))
                label = name if run is self._runs[0] else ''
                curves.append(Curve(run.times, values, color, self._style(run), label))
        self._draw_curves(axes, curves, f'q [{self._unit("q")}]')

    def _joint_panel(self, kind: str, label: str) -> Callable[[Any], None]:
        def draw(axes: Any) -> None:
            curves = []
            for run in filter(self._fits, self._runs):
                if kind not in run.joints:
                    continue
                for name in self._chosen[kind]:
                    joint, color = self._names.index(name), self.colors[name]
                    values = run.joints[kind][:, joint]
                    named = name if run is self._runs[0] else ''
                    curves.append(Curve(run.times, values, color, self._style(run), named))
                    if kind == 'u':
                        for limit in _reached(run, joint):
                            axes.axhline(limit, color=color, lw=0.8, ls=(0, (6, 3)), alpha=0.6)
            self._draw_curves(axes, curves, f'{label} [{self._unit(kind)}]')

        return draw

    def _comes_near_limits(self) -> bool:
        return any(
            _reached(run, self._names.index(name))
            for run in filter(self._fits, self._runs)
            for name in self._chosen['u']
        )

    def _unit(self, kind: str) -> str:
        """Unit of a panel's joints."""
        joints = [self._runs[0].body.joint(name) for name in self._chosen[kind]]
        slide = {joint.joint_type is JointType.PRISMATIC for joint in joints}
        units = ('rad', 'm') if kind in ('q', 'error') else ('N m', 'N')
        return ', '.join(units[slides] for slides in sorted(slide))

    def _axes_panel(self, kind: str, names: tuple[str, ...], unit: str) -> Callable[[Any], None]:
        def draw(axes: Any) -> None:
            curves = []
            for run in self._runs:
                for i, name in enumerate(names):
                    label = name if run is self._runs[0] else ''
                    values = run.root[kind][:, i]
                    curves.append(Curve(run.times, values, AXES[i], self._style(run), label))
            self._draw_curves(axes, curves, f'[{unit}]' if unit else '')

        return draw

    def _series_panel(self, kind: str, unit: str) -> Callable[[Any], None]:
        def draw(axes: Any) -> None:
            names = dict.fromkeys(name for run in self._runs for name in getattr(run, kind))
            curves, colors = [], itertools.cycle(PALETTE)
            for name in list(names)[:MAX_FIELDS]:
                there = [run for run in self._runs if name in getattr(run, kind)]
                size = max(getattr(run, kind)[name][1].shape[1] for run in there)
                for column, color in zip(range(size), colors, strict=False):
                    label = f'{name}[{column}]' if size > 1 else name
                    for run in there:
                        times, values = getattr(run, kind)[name]
                        if column < values.shape[1]:
                            curves.append(
                                Curve(times, values[:, column], color, self._style(run), label)
                            )
                            # Each element has one line in the legend.
                            label = ''
            self._draw_curves(axes, curves, f'[{unit}]' if unit else '')

        return draw

    def _draw_forces(self, axes: Any) -> None:
        curves = []
        names = dict.fromkeys(name for run in self._runs for name in run.forces)
        for number, name in enumerate(names):
            for run in self._runs:
                if name in run.forces:
                    times, values = run.forces[name]
                    label = name if run is self._runs[0] else ''
                    color = PALETTE[number % len(PALETTE)]
                    curves.append(Curve(times, values[:, 2], color, self._style(run), label, 0.9))
        self._draw_curves(axes, curves, 'f_z [N]')

    def _draw_path(self, axes: Any) -> None:
        for run in self._runs:
            x, y = run.root['position'][:, 0], run.root['position'][:, 1]
            axes.plot(x, y, color=AXES[2], lw=1.1, ls=self._style(run))
            axes.plot(x[0], y[0], 'o', color='black', ms=4)
            axes.plot(x[-1], y[-1], 's', color='black', ms=4)
            axes.annotate(' start', (x[0], y[0]), fontsize=8, va='bottom')
            axes.annotate(' end', (x[-1], y[-1]), fontsize=8, va='bottom')
        # Room for the words beside the ends.
        axes.margins(x=0.1, y=0.1)
        axes.set_aspect('equal', adjustable='datalim')
        axes.set_xlabel('x [m]', fontsize=8)
        axes.set_ylabel('y [m]', fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.3)

    def draw_robot(self, axes: Any) -> None:
        """Draw the robot in its last posture; one that moved, as a ghost where it began."""
        axes.set_axis_off()
        run = self._runs[0]
        try:
            from cnoid_control.hardware.mujoco.picture import open_drawer
            from cnoid_control.hardware.mujoco.picture_scene import PictureScene
            from cnoid_control.hardware.mujoco.picture_view import View

            body = run.log.body()
            run.log.put(body, run.log.tick_at(float(run.times[-1])))
            if not np.isfinite(body.configuration).all():
                raise HardwareError('it is nowhere: its state is not finite')
            scene = PictureScene([body])
            view = View.framing(scene.corners(), size=(360, 1000))
            drawer = open_drawer(scene, size=view.size)
            try:
                axes.imshow(drawer.draw(view))
            finally:
                drawer.close()
        except (ImportError, HardwareError) as error:
            # Curves are worth having without a picture.
            axes.text(0.5, 0.5, f'no picture: {error}', ha='center', wrap=True, fontsize=8)

    def finish_time(self, axes: Any) -> None:
        """Mark what happened, and have all panels show the same time."""
        axes.set_xlabel('time [s]', fontsize=8)
        axes.set_xlim(*self._span)
        for (time, what), row in zip(self._runs[0].events, self._event_rows, strict=True):
            axes.axvline(time, color='0.4', lw=0.8, ls=(0, (2, 2)))
            if row is None:
                continue
            axes.annotate(
                what,
                (time, 1.0 - EVENT_ROW * row * HEIGHT / self.height),
                xycoords=('data', 'axes fraction'),
                xytext=(2, -2),
                textcoords='offset points',
                va='top',
                fontsize=6,
                color='0.35',
            )

    def _draw_curves(self, axes: Any, curves: Sequence[Curve], label: str) -> None:
        """Draw curves with their names beside them, below the names of the events."""
        for curve in curves:
            axes.plot(
                curve.times,
                curve.values,
                color=curve.color,
                ls=curve.style,
                lw=curve.width,
                alpha=curve.alpha,
            )
        axes.set_ylabel(label, fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.3)
        axes.margins(y=0.08)
        low, high = axes.get_ylim()
        rows = 1 + max((row for row in self._event_rows if row is not None), default=-1)
        high = low + (high - low) / (1.0 - EVENT_ROW * rows * HEIGHT / self.height)
        axes.set_ylim(low, high)
        named = [curve for curve in curves if curve.label and len(curve.values)]
        ends = [(float(np.nan_to_num(curve.values[-1])) - low) / (high - low) for curve in named]
        apart = LABEL_DISTANCE * HEIGHT / self.height
        for curve, height in zip(named, spread(ends, apart), strict=True):
            axes.annotate(
                curve.label,
                (1.0, height),
                xycoords='axes fraction',
                xytext=(4, 0),
                textcoords='offset points',
                va='center',
                fontsize=7.5,
                color=curve.color,
                annotation_clip=False,
            )


def _reached(run: RunData, joint: int) -> list[float]:
    """Limits of a joint's effort that it comes near to."""
    values = run.joints['u'][:, joint]
    upper, lower = float(run.body.u_upper[joint]), float(run.body.u_lower[joint])
    found = []
    if 0.0 < upper < np.inf and values.max() > NEAR_LIMIT * upper:
        found.append(upper)
    if -np.inf < lower < 0.0 and values.min() < NEAR_LIMIT * lower:
        found.append(lower)
    return found
