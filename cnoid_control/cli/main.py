"""Entry point of `cnoid_control`: the command line, and the ROS node where ROS starts it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from cnoid_control.cli.bench_command import BENCH
from cnoid_control.cli.check_command import CHECK
from cnoid_control.cli.command import INTERRUPTED, missing_modules_named
from cnoid_control.cli.convert_command import CONVERT
from cnoid_control.cli.evaluate_command import EVALUATE
from cnoid_control.cli.faults_command import FAULTS
from cnoid_control.cli.get_command import GET
from cnoid_control.cli.init_command import INIT
from cnoid_control.cli.list_command import LIST
from cnoid_control.cli.new_command import NEW
from cnoid_control.cli.plot_command import PLOT
from cnoid_control.cli.policy_command import POLICY
from cnoid_control.cli.render_command import RENDER
from cnoid_control.cli.replay_command import REPLAY
from cnoid_control.cli.run_command import RUN
from cnoid_control.cli.show_command import SHOW
from cnoid_control.cli.teleop_command import TELEOP
from cnoid_control.cli.tune_command import TUNE
from cnoid_control.cli.view_command import VIEW
from cnoid_control.exceptions import CnoidControlError

COMMANDS = (
    RUN, LIST, GET, SHOW, NEW, INIT, CONVERT,
    VIEW, RENDER, PLOT, REPLAY,
    POLICY, TELEOP, EVALUATE, TUNE,
    CHECK, BENCH, FAULTS,
)  # fmt: skip

# What shells show for a program that SIGPIPE has ended.
PIPE_CLOSED = 141


class _Version(argparse.Action):
    """Prints the version; it is looked up only then."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given, nargs=0)

    def __call__(self, parser: argparse.ArgumentParser, *rest: Any) -> NoReturn:
        from importlib.metadata import version

        print(f'cnoid_control {version("cnoid_control")}')
        parser.exit()


def make_parser() -> argparse.ArgumentParser:
    """Parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog='cnoid_control',
        description='Run robot controllers in physics, or on a robot through ros2_control.',
        epilog='With --ros-args it is the ROS 2 node cnoid_control.',
    )
    parser.add_argument('--version', action=_Version, help='print the version')
    commands = parser.add_subparsers(dest='command', metavar='COMMAND', required=True)
    for command in COMMANDS:
        subparser = commands.add_parser(
            command.name,
            help=command.help,
            description=command.help[:1].upper() + command.help[1:],
        )
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: the words after the program's name; those of the process where None.

    Returns:
        The exit status.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if '--ros-args' in words:
        from cnoid_control.ros.node.control_node import main as node_main

        return node_main(words)
    args = make_parser().parse_args(words)
    try:
        with missing_modules_named():
            status = args.run(args)
        sys.stdout.flush()
        return status
    except CnoidControlError as error:
        print(f'cnoid_control: {error}', file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read the output has gone; nothing is to be said to nobody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        print('cnoid_control: interrupted', file=sys.stderr)
        return INTERRUPTED


if __name__ == '__main__':
    sys.exit(main())
