"""Make the pictures of README and docs: recorded runs by `cnoid_control render`, and measurements.

python tools/pictures.py [NAME ...]
"""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cnoid_control.cli.main import main as cnoid_control
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.config import RunConfig, load_config, parse_config
from cnoid_control.runtime.run_files import record_run
from cnoid_control.simulation import Simulation

IMAGES = Path(__file__).resolve().parent.parent / 'docs' / 'images'


@dataclass(frozen=True)
class Picture:
    """A run and how it is drawn.

    Attributes:
        config: makes the configuration.
        duration: time to run for [s].
        words: what `render` is told.
        push: time, link, force [N] and duration of a push; None for none.
    """

    config: Callable[[], RunConfig]
    duration: float
    words: tuple[str, ...]
    push: tuple[float, str, tuple[float, float, float], float] | None = None


def g1_walk() -> RunConfig:
    """G1 by a policy of others, which walks from two seconds on."""
    from cnoid_control.demo.g1 import story

    return parse_config(story.configuration(1), 'g1_walk')


def g1_push() -> tuple[float, str, tuple[float, float, float], float]:
    """The push of `make demo-g1`."""
    from cnoid_control.demo.g1 import story

    x, y, z = story.FORCE
    return story.PUSH, story.PUSHED, (x, y, z), story.PUSH_TIME


PICTURES = {
    'sr1_walk.png': Picture(
        lambda: load_config('sr1_walk'),
        10.5,
        ('--at', '3.3,5.65,8.0,10.35', '--apart', '0.85', '--size', '900x420', '--camera=-20,12'),
    ),
    'trotter_walk.png': Picture(
        lambda: load_config('trotter_walk'),
        5.4,
        ('--at', '0.5,2.1,3.72,5.3', '--apart', '0.55', '--size', '900x290', '--camera=-28,16'),
    ),
    'g1_push.png': Picture(
        g1_walk,
        12.0,
        ('--at', 'MOMENTS', '--apart', '0.9', '--size', '900x420', '--camera=-25,10'),
        g1_push(),
    ),
    'g1_push.gif': Picture(
        g1_walk,
        12.0,
        ('--from', 'BEGIN', '--to', 'END', '--fps', '8', '--size', '320x240', '--camera=-50,12'),
        g1_push(),
    ),
}


def draw_growth(path: Path) -> None:
    """What the framework costs as robots grow in size and number."""
    from cnoid_control.bench.growth_plot import draw_growth

    draw_growth(path)


# What is no run.
DRAWINGS: dict[str, Callable[[Path], None]] = {'growth.png': draw_growth}


def record(path: Path, picture: Picture) -> None:
    """Run into a log."""
    config = picture.config()
    with Simulation(config, record=False, os=io.StringIO()) as simulation:
        record_run(path, simulation.loop, config)
        if picture.push is not None:
            time, link, force, duration = picture.push
            simulation.run(time)
            simulation.push(link, force, duration)
            simulation.run(picture.duration - time)
        else:
            simulation.run(picture.duration)


def words_of(picture: Picture) -> list[str]:
    """What `render` is told, with the times about the push put in."""
    time = picture.push[0] if picture.push is not None else 0.0
    moments = ','.join(f'{time + after:g}' for after in (-2.0, 0.25, 0.7, 2.0))
    given = {'MOMENTS': moments, 'BEGIN': f'{time - 0.6:g}', 'END': f'{time + 1.8:g}'}
    return [given.get(word, word) for word in picture.words]


def main(names: list[str]) -> int:
    """Make the pictures of these names, or all."""
    for name in names or [*PICTURES, *DRAWINGS]:
        if name in DRAWINGS:
            DRAWINGS[name](IMAGES / name)
            continue
        picture = PICTURES[name]
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / 'run.mcap'
            try:
                record(log, picture)
            except CnoidControlError as error:
                print(f'{name}: left out: {error}')
                continue
            cnoid_control(['render', str(log), str(IMAGES / name), *words_of(picture)])
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
