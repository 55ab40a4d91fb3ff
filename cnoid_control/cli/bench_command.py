"""`cnoid_control bench`: the performance table."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from cnoid_control.cli.json_output import print_object
from cnoid_control.cli.output_file import check_output
from cnoid_control.exceptions import CnoidControlError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cnoid_control.bench.report import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('rows', metavar='ROW', nargs='*', help='rows to measure; all where none')
    parser.add_argument('--json', metavar='FILE', nargs='?', const='-', help='as JSON, to a file')
    parser.add_argument(
        '--markdown', metavar='FILE.md', help='put the table into a Markdown file, too'
    )
    parser.add_argument('--repeats', type=int, help='turns of each pair')
    parser.add_argument(
        '--compare',
        action='store_true',
        help='install the programs of others that rows need into environments of their own, in '
        'the cache, and measure these rows, too',
    )
    parser.add_argument('--list', action='store_true', help='name the rows and stop')


def run(args: argparse.Namespace) -> int:
    """Measure the rows and print the table; returns 1 where a row could not be measured."""
    from rich.console import Console

    from cnoid_control.bench.registry import bench_rows
    from cnoid_control.bench.report import measure_rows
    from cnoid_control.cli.bench_table import print_report, write_markdown

    rows = bench_rows(args.rows)
    if args.json and args.json != '-':
        check_output('--json', args.json, ['.json'], begins=r'\{\s*"machine"')
    if args.markdown:
        check_output('--markdown', args.markdown, ['.md'])
    if args.list:
        for row in rows:
            print(f'{row.name}: {row.subject} / {row.reference}')
        return 0
    messages = Console(stderr=True)

    def tell(text: str) -> None:
        messages.print(text, markup=False, highlight=False, soft_wrap=True)

    report = measure_rows(rows, args.repeats, messages.status, tell)
    if args.compare and report.missing:
        _compare(report, args.repeats, tell)
        report.sort([row.name for row in rows])
    if args.markdown:
        write_markdown(report, args.markdown)
    if args.json == '-':
        print_object(report.to_dict())
        return 1 if report.failed else 0
    if args.json:
        with open(args.json, 'w', encoding='utf-8') as file:
            json.dump(report.to_dict(), file, indent=1)
    print_report(report, Console(width=None if sys.stdout.isatty() else 160))
    return 1 if report.failed else 0


def _compare(report: Report, repeats: int | None, tell: Callable[[str], None]) -> None:
    """Measure the missing rows where what they need can be had, and tell of the others."""
    from cnoid_control.bench.peers import PEERS

    rows_of: dict[tuple[str, ...], list[str]] = {}
    for row in report.missing:
        rows_of.setdefault(tuple(row.needs), []).append(row.name)
    for needs, names in rows_of.items():
        if not set(needs) <= set(PEERS):
            continue
        try:
            _measure_beside(needs, names, report, repeats, tell)
        except CnoidControlError as error:
            # What was measured without these peers, or can be, is shown all the same.
            tell(f'--compare: {error}')


def _measure_beside(
    needs: Sequence[str],
    names: Sequence[str],
    report: Report,
    repeats: int | None,
    tell: Callable[[str], None],
) -> None:
    """Measure rows in an environment that has the peers which they need, where it gets them."""
    from cnoid_control.bench.peers import PeerEnvironment
    from cnoid_control.bench.report import Report

    environment = PeerEnvironment(needs, tell)
    environment.make()
    environment.install()
    if set(environment.found()) == set(needs):
        tell(f'measuring beside {", ".join(needs)}: {", ".join(names)}')
        report.take(Report.from_dict(environment.measure(names, repeats)), needs)
