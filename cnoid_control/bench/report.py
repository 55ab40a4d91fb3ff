"""What all rows came to, and where and with what they were measured."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from cnoid_control.bench.measure import BenchResult, measure
from cnoid_control.bench.peers import PEERS
from cnoid_control.bench.row import (
    BenchRow,
    FailedRow,
    FigureResult,
    MetricRow,
    MissingRow,
    missing_modules,
)
from cnoid_control.exceptions import describe

# Distributions whose versions matter; the ROS wheels have the distribution in their names.
LIBRARIES = ('numpy', 'mujoco', 'pin', 'ruckig', 'daqp', 'onnxruntime')
ROS = ('rclpy', 'ros-jazzy-rclpy', 'ros-kilted-rclpy')


@dataclass
class Report:
    """What rows came to.

    Attributes:
        rows: pairs of pieces of work.
        figures: quantities.
        missing: rows for which something is not installed.
        failed: rows that could not be measured.
        versions: versions of what took part, by name.
    """

    rows: list[BenchResult] = field(default_factory=list)
    figures: list[FigureResult] = field(default_factory=list)
    missing: list[MissingRow] = field(default_factory=list)
    failed: list[FailedRow] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with the facts of the machine."""
        return {
            **machine(),
            'versions': self.versions,
            'rows': [one.to_dict() for one in self.rows],
            'figures': [one.to_dict() for one in self.figures],
            'missing': [one.to_dict() for one in self.missing],
            'failed': [one.to_dict() for one in self.failed],
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Report:
        """Of what `to_dict` has made in another process."""
        return cls(
            [BenchResult(**one) for one in values['rows']],
            [FigureResult(**one) for one in values['figures']],
            [MissingRow(**one) for one in values['missing']],
            [FailedRow(**one) for one in values['failed']],
            values['versions'],
        )

    def take(self, other: Report, peers: Sequence[str] = ()) -> None:
        """Add what was measured elsewhere; rows that are missing here come from there.

        Args:
            other: the report from there.
            peers: what is installed there; libraries of other versions are named with it.
        """
        measured: list[Any] = [*other.rows, *other.figures, *other.missing, *other.failed]
        there = {one.name for one in measured}
        self.missing = [one for one in self.missing if one.name not in there] + other.missing
        self.rows += other.rows
        self.figures += other.figures
        self.failed += other.failed
        for name, version in other.versions.items():
            if self.versions.setdefault(name, version) != version:
                self.versions[f'{name} beside {", ".join(peers)}'] = version

    def sort(self, names: Sequence[str]) -> None:
        """Put the rows into the order of these names."""
        everything: list[list[Any]] = [self.rows, self.figures, self.missing, self.failed]
        for rows in everything:
            rows.sort(key=lambda one: names.index(one.name))


def machine() -> dict[str, Any]:
    """Machine, processor, its cores, load of the last minute, Python and the date."""
    return {
        'machine': platform.machine(),
        'processor': _processor(),
        'cores': os.cpu_count(),
        'load': round(os.getloadavg()[0], 2),
        'python': platform.python_version(),
        'date': datetime.date.today().isoformat(),
    }


def _processor() -> str:
    """Model of the processor, where the system says it."""
    try:
        lines = Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines()
    except OSError:
        return platform.processor()
    models = [line.partition(':')[2].strip() for line in lines if line.startswith('model name')]
    return models[0] if models else platform.processor()


def installed_versions() -> dict[str, str]:
    """Versions of the libraries and peers that are installed."""
    found = {}
    peers = [re.split('[=>]', requirements)[0] for requirements in PEERS.values()]
    for name in (*LIBRARIES, *ROS, *peers):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def measure_rows(
    rows: Iterable[BenchRow | MetricRow],
    repeats: int | None,
    begin: Callable[[str], AbstractContextManager[object]],
    tell: Callable[[str], None],
) -> Report:
    """Measure rows one after the other; one that fails does not cost the others.

    Args:
        rows: the rows.
        repeats: turns of each pair; the row's where None.
        begin: context in which a row is measured, told which.
        tell: told what fails.
    """
    report = Report(versions=installed_versions())
    for row in rows:
        facts = (row.name, row.subject, row.reference)
        if needs := missing_modules(row.needs):
            report.missing.append(MissingRow(*facts, needs))
            continue
        with begin(f'{row.name}: {row.subject}'):
            try:
                if isinstance(row, BenchRow):
                    report.rows.append(measure(row, repeats=repeats))
                else:
                    report.figures.append(row.result())
            except Exception as error:
                report.failed.append(FailedRow(*facts, describe(error)))
                tell(f'{row.name}: {describe(error)}')
    return report
