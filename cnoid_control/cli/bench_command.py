"""`cnoid_control bench`: the performance table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from typing import TYPE_CHECKING

from cnoid_control.cli.command import Command
from cnoid_control.cli.json_output import print_object
from cnoid_control.cli.output_file import check_output
from cnoid_control.exceptions import describe

if TYPE_CHECKING:
    from rich.table import Table

    from cnoid_control.bench.row import FailedRow, FigureResult, MissingRow


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('rows', metavar='ROW', nargs='*', help='rows to measure; all where none')
    parser.add_argument('--json', metavar='FILE', nargs='?', const='-', help='as JSON, to a file')
    parser.add_argument('--repeats', type=int, help='turns of each pair')
    parser.add_argument('--list', action='store_true', help='name the rows and stop')


def run(args: argparse.Namespace) -> int:
    """Measure the rows and print the table; returns 1 where a row could not be measured."""
    from rich.console import Console
    from rich.table import Table

    from cnoid_control.bench.measure import BenchResult, measure
    from cnoid_control.bench.registry import bench_rows
    from cnoid_control.bench.row import BenchRow, FailedRow, MissingRow, missing_modules

    rows = bench_rows(args.rows)
    if args.json and args.json != '-':
        check_output('--json', args.json, ['.json'], begins=r'\{\s*"machine"')
    if args.list:
        for row in rows:
            print(f'{row.name}: {row.subject} / {row.reference}')
        return 0
    messages = Console(stderr=True)
    results: list[BenchResult] = []
    figures: list[FigureResult] = []
    missing: list[MissingRow] = []
    failed: list[FailedRow] = []
    for row in rows:
        if needs := missing_modules(row.needs):
            missing.append(MissingRow(row.name, row.subject, row.reference, needs))
            continue
        with messages.status(f'{row.name}: {row.subject}'):
            try:
                if isinstance(row, BenchRow):
                    results.append(measure(row, repeats=args.repeats))
                else:
                    figures.append(row.result())
            except Exception as error:
                # The other rows are measured all the same.
                failed.append(FailedRow(row.name, row.subject, row.reference, describe(error)))
                messages.print(f'{row.name}: {describe(error)}', markup=False, style='red')
    report = {
        'machine': platform.machine(),
        'cores': os.cpu_count(),
        'load': os.getloadavg()[0],
        'python': platform.python_version(),
        'rows': [result.to_dict() for result in results],
        'figures': [figure.to_dict() for figure in figures],
        'missing': [row.to_dict() for row in missing],
        'failed': [row.to_dict() for row in failed],
    }
    if args.json == '-':
        print_object(report)
        return 1 if failed else 0
    if args.json:
        with open(args.json, 'w', encoding='utf-8') as file:
            json.dump(report, file, indent=1)
    table = Table(title='ratios of two things measured in one run; durations in µs, median / p99')
    for title in ('row', 'subject', 'reference', 'ratio', 'goal', 'subject µs', 'reference µs'):
        table.add_column(title, justify='right' if 'µs' in title else 'left')
    for result in results:
        style = 'green' if result.reached else 'red'
        table.add_row(
            result.name,
            result.subject,
            result.reference,
            f'[{style}]{result.ratio:.2f}[/] ({result.ratio_low:.2f}..{result.ratio_high:.2f})',
            f'{result.kind} {result.goal}',
            f'{result.subject_median:.1f} / {result.subject_p99:.1f}',
            f'{result.reference_median:.1f} / {result.reference_p99:.1f}',
        )
    console = Console(width=None if sys.stdout.isatty() else 160)
    if results:
        console.print(table)
    if figures:
        console.print(_figure_table(figures))
    if missing:
        console.print(_missing_table(missing))
    if failed:
        console.print(_failed_table(failed))
    return 1 if failed else 0


def _figure_table(figures: list[FigureResult]) -> Table:
    from rich.table import Table

    table = Table(title='figures')
    for title in ('row', 'subject', 'reference', 'value', 'goal'):
        table.add_column(title)
    for figure in figures:
        style = 'green' if figure.reached else 'red'
        value = f'[{style}]{figure.value:.3g}[/] {figure.unit}'
        goal = f'{figure.goal} {figure.unit}'
        table.add_row(figure.name, figure.subject, figure.reference, value, goal)
    return table


def _missing_table(missing: list[MissingRow]) -> Table:
    from rich.table import Table

    table = Table(title='rows for which something is not installed')
    for title in ('row', 'subject', 'reference', 'needs'):
        table.add_column(title)
    for row in missing:
        table.add_row(row.name, row.subject, row.reference, ', '.join(row.needs))
    return table


def _failed_table(failed: list[FailedRow]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title='rows that could not be measured')
    for title in ('row', 'subject', 'reference', 'reason'):
        table.add_column(title)
    for row in failed:
        table.add_row(row.name, row.subject, row.reference, f'[red]{escape(row.reason)}[/]')
    return table


BENCH = Command('bench', 'measure the performance table', add_arguments, run)
