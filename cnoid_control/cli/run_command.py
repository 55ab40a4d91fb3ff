"""`cnoid_control run`: a controller on a robot, from a configuration."""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import Any

from cnoid_control.cli.command import Command
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.registry import hardware_names
from cnoid_control.plugin.registry import instance_name
from cnoid_control.runtime.config import RunConfig, load_config
from cnoid_control.runtime.config_file import parse_value


class InvalidOption(CnoidControlError):
    """An --option that is not KEY=VALUE."""

    def __init__(self, text: str) -> None:
        """Show the option as it was given."""
        super().__init__(f'--option {text!r} is not KEY=VALUE')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('config', metavar='CONFIG', help='a config file or the name of one')
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
    parser.add_argument('--hardware', choices=hardware_names(), help='what to run on')
    parser.add_argument(
        '--duration', metavar='S', type=float, default=math.inf, help='time to run for [s]'
    )
    parser.add_argument(
        '--real-time', action='store_true', help='at the pace of the clock on the wall'
    )
    parser.add_argument(
        '--json', action='store_true', help='print the summary as one JSON object, alone'
    )


def config_from_arguments(args: argparse.Namespace) -> RunConfig:
    """Configuration with what the command line says put in.

    Raises:
        InvalidOption: an option is not KEY=VALUE.
        CnoidControlError: the configuration is wrong.
    """
    overrides: dict[str, Any] = {}
    if args.controller:
        overrides['controller'] = args.controller
    if args.hardware:
        overrides['hardware.type'] = args.hardware
    if args.option:
        controller = args.controller or load_config(args.config).parameters.controller
        for text in args.option:
            key, equals, value = text.partition('=')
            if not equals or not key:
                raise InvalidOption(text)
            overrides[f'{instance_name(controller)}.{key}'] = parse_value(value)
    return load_config(args.config, overrides)


def run(args: argparse.Namespace) -> int:
    """Run it and print the summary."""
    # The parts of a run are imported here so that the other commands start quickly.
    from cnoid_control.runtime.assembly import make_loop
    from cnoid_control.runtime.run_monitor import RunMonitor
    from cnoid_control.runtime.summary import summarize

    config = config_from_arguments(args)
    loop = make_loop(config)
    monitor = RunMonitor(loop)
    outcome = loop.run(args.duration, args.real_time)
    summary = summarize(config, loop, monitor, outcome)
    if args.json:
        print(json.dumps(summary))
    else:
        for key, value in summary.items():
            print(f'{key}: {value}', file=sys.stdout)
    return 1 if outcome.exit == 'failed' else 0


RUN = Command('run', 'run a controller on a robot', add_arguments, run)
