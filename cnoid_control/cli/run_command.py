"""`cnoid_control run`: a controller on a robot, from a configuration."""

from __future__ import annotations

import argparse
import contextlib
import math
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnoid_control.cli.json_output import print_object
from cnoid_control.cli.quick_start import quick_start
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.registry import hardware_kind, hardware_names, observable_devices
from cnoid_control.runtime.config import RunConfig, parse_value

if TYPE_CHECKING:
    from cnoid_control.runtime.loop import ControlLoop
    from cnoid_control.runtime.recorder import Recorder
    from cnoid_control.simulation import Simulation
    from cnoid_control.viewer.run_view import RunView, ViewParameters

# Time that a run waits for its page to be served [s].
PAGE_TIMEOUT = 20.0
# Time limit of control() in a simulation that is moved by hand, where none is given [s].
PATIENCE = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_config_name(parser)
    add_config_arguments(parser)
    parser.add_argument(
        '--duration',
        metavar='S',
        type=seconds,
        help="time to run for [s]; where not given, the config's in a simulation",
    )
    parser.add_argument('--real-time', action='store_true', help='at the pace of the wall clock')
    parser.add_argument(
        '--teleop',
        metavar='DEVICE',
        help='move the robot by hand, in real time: keyboard, keyboard:latched, gamepad or '
        'gamepad:/dev/input/eventN',
    )
    parser.add_argument('--log', metavar='FILE.mcap', help='record the run into a log file')
    parser.add_argument('--plot', metavar='FILE.png', help='draw the run on one page')
    parser.add_argument(
        '--json', action='store_true', help='print the summary as one JSON object, alone'
    )
    add_view_arguments(parser, '--view')


def add_view_arguments(parser: argparse.ArgumentParser, name: str = '') -> None:
    """Declare how the browser view is served.

    Args:
        parser: the command.
        name: option that asks for the view; empty where the command is the view itself.
    """
    prefix = f'{name}-' if name else '--'
    if name:
        parser.add_argument(
            name, action='store_true', help='show the run in a browser, at real-time pace'
        )
    parser.add_argument(
        f'{prefix}act',
        action='store_true',
        dest='view_act',
        help='let the page act: swap, pause, push, options, e-stop; otherwise it only looks',
    )
    parser.add_argument(
        f'{prefix}host',
        metavar='ADDRESS',
        default='127.0.0.1',
        dest='view_host',
        help='address to serve the page on; any but this computer needs a token',
    )
    parser.add_argument(
        f'{prefix}port',
        metavar='PORT',
        type=int,
        default=0,
        dest='view_port',
        help='port; where not given, the first free one from 8080 on',
    )
    parser.add_argument(
        f'{prefix}token',
        metavar='TOKEN',
        default='',
        dest='view_token',
        help='what who opens the page must know; made up where the page is open to the network',
    )


def view_parameters(args: argparse.Namespace) -> ViewParameters:
    """How the browser view is served, from the arguments of `add_view_arguments`.

    Raises:
        CnoidControlError: the view is not installed, or an argument cannot be used.
    """
    try:
        from cnoid_control.viewer.gate import is_loopback
        from cnoid_control.viewer.run_view import ViewParameters
        from cnoid_control.viewer.server import free_port, make_token
    except ImportError as error:
        raise CnoidControlError(
            f"the view needs viser: {error}; pip install 'cnoid_control[viewer]'"
        ) from error

    if not 0 <= args.view_port < 65536:
        raise CnoidControlError(f'port is {args.view_port}; 1 to 65535 is allowed')
    if args.view_token and not re.fullmatch(r'[\w.~-]{8,}', args.view_token):
        raise CnoidControlError('a token has at least 8 letters, digits or . _ ~ - and no others')
    port = free_port(args.view_host, args.view_port)
    token = args.view_token
    if not token and not is_loopback(args.view_host):
        token = make_token()
    return ViewParameters(args.view_host, port, token, args.view_act)


def add_config_name(parser: argparse.ArgumentParser) -> None:
    """Declare what is run."""
    parser.add_argument(
        'config',
        metavar='CONFIG|MODEL',
        help='a config or a robot model: a file, or the name of one',
    )


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that change a configuration, see `config_from_arguments`."""
    parser.add_argument(
        '--controller', metavar='C', help="a name, 'package.module:Class' or 'file.py:Class'"
    )
    parser.add_argument(
        '--option',
        metavar='KEY=VALUE',
        action='append',
        default=[],
        help='an option of the controller; may be given several times',
    )
    parser.add_argument(
        '--set',
        metavar='ANY.KEY=VALUE',
        action='append',
        default=[],
        dest='changes',
        help='any value of the configuration, such as robot.base=fixed; may be repeated',
    )
    parser.add_argument('--hardware', choices=hardware_names(), help='what to run on')


def seconds(text: str) -> float:
    """A finite time of at least 0 [s]."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r} is not a finite time of 0 s or more')
    return value


@quick_start()
def config_from_arguments(args: argparse.Namespace) -> RunConfig:
    """Configuration of the command line: the file, with its arguments put in.

    Raises:
        CnoidControlError: an option is not KEY=VALUE, or the configuration is wrong.
    """
    from cnoid_control.runtime.defaults import load_run

    overrides: dict[str, Any] = {}
    if args.controller:
        overrides['controller'] = _from_here(args.controller)
    if args.hardware:
        overrides['hardware.type'] = args.hardware
    for text in args.changes:
        key, value = _key_and_value('--set', text)
        overrides[key] = value
    if args.option:
        config = load_run(args.config, overrides)
        for text in args.option:
            key, value = _key_and_value('--option', text)
            overrides[f'{config.controller_name}.{key}'] = value
    return load_run(args.config, overrides)


def _key_and_value(argument: str, text: str) -> tuple[str, Any]:
    key, equals, value = text.partition('=')
    if not equals or not key:
        raise CnoidControlError(f'{argument} {text!r} is not KEY=VALUE')
    return key, _file_from_here(parse_value(value))


def _file_from_here(value: Any) -> Any:
    """Value of an option; a file of the working folder, as the shell completes it, is absolute."""
    if isinstance(value, str) and Path(value).suffix and Path(value).is_file():
        return str(Path(value).resolve())
    return value


def _from_here(controller: str) -> str:
    """Controller whose file, if it has one, is taken from the working folder where it is there.

    In a configuration, files start from the configuration's folder; a user who types a file name
    means the one that the shell completes.
    """
    file, colon, name = controller.rpartition(':')
    if not colon:
        file, name = name, ''
    if file.endswith('.py') and Path(file).is_file():
        return f'{Path(file).resolve()}{colon}{name}'
    return controller


def run(args: argparse.Namespace) -> int:
    """Run one robot or several and print the summary; returns 1 where the run failed."""
    # The parts of a run are imported here so that the other commands start quickly.
    from cnoid_control.cli.output_file import check_output
    from cnoid_control.cli.progress import StopOnInterrupt
    from cnoid_control.runtime.world_config import is_world

    if is_world(args.config):
        return _run_world(args)
    config = config_from_arguments(args)
    if args.plot:
        from cnoid_control.viewer.plot_page import plot_suffixes

        check_output('--plot', args.plot, plot_suffixes(), [args.config])
    if args.log:
        check_output('--log', args.log, ['.mcap'], [args.config])
    if args.view_act and not args.view:
        raise CnoidControlError('--view-act is for --view')
    view = view_parameters(args) if args.view else None
    by_hand = args.teleop or args.view_act
    if (args.teleop or args.view) and not args.real_time:
        # At the pace of the wall clock as far as it goes: who plays with a simulation on a busy
        # computer need not lose it for a tick that came late.
        given = config.parameters.watchdog.control_timeout
        if hardware_kind(config.hardware_type).is_simulated and not given:
            args.changes.append(f'watchdog.control_timeout={PATIENCE:g}')
            config = config_from_arguments(args)
        args.real_time = True
    if args.view_act and not config.parameters.on_fault:
        # Who can reset the robot wants to see it held, not the run ended.
        args.changes.append('on_fault=hold')
        config = config_from_arguments(args)
    enable = config.parameters.enable
    if enable.topic and not args.teleop:
        raise CnoidControlError(
            f'enable.topic is {enable.topic!r}: nobody can hold the enabling switch in this run; '
            "give --teleop keyboard or gamepad, or --set enable.topic=''"
        )
    simulation = _make_simulation(config)
    loop = simulation.loop
    _tell_base(config, loop)
    # A plot is drawn from a log, which is thrown away where nobody has asked for it.
    kept = tempfile.TemporaryDirectory() if args.plot and not args.log else None
    log = args.log or (Path(kept.name) / f'{config.name}.mcap' if kept is not None else '')
    recorder = _record(log, loop, config, args.real_time) if log else None
    if args.view:
        loop.observed |= set(observable_devices(config.hardware_type, loop.hardware.body))
    # Who moves it by hand says when it ends.
    unbounded = by_hand and args.duration is None
    duration = math.inf if unbounded else _duration(args.duration, config)
    with (
        _view(view, simulation, args) as page,
        _teleop(args.teleop, loop),
        StopOnInterrupt(loop.request_stop),
        _progress(simulation, duration),
    ):
        if page is not None:
            # A short run would be over before anybody could open it.
            page.wait(PAGE_TIMEOUT)
        summary = simulation.complete(duration, args.real_time)
    if recorder is not None and args.log:
        summary |= recorder.report()
    if args.json:
        print_object(summary)
    elif summary['exit'] == 'failed' and not summary['ticks']:
        # Nothing has moved: there is nothing to tell but why.
        _tell(f'error: {summary["reason"]}')
    else:
        from rich.console import Console

        from cnoid_control.cli.summary_table import print_summary

        print_summary(summary, Console())
    # Last: a plot that cannot be drawn must not cost the summary.
    if args.plot:
        _plot(log, args.plot)
    return 1 if summary['exit'] == 'failed' else 0


def _record(log: str | Path, loop: ControlLoop, config: RunConfig, real_time: bool) -> Recorder:
    from cnoid_control.runtime.run_files import record_run

    return record_run(log, loop, config, real_time)


def _tell(line: str) -> None:
    """Say something that is not the summary."""
    print(line, file=sys.stderr, flush=True)


def _progress(
    simulation: Simulation, duration: float
) -> contextlib.AbstractContextManager[object]:
    """The line that shows how far the run is; nothing where nobody would see it."""
    if not sys.stderr.isatty():
        return contextlib.nullcontext()
    from rich.console import Console

    from cnoid_control.cli.progress import RunProgress

    console = Console(stderr=True)
    return RunProgress(simulation.loop, simulation.monitor, duration, console)


def _plot(log: str | Path, path: str) -> None:
    """Draw a log on one page."""
    from cnoid_control.log import LogError, RunLog
    from cnoid_control.viewer.plot_data import read_run
    from cnoid_control.viewer.plot_page import save_page

    try:
        run = read_run(RunLog(log))
    except LogError as error:
        # A run that ended before its first tick has nothing to show.
        _tell(f'no plot: {error}')
        return
    save_page([run], path)


def _teleop(text: str | None, loop: ControlLoop) -> contextlib.AbstractContextManager[object]:
    """What gives the controllers what somebody does by hand; nothing where it is not asked for."""
    if not text:
        return contextlib.nullcontext()
    from cnoid_control.teleop.embedded import EmbeddedTeleop
    from cnoid_control.teleop.open_device import open_device

    return EmbeddedTeleop(loop, open_device(text), _tell)


def _view(
    parameters: ViewParameters | None, simulation: Simulation, args: argparse.Namespace
) -> contextlib.AbstractContextManager[RunView | None]:
    """The browser view of the run; nothing where it is not asked for."""
    if parameters is None:
        return contextlib.nullcontext()
    from cnoid_control.viewer.run_view import RunView

    recording = '--log' if args.log else '--plot' if args.plot else ''
    no_reset = f'the run is recorded ({recording}): its time would go back' if recording else ''
    robot = next(iter(simulation.robots.values()))
    return RunView(robot, parameters, _tell, no_reset)


def _tell_base(config: RunConfig, loop: ControlLoop) -> None:
    """Say whether the base floats and why, where the configuration does not say it."""
    body = loop.hardware.body
    if config.parameters.robot.base == 'auto' and body.description.base_reason:
        kind = 'fixed' if body.is_fixed_root else 'floating'
        _tell(
            f'{body.name}: {kind} base, since {body.description.base_reason} '
            '(robot.base overrides it)'
        )


def _run_world(args: argparse.Namespace) -> int:
    """Run several robots in one world and print their summaries."""
    from rich.console import Console

    from cnoid_control.cli.progress import StopOnInterrupt
    from cnoid_control.cli.summary_table import print_summary
    from cnoid_control.simulation import Simulation

    given = {**vars(args), 'set': args.changes}
    for name in ('controller', 'option', 'set', 'hardware', 'teleop', 'log', 'plot', 'view'):
        if given[name]:
            raise CnoidControlError(
                f'--{name} is for one robot, and {args.config} describes several'
            )
    simulation = Simulation(args.config, record=False, os=sys.stderr)
    first = next(iter(simulation.robots.values()))
    duration = _duration(args.duration, first.config)
    if math.isinf(duration):
        raise CnoidControlError('several robots need a --duration')
    with simulation, StopOnInterrupt(simulation.request_stop):
        summary = simulation.run(duration, args.real_time)
    if args.json:
        print_object(summary)
    else:
        for name, part in summary['robots'].items():
            print_summary({'robot': name, **part}, Console())
    return 1 if summary['exit'] == 'failed' else 0


@quick_start()
def _make_simulation(config: RunConfig) -> Simulation:
    from cnoid_control.simulation import Simulation

    try:
        return Simulation(config, record=False, os=sys.stderr)
    except ImportError as error:
        if hardware_kind(config.hardware_type).is_simulated:
            raise
        raise CnoidControlError(
            f'--hardware ros2_control needs ROS 2: {error}; source an installation, or install '
            "the wheels: pip install 'cnoid_control[ros]'"
        ) from error


def _duration(given: float | None, config: RunConfig) -> float:
    """Time to run for [s]; infinite for as long as the controllers and the robot go on."""
    if given is not None:
        return given
    simulated = hardware_kind(config.hardware_type).is_simulated
    return config.parameters.duration or math.inf if simulated else math.inf
