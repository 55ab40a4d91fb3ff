"""Runs the demonstration with G1: `python -m cnoid_control.demo.g1`."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

import cnoid_control.demo.g1
from cnoid_control.catalog.fetch import fetch
from cnoid_control.catalog.models import cached_model
from cnoid_control.catalog.table import ITEMS
from cnoid_control.demo.g1 import story
from cnoid_control.demo.g1.track import Row, Track
from cnoid_control.demo.process import DemoFailed, exit_status


def run(out: Path, dance: float, dds_dance: float, with_dds: bool) -> None:
    """Get the robot, play the story in one process and through DDS, and show what happened.

    Args:
        out: folder for the results.
        dance: length of the dance in one process [s].
        dds_dance: the same through DDS [s].
        with_dds: whether to play it through DDS, too.

    Raises:
        CnoidControlError: robot or policies cannot be had, or something is not as it should be.
    """
    get()
    from cnoid_control.demo.g1 import report
    from cnoid_control.demo.g1.embedded import EmbeddedStory
    from cnoid_control.simulation import load_robot

    out.mkdir(parents=True, exist_ok=True)
    body = load_robot(story.ROBOT)
    print('in one process: MuJoCo, loop and networks', flush=True)
    embedded = EmbeddedStory(steps_of(dance)).play()
    columns: dict[str, list[Row]] = {'one process': embedded.rows}
    tracks: dict[str, Track] = {'one process': embedded.track}
    dances = {'one process': embedded.dance}
    killed = float('nan')
    if with_dds:
        from cnoid_control.demo.g1.through_dds import DdsStory

        print('through DDS: robot, node and heartbeat monitor, in lock-step', flush=True)
        through = DdsStory(out, body.joint_names, steps_of(dds_dance)).play()
        columns['DDS'], tracks['DDS'], dances['DDS'] = through.rows, through.track, through.dance
        killed = through.killed
    report.print_table(columns)
    print('drawing, ray by ray', flush=True)
    picture, plot = out / 'g1.png', out / 'g1_demo.png'
    report.save_picture(picture, body, embedded.track, embedded.dance)
    report.save_plot(plot, tracks, dances, killed)
    print(f'picture: {picture}   plot: {plot}   logs: {out / "log"}')
    wrong = report.failures(columns)
    if wrong:
        raise DemoFailed('not as it should be: ' + '; '.join(wrong))


def steps_of(dance: float) -> int:
    """Number of inferences of a dance of so many seconds."""
    return max(1, min(story.DANCE_STEPS, round(dance / story.PERIOD)))


def get() -> None:
    """Have robot and policies in the cache.

    Raises:
        CnoidControlError: they are not there, and cannot be downloaded.
    """
    for name in story.NEEDED:
        if cached_model(name) is None:
            wheel = ITEMS[name].wheel
            size = wheel.size / 1e6
            print(f'getting {name} ({wheel.project} {wheel.version}, {size:.0f} MB)', flush=True)
        fetch(ITEMS[name])


def main() -> int:
    """Run the demonstration; the exit status is 1 where it failed, 130 where it was ended."""
    parser = argparse.ArgumentParser(
        prog='python -m cnoid_control.demo.g1', description=cnoid_control.demo.g1.__doc__
    )
    longest = story.DANCE_STEPS * story.PERIOD
    parser.add_argument('--out', type=Path, default=Path('out'), help='folder for the results')
    parser.add_argument('--dance', type=float, default=longest, help='time of the dance [s]')
    parser.add_argument('--dds-dance', type=float, default=10.0, help='the same through DDS [s]')
    parser.add_argument('--no-dds', action='store_true', help='in one process alone')
    given = parser.parse_args()
    # What is assumed in G1's file is of no interest here.
    logging.getLogger('cnoid_control').setLevel(logging.ERROR)
    return exit_status(
        'demo-g1', lambda: run(given.out, given.dance, given.dds_dance, not given.no_dds)
    )


if __name__ == '__main__':
    sys.exit(main())
