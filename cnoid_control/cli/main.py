"""Entry point of `cnoid_control`: the command line, and the ROS node where ROS starts it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NoReturn

from cnoid_control.cli.bench_command import BENCH
from cnoid_control.cli.check_command import CHECK
from cnoid_control.cli.command import INTERRUPTED
from cnoid_control.cli.convert_command import CONVERT
from cnoid_control.cli.evaluate_command import EVALUATE
from cnoid_control.cli.faults_command import FAULTS
from cnoid_control.cli.get_command import GET
from cnoid_control.cli.init_command import INIT
from cnoid_control.cli.json_output import failure, one_object, print_object
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
from cnoid_control.standard_streams import GuardedStreams

COMMANDS = (
    RUN, LIST, GET, SHOW, NEW, INIT, CONVERT,
    VIEW, RENDER, PLOT, REPLAY,
    POLICY, TELEOP, EVALUATE, TUNE,
    CHECK, BENCH, FAULTS,
)  # fmt: skip

# What shells show for a program that SIGPIPE has ended.
PIPE_CLOSED = 141


class _UsageError(SystemExit):
    """The end of the program after a word that the command line does not know.

    Attributes:
        message: what is wrong.
    """

    def __init__(self, message: str) -> None:
        """End with the status of wrong usage."""
        super().__init__(2)
        self.message = message


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with an argument; what there is only for a command."""

    def error(self, message: str) -> NoReturn:
        """End the program."""
        if ' ' not in self.prog:
            self.print_usage(sys.stderr)
        print(f'{self.prog}: {message}; see {self.prog} --help', file=sys.stderr)
        raise _UsageError(message)


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
    parser = _Parser(
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
    with GuardedStreams() as streams:
        status = _main(words)
    return PIPE_CLOSED if streams.is_closed else status


def _main(words: list[str]) -> int:
    if '--ros-args' in words:
        from cnoid_control.ros.node.control_node import main as node_main

        return node_main(words)
    try:
        args = make_parser().parse_args(words)
    except _UsageError as error:
        if '--json' in words:
            print_object(failure(error.message))
        raise
    try:
        # A file instead of a flag (`bench`) leaves the standard output as it is.
        with one_object() if getattr(args, 'json', None) in (True, '-') else nullcontext():
            status: int = args.run(args)
        return status
    except CnoidControlError as error:
        print(f'cnoid_control: {error}', file=sys.stderr)
        if calls := getattr(error, 'traceback', ''):
            print(calls, file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Who was to read the object of --json has gone.
        return PIPE_CLOSED
    except KeyboardInterrupt:
        print('cnoid_control: interrupted', file=sys.stderr)
        return INTERRUPTED


if __name__ == '__main__':
    sys.exit(main())
