"""Results: a table, a picture and a plot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cnoid_control.demo.g1 import story
from cnoid_control.demo.robot_sample import set_state

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cnoid_control.body import Body
    from cnoid_control.demo.g1.track import Row, Track

# Moments of the picture: seconds from the start, then shares of the dance.
MOMENTS, DANCE_MOMENTS = (1.0, 4.2), (0.1, 0.3, 0.55, 0.8)
# Distance between two robots in the picture [m].
APART = 0.9
# Window of the mean velocity in the plot [s].
WINDOW = 1.0


def print_table(columns: dict[str, list[Row]]) -> None:
    """Print what was seen.

    Args:
        columns: lines by the way in which the story was played.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(title='G1')
    table.add_column('')
    for name in columns:
        table.add_column(name, justify='right')
    table.add_column('expected', justify='right')
    by_name = {name: {row.what: row for row in rows} for name, rows in columns.items()}
    for what in merged([list(rows) for rows in by_name.values()]):
        rows = [by_name[name].get(what) for name in columns]
        cells = ['' if row is None else _cell(row) for row in rows]
        expected = next(row.expected for row in rows if row is not None)
        table.add_row(what, *cells, expected)
    Console().print(table)


def failures(columns: dict[str, list[Row]]) -> list[str]:
    """What is not as expected, with the way in which it was played."""
    return [f'{name}: {row.what}' for name, rows in columns.items() for row in rows if not row.ok]


def _cell(row: Row) -> str:
    return row.seen if row.ok else f'[bold red]{row.seen} ✗[/bold red]'


def merged(lists: list[list[str]]) -> list[str]:
    """Names of several lists, each once, such that every list keeps its order."""
    names: list[str] = []
    for one in lists:
        place = 0
        for name in one:
            if name in names:
                place = names.index(name) + 1
            else:
                names.insert(place, name)
                place += 1
    return names


def save_picture(path: Path, body: Body, track: Track, dance: tuple[float, float]) -> None:
    """Draw the robot at several moments of the story, beside each other.

    Args:
        path: file to write.
        body: the robot.
        track: its way.
        dance: when the dance began and ended [s].
    """
    from cnoid_control.hardware.mujoco.picture import save_picture as draw
    from cnoid_control.hardware.mujoco.picture_view import View

    begin, end = dance
    moments = [*MOMENTS, *(begin + share * (end - begin) for share in DANCE_MOMENTS)]
    bodies = []
    for place, moment in enumerate(moments):
        seen = body.clone()
        set_state(seen, track.at(moment))
        root = seen.root_link
        root.p = np.array([0.0, APART * place, root.p[2]])
        seen.calc_forward_kinematics()
        bodies.append(seen)
    middle = 0.5 * APART * (len(moments) - 1)
    view = View((15.0, middle, 2.4), (0.0, middle, 0.65), field_of_view=0.13, size=(280, 800))
    draw(path, bodies, view)


def save_plot(
    path: Path, tracks: dict[str, Track], dances: dict[str, tuple[float, float]], killed: float
) -> None:
    """Plot speed, height and tilt over time.

    Args:
        path: file to write.
        tracks: the robot's way, by the way in which the story was played.
        dances: when the dance began and ended [s], likewise.
        killed: when the node was killed [s]; not finite where it was not.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3 * len(tracks) + 1.5), layout='constrained')
    FigureCanvasAgg(figure)
    rows = figure.subplots(len(tracks), 2, squeeze=False)
    for (name, track), (left, right) in zip(tracks.items(), rows, strict=True):
        speed = _speeds(track)
        left.plot(track.times, speed, label='speed forward')
        left.plot(track.times, _commands(track, dances[name]), 'k--', lw=0.8, label='commanded')
        left.set_ylabel('speed [m/s]')
        left.legend(loc='lower right', fontsize='small')
        right.plot(track.times, track.tilts, color='C1')
        right.set_ylabel('tilt [deg]')
        above = right.twinx()
        above.plot(track.times, track.positions[:, 2], color='C2')
        above.set_ylabel('height of the pelvis [m]', color='C2')
        ends = killed if name != next(iter(tracks)) or len(tracks) == 1 else np.nan
        for axes in (left, right):
            _mark(axes, dances[name], ends)
            axes.set_title(name)
            axes.set_xlabel('simulated time [s]')
            axes.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def _speeds(track: Track) -> np.ndarray:
    """Mean velocity forward in a window around each time [m/s]."""
    half = 0.5 * WINDOW
    return np.array([track.forward(moment - half, moment + half) for moment in track.times])


def _commands(track: Track, dance: tuple[float, float]) -> np.ndarray:
    """Commanded velocity at each time [m/s]; not a number in the dance, which has none."""
    times, (begin, end) = track.times, dance
    walks = ((times >= story.WALK) & (times < story.STOP)) | (times >= end + story.STAND_AGAIN)
    commands = np.where(walks, story.SPEED, 0.0)
    commands[(times >= begin) & (times < end)] = np.nan
    return commands


def _mark(axes: Axes, dance: tuple[float, float], killed: float) -> None:
    axes.axvspan(*dance, color='C4', alpha=0.15)
    marks = {'push': story.PUSH, 'swap': story.SWAP, 'dance': dance[0], 'killed': killed}
    for name, moment in marks.items():
        if np.isfinite(moment):
            axes.axvline(moment, color='0.4', lw=0.8)
            axes.text(
                moment,
                0.98,
                f' {name}',
                transform=axes.get_xaxis_transform(),
                rotation=90,
                va='top',
                ha='left',
                fontsize='x-small',
            )
