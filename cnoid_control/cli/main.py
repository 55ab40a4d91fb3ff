"""Entry point of `cnoid_control`: the command line, and the ROS node where ROS starts it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NoReturn

from cnoid_control.cli.command import COMMANDS, INTERRUPTED, find_command
from cnoid_control.cli.json_output import failure, one_object, print_object
from cnoid_control.cli.missing_library import missing_modules_named
from cnoid_control.cli.quick_start import quick_start
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.standard_streams import GuardedStreams

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


def make_parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Parser of the command line.

    Args:
        words: what it will parse. Only the commands among them are imported and have their
            arguments; all of them where None.
    """
    parser = _Parser(
        prog='cnoid_control',
        description='Run robot controllers in physics, or on a robot through ros2_control.',
        epilog='With --ros-args it is the ROS 2 node cnoid_control.',
    )
    parser.add_argument('--version', action=_Version, help='print the version')
    commands = parser.add_subparsers(dest='command', metavar='COMMAND', required=True)
    for name, text in COMMANDS.items():
        about = text[:1].upper() + text[1:]
        subparser = commands.add_parser(name, help=text, description=about)
        if words is None or name in words:
            command = find_command(name)
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
        with quick_start():
            args = make_parser(words).parse_args(words)
    except _UsageError as error:
        if '--json' in words:
            print_object(failure(error.message))
        raise
    try:
        # A file instead of a flag (`bench`) leaves the standard output as it is.
        alone = one_object() if getattr(args, 'json', None) in (True, '-') else nullcontext()
        with alone, missing_modules_named():
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
