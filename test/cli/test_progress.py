"""The line that shows how a run goes."""

from __future__ import annotations

import io

from rich.console import Console

from cnoid_control.cli.progress import RunProgress
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.summary import RunMonitor


def shown(changes: dict, terminal: bool) -> str:
    """What a short run draws."""
    loop = make_loop(load_config('sr1_pd', changes), os=io.StringIO())
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=120)
    with RunProgress(loop, RunMonitor(loop), 0.6, console):
        loop.run(0.6)
    return stream.getvalue()


def test_shows_time_speed_tilt_and_error():
    """On a terminal."""
    text = shown({}, terminal=True)
    assert ' s ' in text
    assert 'tilt' in text
    assert 'error 0.0' in text
    assert 'limiting' not in text


def test_shows_limits_that_act():
    """By their kind."""
    assert 'limiting effort' in shown({'limits.max_effort': 5.0}, terminal=True)


def test_shows_nothing_without_a_terminal():
    """Logs are not filled with progress."""
    assert shown({}, terminal=False) == ''
