"""The summary of a run for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

UNITS = {
    'duration': 's',
    'root_position': 'm',
    'max_tilt_deg': 'degrees',
    'max_joint_error': 'rad or m',
    'real_time_factor': 'times real time',
}


def print_summary(summary: dict[str, Any], console: Console) -> None:
    """Print the summary as a table."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style='bold')
    table.add_column(overflow='fold')
    for key, value in summary.items():
        if key == 'traceback':
            # It was shown when it happened.
            continue
        text = (
            _limited(value, summary.get('ticks', 0))
            if key == 'limited'
            else '\n'.join(value)
            if key == 'warnings'
            else f'{_text(value)} {UNITS.get(key, "")}'.rstrip()
        )
        table.add_row(key, text)
    console.print(table, markup=False, highlight=False)


def _limited(limited: dict[str, dict[str, int]], ticks: int) -> str:
    """Which limits acted, in how many ticks and for which share of the time, a kind a line."""
    lines = [
        f'{kind}: '
        + ', '.join(
            f'{joint} {count} ({100.0 * count / max(ticks, 1):.3g} %)'
            for joint, count in sorted(joints.items(), key=lambda item: -item[1])
        )
        for kind, joints in limited.items()
    ]
    return '\n'.join(lines) or 'none'


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, float):
        return f'{value:.6g}'
    if isinstance(value, list):
        return ', '.join(_text(item) for item in value)
    if isinstance(value, dict):
        return ', '.join(f'{key}: {_text(item)}' for key, item in value.items()) or 'none'
    return str(value) or 'none'
