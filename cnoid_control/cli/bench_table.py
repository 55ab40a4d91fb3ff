"""The performance table for people: on the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnoid_control.exceptions import CnoidControlError

if TYPE_CHECKING:
    from rich.console import Console

    from cnoid_control.bench.measure import BenchResult
    from cnoid_control.bench.report import Report
    from cnoid_control.bench.row import FigureResult

BEGIN, END = '<!-- begin of the table -->', '<!-- end of the table -->'
TITLE = 'ratios of two things measured in one run; durations in µs, median / p99'


def print_report(report: Report, console: Console) -> None:
    """Print what was measured, and what was not and why."""
    from rich.markup import escape

    rows = []
    for one in report.rows:
        style = 'green' if one.reached else 'red'
        times = _times(one)
        ratio = f'[{style}]{one.ratio:.2f}[/] ({one.ratio_low:.2f}..{one.ratio_high:.2f})'
        goal = f'{one.kind} {one.goal}'
        rows.append([one.name, one.subject, one.reference, ratio, goal, *times])
    heads = ('row', 'subject', 'reference', 'ratio', 'goal', 'subject µs', 'reference µs')
    _print(console, TITLE, heads, rows)
    rows = []
    for figure in report.figures:
        style = 'green' if figure.reached else 'red'
        value = f'[{style}]{figure.value:.3g}[/] {figure.unit}'
        if figure.detail:
            value = f'{value} ({figure.detail})'
        goal = f'{figure.goal} {figure.unit}'
        rows.append([figure.name, figure.subject, figure.reference, value, goal])
    _print(console, 'figures', ('row', 'subject', 'reference', 'value', 'goal'), rows)
    title = 'rows for which something is not installed'
    rows = [[m.name, m.subject, m.reference, ', '.join(m.needs)] for m in report.missing]
    _print(console, title, ('row', 'subject', 'reference', 'needs'), rows)
    title = 'rows that could not be measured'
    rows = [[f.name, f.subject, f.reference, f'[red]{escape(f.reason)}[/]'] for f in report.failed]
    _print(console, title, ('row', 'subject', 'reference', 'reason'), rows)


def _print(
    console: Console, title: str, heads: tuple[str, ...], rows: Iterable[list[str]]
) -> None:
    from rich.table import Table

    table = Table(title=title)
    for head in heads:
        table.add_column(head, justify='right' if 'µs' in head else 'left')
    for row in rows:
        table.add_row(*row)
    if table.row_count:
        console.print(table)


def _times(result: BenchResult) -> list[str]:
    """Median and 99th percentile of subject and reference [µs]."""
    return [
        f'{result.subject_median:.1f} / {result.subject_p99:.1f}',
        f'{result.reference_median:.1f} / {result.reference_p99:.1f}',
    ]


def write_markdown(report: Report, path: str | Path) -> None:
    """Put the table into a Markdown file, between its markers; a new file has nothing else.

    Raises:
        CnoidControlError: the file has no place for it, or cannot be written.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding='utf-8') if path.exists() else f'{BEGIN}\n{END}\n'
        if not (0 <= text.find(BEGIN) < text.find(END)):
            raise CnoidControlError(f'{path} has no lines {BEGIN} and {END} to write between')
        before, rest = text.split(BEGIN, 1)
        after = rest.split(END, 1)[1]
        table = markdown(report)
        path.write_text(f'{before}{BEGIN}\n{table}{END}{after}', encoding='utf-8')
    except OSError as error:
        raise CnoidControlError(f'{path} cannot be written: {error.strerror or error}') from error


def markdown(report: Report) -> str:
    """The report in Markdown: where it was measured, the rows, and why goals are missed."""
    parts = [_facts(report)]
    rows = []
    for one in report.rows:
        ratio = f'{one.ratio:.2f} ({one.ratio_low:.2f}..{one.ratio_high:.2f})'
        goal = f'{one.kind} {one.goal}'
        rows.append(
            [f'`{one.name}`', one.subject, one.reference, ratio, goal, _mark(one), *_times(one)]
        )
    heads = ['row', 'subject', 'reference', 'ratio', 'goal', 'reached', 'subject µs']
    parts += _table('Ratios', [*heads, 'reference µs'], rows)
    rows = [
        [
            f'`{one.name}`',
            one.subject,
            one.reference,
            f'{one.value:.3g} {one.unit}'.strip() + (f' ({one.detail})' if one.detail else ''),
            f'{one.goal} {one.unit}'.strip(),
            _mark(one),
        ]
        for one in report.figures
    ]
    heads = ['row', 'subject', 'reference', 'value', 'goal', 'reached']
    parts += _table('Figures', heads, rows)
    measured: list[Any] = [*report.rows, *report.figures]
    missed = [
        f'- `{one.name}`: {one.why or "no reason is known."}'
        for one in measured
        if one.reached is False
    ]
    if missed:
        parts += ['## Goals that are missed', '\n'.join(missed)]
    rows = [[f'`{m.name}`', m.subject, f'needs {", ".join(m.needs)}'] for m in report.missing]
    rows += [[f'`{f.name}`', f.subject, f.reason] for f in report.failed]
    parts += _table('Not measured', ['row', 'subject', 'reason'], rows)
    return '\n\n'.join(parts) + '\n'


def _facts(report: Report) -> str:
    from cnoid_control.bench.report import machine

    facts = machine()
    versions = ', '.join(f'{name} {version}' for name, version in report.versions.items())
    return (
        f'{facts["date"]}: {facts["processor"]}, {facts["cores"]} cores ({facts["machine"]}), '
        f'load {facts["load"]:g} when it was done; Python {facts["python"]}, {versions}.'
    )


def _mark(result: BenchResult | FigureResult) -> str:
    return 'yes' if result.reached else '**no**'


def _table(title: str, heads: list[str], rows: list[list[str]]) -> list[str]:
    """A heading and a table under it; nothing where there are no rows."""
    if not rows:
        return []
    lines = [heads, ['---'] * len(heads), *rows]
    cells = [[cell.replace('|', '\\|').replace('\n', ' ') for cell in line] for line in lines]
    return [f'## {title}', '\n'.join(f'| {" | ".join(line)} |' for line in cells)]
