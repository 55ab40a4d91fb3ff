"""`cnoid_control render`: a picture or a film of a run, without a display."""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cnoid_control.cli.run_command import add_config_arguments, config_from_arguments, seconds
from cnoid_control.exceptions import CnoidControlError

if TYPE_CHECKING:
    from cnoid_control.viewer.film import FilmParameters

LARGEST = 4096


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        'config',
        metavar='CONFIG|MODEL|LOG.mcap',
        help='a log, or what `run` takes: it is run first, in simulation',
    )
    parser.add_argument('out', metavar='OUT', help='the file: .png, .jpg, .gif or .mp4')
    add_config_arguments(parser)
    parser.add_argument(
        '--duration', metavar='S', type=seconds, help="time to run for [s]; the config's else"
    )
    parser.add_argument('--from', metavar='S', type=seconds, dest='begin', help='first picture')
    parser.add_argument('--to', metavar='S', type=seconds, dest='end', help='last picture')
    parser.add_argument(
        '--at',
        metavar='S[,S...]',
        type=_times,
        default=(),
        help='moments of one picture, each with a robot of its own',
    )
    parser.add_argument(
        '--apart', metavar='M', type=float, default=0.0, help='distance between these robots [m]'
    )
    parser.add_argument(
        '--fps', metavar='N', type=_positive, default=25.0, help='pictures per second (25)'
    )
    parser.add_argument(
        '--speed', metavar='X', type=_positive, default=1.0, help='0.5 for half as fast (1)'
    )
    parser.add_argument(
        '--size', metavar='WxH', type=_size, default=(480, 640), help='pixels (640x480)'
    )
    parser.add_argument(
        '--camera',
        metavar='AZIMUTH,ELEVATION[,DISTANCE]',
        type=_numbers(2, 3),
        default=(34.0, 14.0),
        help='from where it is seen [deg, deg, m]: azimuth from X about Z; the distance fits '
        'where it is left out (34,14)',
    )
    parser.add_argument(
        '--look-at', metavar='X,Y,Z', type=_numbers(3, 3), help='what is looked at [m]; the robot'
    )
    parser.add_argument(
        '--follow',
        action=argparse.BooleanOptionalAction,
        default=None,
        help='whether the camera goes with the robot; where it goes far',
    )
    parser.add_argument(
        '--ghost', metavar='LOG.mcap', action='append', default=[], help='another log, over it'
    )
    parser.add_argument(
        '--renderer',
        choices=('auto', 'gl', 'rays'),
        default='auto',
        help='OpenGL through EGL or OSMesa, or rays, which work everywhere; auto: what there is',
    )


def _numbers(least: int, most: int) -> Callable[[str], tuple[float, ...]]:
    def parse(text: str) -> tuple[float, ...]:
        try:
            values = tuple(float(word) for word in text.split(','))
        except ValueError:
            values = ()
        if not least <= len(values) <= most or not all(map(math.isfinite, values)):
            count = str(least) if least == most else f'{least} or {most}'
            raise argparse.ArgumentTypeError(f'{text!r} is not {count} numbers with commas')
        return values

    return parse


def _times(text: str) -> tuple[float, ...]:
    return tuple(seconds(word) for word in text.split(','))


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r} is not a number above 0')
    return value


def _size(text: str) -> tuple[int, int]:
    width, cross, height = text.partition('x')
    if not cross or not width.isdigit() or not height.isdigit():
        raise argparse.ArgumentTypeError(f'{text!r} is not WIDTHxHEIGHT, such as 640x480')
    if not 16 <= int(width) <= LARGEST or not 16 <= int(height) <= LARGEST:
        raise argparse.ArgumentTypeError(f'{text!r} is not between 16x16 and {LARGEST}x{LARGEST}')
    return int(height), int(width)


def run(args: argparse.Namespace) -> int:
    """Draw the run and say what has drawn it."""
    from rich.console import Console
    from rich.progress import Progress

    from cnoid_control.cli.output_file import check_output
    from cnoid_control.log import RunLog
    from cnoid_control.viewer.film import render
    from cnoid_control.viewer.film_file import FILMS, PICTURES, find_encoder

    out = Path(args.out)
    check_output('OUT', out, PICTURES + FILMS, [args.config, *args.ghost])
    if out.suffix.lower() == '.mp4':
        find_encoder()
    parameters = _parameters(args)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(args.config)
        if path.suffix != '.mcap':
            path = Path(folder) / 'run.mcap'
            _record(args, path)
        elif args.controller or args.option or args.changes or args.hardware or args.duration:
            raise CnoidControlError(
                '--controller, --option, --set, --hardware and --duration are for a '
                f'configuration that is run; {args.config} has run already'
            )
        logs = [RunLog(path), *(RunLog(name) for name in args.ghost)]
        for log in logs:
            if not log.is_complete and log.path != path:
                _tell_cut(log)
        if path == Path(args.config) and not logs[0].is_complete:
            _tell_cut(logs[0])
        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task('drawing', total=None)
            made = render(
                logs,
                out,
                parameters,
                lambda done, total: bar.update(task, completed=done, total=total),
            )
    count = '1 picture' if made.pictures == 1 else f'{made.pictures} pictures'
    print(f'{out}: {count} by {made.renderer}')
    return 0


def _tell_cut(log: object) -> None:
    from rich.console import Console

    from cnoid_control.log import RunLog

    assert isinstance(log, RunLog)
    Console(stderr=True).print(
        f'{log.path} was cut off: it is drawn up to {log.times[-1]:g} s', highlight=False
    )


def _parameters(args: argparse.Namespace) -> FilmParameters:
    from cnoid_control.viewer.film import FilmParameters
    from cnoid_control.viewer.shot import Shot

    azimuth, elevation, *distance = args.camera
    if not -89.0 <= elevation <= 89.0:
        raise CnoidControlError(f'--camera: elevation {elevation:g} is not within -89 and 89 deg')
    if distance and not distance[0] > 0.0:
        raise CnoidControlError(f'--camera: distance {distance[0]:g} is not above 0 m')
    shot = Shot(
        math.radians(azimuth),
        math.radians(elevation),
        distance[0] if distance else 0.0,
        args.look_at,
        args.follow,
        args.size,
    )
    return FilmParameters(
        shot, args.begin, args.end, args.fps, args.speed, args.at, args.apart, args.renderer
    )


def _record(args: argparse.Namespace, path: Path) -> None:
    """Run a configuration into a log."""
    import sys

    from rich.console import Console

    from cnoid_control.cli.progress import RunProgress, StopOnInterrupt
    from cnoid_control.hardware.registry import hardware_kind
    from cnoid_control.runtime.run_files import record_run
    from cnoid_control.simulation import Simulation

    config = config_from_arguments(args)
    if not hardware_kind(config.hardware_type).is_simulated:
        raise CnoidControlError(
            f'hardware {config.hardware_type!r} is not simulated: run it with --log, and draw that'
        )
    duration = args.duration if args.duration is not None else config.parameters.duration
    latest = max([*args.at, args.end or 0.0])
    if args.duration is None and latest:
        duration = latest
    simulation = Simulation(config, record=False, os=sys.stderr)
    record_run(path, simulation.loop, config)
    console = Console(stderr=True)
    progress = RunProgress(simulation.loop, simulation.monitor, duration, console)
    with StopOnInterrupt(simulation.loop.request_stop), progress:
        summary = simulation.complete(duration, False)
    if summary['exit'] == 'failed':
        console.print(f'the run failed: {summary["reason"]}', markup=False, highlight=False)
