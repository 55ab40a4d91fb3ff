"""Entry point of `cnoid_control`: the command line, and the ROS node where ROS starts it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from cnoid_control.cli.command import COMMANDS, INTERRUPTED, find_command
from cnoid_control.cli.missing_library import missing_modules_named
from cnoid_control.cli.quick_start import quick_start
from cnoid_control.exceptions import CnoidControlError

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


def make_parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Parser of the command line.

    Args:
        words: what it will parse. Only the commands among them are imported and have their
            arguments; all of them where None.
    """
    parser = argparse.ArgumentParser(
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
    if '--ros-args' in words:
        from cnoid_control.ros.node.control_node import main as node_main

        return node_main(words)
    with quick_start():
        args = make_parser(words).parse_args(words)
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
