"""What installed packages register for this one, by the names of entry-point groups.

`importlib.metadata` finds the same, after its own import and a look at every package's metadata:
that takes longer than reading a configuration.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

# What the groups of this package begin with, and those of its command line.
OURS = 'cnoid_control.'
CONTROLLERS = f'{OURS}controllers'
HARDWARE = f'{OURS}hardware'
METADATA = ('.dist-info', '.egg-info')
LINE = re.compile(r'(?P<name>[^=#\[\s][^=]*?)\s*=\s*(?P<value>[\w.]+(?:\s*:\s*[\w.]+)?)')


@dataclass(frozen=True)
class EntryPoint:
    """A registered object.

    Attributes:
        name: name that it is registered under.
        value: where it is, `module:object`.
        group: the group.
    """

    name: str
    value: str
    group: str

    @property
    def module(self) -> str:
        """Module that has it."""
        return self.value.partition(':')[0].strip()

    @property
    def attr(self) -> str:
        """Its name there."""
        return self.value.partition(':')[2].strip()

    def load(self) -> Any:
        """Import it; raises whatever its module raises."""
        found: Any = import_module(self.module)
        for name in filter(None, self.attr.split('.')):
            found = getattr(found, name)
        return found


def entry_points_by_name(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group, sorted by name."""
    found = {point.name: point for point in entry_points(group)}
    return dict(sorted(found.items()))


def entry_points(group: str) -> list[EntryPoint]:
    """All entry points of a group whose name begins with `cnoid_control.`.

    Of a package that is installed more than once, the one that would be imported counts.
    """
    if _has_other_finders():
        from importlib import metadata

        return [EntryPoint(p.name, p.value, group) for p in metadata.entry_points(group=group)]
    packages: dict[str, list[EntryPoint]] = {}
    for folder in sys.path:
        for name, points in _registered_in(folder or '.', changed(folder)):
            packages.setdefault(name, points)
    return [point for points in packages.values() for point in points if point.group == group]


def changed(folder: str) -> int:
    """When something was put into a folder or taken out of it last [ns]; 0 where unknown."""
    try:
        return os.stat(folder or '.').st_mtime_ns
    except OSError:
        return 0


def _has_other_finders() -> bool:
    """Whether packages may be elsewhere than in folders: in archives, or where a finder knows."""
    return any(
        finder is not PathFinder and hasattr(finder, 'find_distributions')
        for finder in sys.meta_path
    ) or any(os.path.isfile(path) for path in sys.path)


@lru_cache(maxsize=128)
def _registered_in(folder: str, changed: int) -> list[tuple[str, list[EntryPoint]]]:
    """Packages in a folder and what they register for this one, as it is at that time."""
    at = Path(folder)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    found = []
    for name in names:
        if name.endswith(METADATA) or name == 'EGG-INFO':
            stem = (at.name if name == 'EGG-INFO' else name).partition('-')[0]
            # As they are compared: a package may be spelt in more than one way.
            package = re.sub(r'[-_.]+', '-', stem.removesuffix('.egg-info')).lower()
            found.append((package, _read(at / name / 'entry_points.txt')))
    return found


def _read(path: Path) -> list[EntryPoint]:
    """Entry points of our groups in the file of a package, which may not be there."""
    try:
        text = path.read_text(encoding='utf-8')
    except OSError:
        return []
    found: list[EntryPoint] = []
    group = ''
    for line in text.splitlines() if OURS in text else ():
        line = line.strip()
        if line.startswith('['):
            group = line.strip('[] ')
        elif group.startswith(OURS) and (match := LINE.match(line)):
            found.append(EntryPoint(match['name'], match['value'], group))
    return found
