"""A picture of what the framework costs a tick as robots grow in size and number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cnoid_control.bench.growth import Case, exponent, tick_times
from cnoid_control.bench.rows_growth import DEVICES, JOINTS, ROBOTS, USUAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ('#3b7dd8', '#d1495b', '#edae49')
PHYSICS = '#8d99ae'


def draw_growth(path: str | Path) -> None:
    """Measure all sizes and draw them into a picture file."""
    # The canvas is used directly so that no display and no global state is involved.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    sizes = {devices: [Case(joints, devices) for joints in JOINTS] for devices in DEVICES}
    crowds = [USUAL._replace(robots=robots) for robots in ROBOTS]
    cases = dict.fromkeys([case for row in sizes.values() for case in row] + crowds)
    times = tick_times(list(cases))
    figure = Figure(figsize=(9.0, 3.6), layout='constrained')
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for (devices, row), colour in zip(sizes.items(), COLOURS, strict=True):
        _line(
            left, JOINTS, [times[case][0] for case in row], f'framework, {devices} devices', colour
        )
    _line(left, JOINTS, [times[case][1] for case in sizes[7]], 'physics, 7 devices', PHYSICS)
    left.set_title('one robot', fontsize=9)
    left.set_xlabel('joints', fontsize=8)
    name = f'framework, {USUAL.joints} joints and {USUAL.devices} devices each'
    _line(right, ROBOTS, [times[case][0] for case in crowds], name, COLOURS[1])
    _line(right, ROBOTS, [times[case][1] for case in crowds], 'physics', PHYSICS)
    right.set_title('robots in one world', fontsize=9)
    right.set_xlabel('robots', fontsize=8)
    for axes, ticks in ((left, JOINTS), (right, ROBOTS)):
        axes.set_xscale('log')
        axes.set_yscale('log')
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter('{x:g}')
        axes.set_ylabel('time a tick [µs]', fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    figure.savefig(path, dpi=110)


def _line(axes: Axes, sizes: tuple[int, ...], times: list[float], name: str, colour: str) -> None:
    """Times over sizes, with the exponent of their fit."""
    label = f'{name}: exponent {exponent(sizes, times):.2f}'
    axes.plot(sizes, times, marker='o', markersize=4, color=colour, label=label)
