"""The summary for people."""

from __future__ import annotations

import io

from rich.console import Console

from cnoid_control.cli.summary_table import print_summary


def test_what_is_empty_is_none():
    """An empty text of a report, as an empty map, is no hole in the line."""
    console = Console(file=io.StringIO(), width=200)
    reports = {'tasks': {'limited_by': '', 'tool.error': 0.5}}
    print_summary({'reports': reports, 'errors': {}}, console)
    text = console.file.getvalue()
    assert 'limited_by: none, tool.error: 0.5' in text
