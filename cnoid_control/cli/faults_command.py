"""`cnoid_control faults`: injects faults while SR1 stands, and shows the fault table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cnoid_control.cli.command import Command
from cnoid_control.cli.progress import StopOnInterrupt
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.faults.table import FaultResult, run_row, to_json, to_markdown

WHERE = ('embedded', 'dds')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        'names', metavar='NAME', nargs='*', help='faults, or parts of their names; all where none'
    )
    parser.add_argument('--where', choices=WHERE, help='only in this process, or only through DDS')
    parser.add_argument('--json', action='store_true', help='print the table as JSON, alone')
    parser.add_argument(
        '--output', metavar='FILE.md', type=Path, help='write the table to a Markdown file too'
    )


def collect(where: str | None) -> list[tuple[str, Callable[[], FaultResult]]]:
    """The faults, each with its name and the function that injects it."""
    # Physics and ROS are imported here so that the other commands start quickly.
    from cnoid_control.faults.embedded import EMBEDDED_FAULTS, run_embedded

    found: list[tuple[str, Callable[[], FaultResult]]] = []
    if where != 'dds':
        found += [(fault.name, partial(run_embedded, fault)) for fault in EMBEDDED_FAULTS]
    if where != 'embedded':
        try:
            from cnoid_control.faults.dds import DDS_FAULTS, run_dds
        except ImportError as error:
            message = f'faults through DDS need ROS 2: {error}'
            if where == 'dds':
                raise CnoidControlError(message) from error
            print(f'only in this process: {message}', file=sys.stderr)
            return found
        found += [(fault.name, partial(run_dds, fault)) for fault in DDS_FAULTS]
    return found


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
    with StopOnInterrupt(_interrupt):
        results = list(_results(args))
    if args.json:
        print(to_json(results))
    else:
        print(to_markdown(results), end='')
    if args.output is not None:
        args.output.write_text(to_markdown(results), encoding='utf-8')
    return 0 if all(result.survived for result in results) else 1


def _interrupt() -> None:
    # The processes of the testbed are ended while this is raised through it.
    raise KeyboardInterrupt


def _results(args: argparse.Namespace) -> Iterator[FaultResult]:
    for inject in select(collect(args.where), args.names):
        result = run_row(inject)
        mark = 'survived' if result.survived else 'NOT SURVIVED'
        print(f'{result.fault} ({result.where}): {mark}', file=sys.stderr)
        yield result


FAULTS = Command('faults', 'inject faults and show the fault table', add_arguments, run)
