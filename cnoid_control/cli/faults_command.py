"""`cnoid_control faults`: injects faults while SR1 stands, and shows the fault table."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cnoid_control.cli.json_output import print_object
from cnoid_control.cli.output_file import check_output
from cnoid_control.cli.progress import StopOnInterrupt
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.faults.table import FaultResult, run_row, skipped, to_json, to_markdown

WHERE = ('embedded', 'dds', 'gazebo')
MARKS = {True: 'survived', False: 'NOT SURVIVED', None: 'skipped'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        'names', metavar='NAME', nargs='*', help='faults, or parts of their names; all where none'
    )
    parser.add_argument(
        '--where', choices=WHERE, help='only in this process, through DDS, or in Gazebo'
    )
    parser.add_argument('--json', action='store_true', help='print the table as JSON, alone')
    parser.add_argument(
        '--output', metavar='FILE.md', type=Path, help='write the table to a Markdown file too'
    )


def collect(where: str | None) -> list[tuple[str, Callable[[], FaultResult]]]:
    """The faults, each with its name and the function that injects it."""
    # Physics and ROS are imported here so that the other commands start quickly.
    from cnoid_control.faults.embedded import EMBEDDED_FAULTS, run_embedded

    found: list[tuple[str, Callable[[], FaultResult]]] = []
    if where in (None, 'embedded'):
        found += [(fault.name, partial(run_embedded, fault)) for fault in EMBEDDED_FAULTS]
    if where == 'embedded':
        return found
    try:
        from cnoid_control.faults.dds import DDS_FAULTS, run_dds
    except ImportError as error:
        message = f'faults through DDS and in Gazebo need ROS 2: {error}'
        if where is not None:
            raise CnoidControlError(message) from error
        print(f'only in this process: {message}', file=sys.stderr)
        return found
    if where in (None, 'dds'):
        found += [(fault.name, partial(run_dds, fault)) for fault in DDS_FAULTS]
    if where in (None, 'gazebo'):
        found += _in_gazebo(where)
    return found


def _in_gazebo(where: str | None) -> list[tuple[str, Callable[[], FaultResult]]]:
    """The faults of Gazebo; where that is not installed, each row says so.

    Raises:
        CnoidControlError: these alone were asked for, and Gazebo is not installed.
    """
    from cnoid_control.faults.gazebo import GAZEBO, GAZEBO_FAULTS, run_gazebo
    from cnoid_control.faults.gazebo_testbed import missing_gazebo

    missing = missing_gazebo()
    if missing and where is not None:
        raise CnoidControlError(f'faults in Gazebo need it: {missing}')
    if missing:
        return [
            (fault.name, partial(skipped, fault.name, GAZEBO, missing)) for fault in GAZEBO_FAULTS
        ]
    return [(fault.name, partial(run_gazebo, fault)) for fault in GAZEBO_FAULTS]


def select(
    faults: list[tuple[str, Callable[[], FaultResult]]], names: list[str]
) -> list[Callable[[], FaultResult]]:
    """Faults whose name contains one of the words; all where no word is given.

    Raises:
        CnoidControlError: a word is in no name.
    """
    for name in names:
        if not any(name in known for known, _ in faults):
            listed = choices(sorted({known for known, _ in faults}))
            raise CnoidControlError(f'unknown fault {name!r}; {listed}')
    return [run for known, run in faults if not names or any(name in known for name in names)]


def run(args: argparse.Namespace) -> int:
    """Inject the faults one after the other; returns 1 where one was not survived."""
    if args.output is not None:
        check_output('--output', args.output, ['.md'], begins=re.escape(to_markdown([])))
    with StopOnInterrupt(_interrupt):
        results = list(_results(args))
    if args.json:
        print_object(to_json(results))
    else:
        print(to_markdown(results), end='')
    if args.output is not None:
        args.output.write_text(to_markdown(results), encoding='utf-8')
    return 1 if any(result.survived is False for result in results) else 0


def _interrupt() -> None:
    # The processes of the testbed are ended while this is raised through it.
    raise KeyboardInterrupt


def _results(args: argparse.Namespace) -> Iterator[FaultResult]:
    for inject in select(collect(args.where), args.names):
        result = run_row(inject)
        why = f': {result.outcome}' if result.survived is None else ''
        print(f'{result.fault} ({result.where}): {MARKS[result.survived]}{why}', file=sys.stderr)
        yield result
