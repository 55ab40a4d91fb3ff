"""Live plots beside the picture, and the list of the limits that act."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cnoid_control.body import Body
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.history import Curves, History, is_number

# Wall-clock time between two updates of the plots, and for which an acting limit is listed [s].
UPDATE_PERIOD, LIMIT_TIME = 0.15, 1.0
COLORS = ('#1f77b4', '#d62728', '#2ca02c', '#ff7f0e', '#9467bd', '#8c564b', '#e377c2', '#17becf')
NOTHING = '(nothing logged yet)'
HEIGHT = 190
# Values that differ by less are multiplied.
LEAST_SPREAD = 0.02


class _Chart:
    """One plot: made when it is switched on, fed while it is on."""

    def __init__(self, gui: Any, label: str, hint: str, curves: Callable[[], Curves]) -> None:
        self._gui = gui
        self._curves = curves
        self._label = label
        self._plot: Any = None
        self._names: tuple[str, ...] = ()
        self._folder: Any = None
        self.switch = gui.add_checkbox(label, False, hint=hint)

    def add_folder(self) -> None:
        """Add the place where it is shown, behind everything that was added before."""
        self._folder = self._gui.add_folder(self._label, visible=False)
        self.switch.on_update(lambda _: setattr(self._folder, 'visible', self.switch.value))

    def update(self) -> None:
        """Show the present curves."""
        if not self.switch.value:
            return
        curves = self._curves()
        names = tuple(curves.y)
        if len(curves.x) < 2 or not names:
            return
        values = np.array(list(curves.y.values()), dtype=float)
        power = readable_power(values)
        title = curves.title if not power else f'{curves.title} * 1e{power}'
        data = (curves.x, *(values / 10.0**power))
        if self._plot is not None and (title, *names) == self._names:
            self._plot.data = data
            return
        if self._plot is not None:
            self._plot.remove()
        self._names = (title, *names)
        with self._folder:
            self._plot = self._gui.add_uplot(
                data,
                (
                    {'label': 't [s]'},
                    *(
                        {'label': name, 'stroke': COLORS[i % len(COLORS)], 'width': 1.5}
                        for i, name in enumerate(names)
                    ),
                ),
                title=title,
                scales={'x': {'time': False}},
                height=HEIGHT,
            )


def readable_power(values: np.ndarray) -> int:
    """Power of ten to divide values by: axes are written with three digits behind the point."""
    finite = values[np.isfinite(values)]
    spread = float(np.ptp(finite)) if finite.size else 0.0
    if spread == 0.0 or spread >= LEAST_SPREAD:
        return 0
    return 3 * int(np.floor(np.log10(spread / LEAST_SPREAD) / 3.0))


class LivePlots:
    """Plots of the last seconds, each switched on where it is wanted.

    Attributes:
        history: what they show.
    """

    def __init__(self, server: Any, body: Body) -> None:
        """Add them to the panel that is open.

        Args:
            server: viser's server.
            body: the robot.
        """
        self.history = History(body)
        self._gui = gui = server.gui
        self._next = 0.0
        # Frames come in one thread, what somebody chooses in another.
        self._lock = threading.Lock()
        joints = [joint for joint in body.joints if joint.joint_type.is_joint]
        self._ids = {joint.joint_name: joint.joint_id for joint in joints}
        self._limits = LimitList(gui)
        self._window = gui.add_slider('seconds', min=2.0, max=60.0, step=1.0, initial_value=10)
        self._joint = gui.add_dropdown('joint', list(self._ids) or ['(no joint)'])
        self._value = gui.add_dropdown('logged value', [NOTHING])
        self.charts = [*(self._joint_charts() if self._ids else []), *self._other_charts()]
        for chart in self.charts:
            chart.add_folder()
        for chooser in (self._joint, self._value, self._window):
            chooser.on_update(lambda _: self._update())

    def _joint_charts(self) -> list[_Chart]:
        gui, history = self._gui, self.history
        return [
            _Chart(
                gui,
                'joint tracking',
                'displacement of the joint, and its target',
                lambda: history.tracking(self._ids[self._joint.value], self._window.value),
            ),
            _Chart(
                gui,
                'torque against limit',
                'effort of the joint, and its limits',
                lambda: history.effort(self._ids[self._joint.value], self._window.value),
            ),
        ]

    def _other_charts(self) -> list[_Chart]:
        gui, history = self._gui, self.history
        return [
            _Chart(
                gui,
                'loop time and jitter',
                'from reading to commanding, and from tick to tick; mean and longest',
                lambda: history.loop_time(self._window.value),
            ),
            _Chart(
                gui,
                'task errors',
                'norm of the error of each task',
                lambda: history.task_errors(self._window.value),
            ),
            _Chart(
                gui,
                'logged values',
                'what the controller logs by io.log under the name chosen',
                lambda: history.logged(self._value.value, self._window.value),
            ),
        ]

    def show(self, frame: Frame) -> None:
        """Take a frame in; the plots follow a few times per second."""
        self.history.add(frame)
        self._limits.show(frame)
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + UPDATE_PERIOD
        self._offer(self.history.log_names())
        self._update()

    def _offer(self, names: list[str]) -> None:
        """Have what is logged now in the choice."""
        if names and tuple(names) != tuple(self._value.options):
            chosen = self._value.value
            self._value.options = names
            if chosen in names:
                self._value.value = chosen

    def _update(self) -> None:
        with self._lock:
            for chart in self.charts:
                chart.update()


class LimitList:
    """Which limits and constraints act now, joint by joint."""

    def __init__(self, gui: Any) -> None:
        """Add the folder."""
        self._seen: dict[str, float] = {}
        with gui.add_folder('Limits that act'):
            self._text = gui.add_markdown('')
        self._last = '?'
        self.show(Frame())

    def show(self, frame: Frame) -> None:
        """List what acts; it stays in the list for a second, so that it can be read."""
        now = time.monotonic()
        for sentence in acting(frame):
            self._seen[sentence] = now
        self._seen = {what: at for what, at in self._seen.items() if now - at < LIMIT_TIME}
        text = '\n'.join(f'- {sentence}' for sentence in sorted(self._seen)) or 'No limit acts.'
        if text != self._last:
            self._last = text
            self._text.content = text


def acting(frame: Frame) -> list[str]:
    """Limits and constraints that act in a frame, one line each."""
    lines = [f'{joint}: {kind}' for kind, names in frame.limited.items() for joint in names]
    for name, value in frame.log.items():
        controller, _, key = name.partition('/')
        if key.startswith('limited_by.') and is_number(value) and value.any():
            lines.append(f'{key.removeprefix("limited_by.")} (constraint of {controller})')
    return lines
