"""`cnoid_control list`: what is installed."""

from __future__ import annotations

import argparse
import ast
import itertools
import re
from pathlib import Path

from cnoid_control.cli.json_output import print_object
from cnoid_control.cli.quick_start import quick_start
from cnoid_control.entry_points import CONTROLLERS, HARDWARE, EntryPoint, entry_points_by_name
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.share import NAME, share_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        'name',
        metavar='NAME',
        nargs='?',
        help="a controller ('package.module:Class' and 'file.py:Class', too), a kind of hardware, "
        "or 'config' for the keys of a configuration: its options, with units, ranges, defaults",
    )
    parser.add_argument('--json', action='store_true', help='as one JSON object')
    parser.add_argument(
        '--graph', metavar='CONFIG', help='what the controller of a config is composed of, instead'
    )
    parser.add_argument('--draw', metavar='FILE.png', help='draw the graph into a picture')


def describe_controllers() -> dict[str, str]:
    """Controllers by name, each with the first line of its documentation."""
    found = {}
    for name, point in entry_points_by_name(CONTROLLERS).items():
        text = _written_text(point) or _imported_text(name)
        found[name] = text.splitlines()[0] if text else ''
    return found


def _imported_text(name: str) -> str:
    """Documentation of a controller of another package."""
    from cnoid_control.plugin.exceptions import ControllerLoadError
    from cnoid_control.plugin.registry import find_controller

    try:
        return (find_controller(name).__doc__ or '').strip()
    except ControllerLoadError as error:
        # One that is broken must not hide the others.
        return f'cannot be loaded: {error}'


def describe_hardware() -> dict[str, str]:
    """Kinds of hardware by name, each in one line."""
    found = {}
    for name, point in entry_points_by_name(HARDWARE).items():
        text = _written_text(point)
        if not text:
            from cnoid_control.hardware.registry import hardware_kind

            text = hardware_kind(name).description
        found[name] = text
    return found


def _written_text(point: EntryPoint) -> str:
    """What the source says of one of this package's controllers or kinds of hardware.

    The documentation of a class, or the first argument of the call that makes an object. To import
    them all would take several times as long as the rest of the list. Empty where it is not of
    this package, or not found in the source.
    """
    return _find_text(point.module, point.attr)


def _find_text(module: str, name: str) -> str:
    package, *parts = module.split('.')
    path = Path(__file__).parent.parent.joinpath(*parts)
    path = path / '__init__.py' if path.is_dir() else path.with_suffix('.py')
    if package != NAME or not path.is_file():
        return ''
    for node in ast.parse(path.read_text(encoding='utf-8')).body:
        match node:
            case ast.ClassDef(name=found) if found == name:
                return ast.get_docstring(node) or ''
            case ast.Assign(
                targets=[ast.Name(id=found)],
                value=ast.Call(args=[ast.Constant(value=str(text)), *_]),
            ) if found == name:
                return text
            case ast.ImportFrom() if name in [one.name for one in node.names]:
                return _find_text(node.module or '', name)
    return ''


def describe_configs() -> dict[str, str]:
    """Shared configurations by name, each with the first sentence of the comment at its top."""
    found = {}
    for path in sorted((share_folder() / 'config').rglob('*.yaml')):
        name = str(path.relative_to(share_folder() / 'config').with_suffix(''))
        found[name] = re.split(r'(?<=\.)\s', first_comment(path))[0]
    return found


def first_comment(path: Path) -> str:
    """Comment at the top of a file, in one line."""
    with path.open(encoding='utf-8') as file:
        lines = itertools.takewhile(lambda line: line.startswith('#'), file)
        return ' '.join(line.strip('# \n') for line in lines)


@quick_start()
def run(args: argparse.Namespace) -> int:
    """Print controllers, configurations and hardware, or the graph of a configuration."""
    if args.graph:
        from cnoid_control.cli.list_options import show_graph

        return show_graph(args.graph, args.draw)
    if args.draw:
        raise CnoidControlError('--draw draws a graph: name a configuration with --graph')
    if args.name:
        from cnoid_control.cli.list_options import show_options

        return show_options(args.name, args.json)
    sections = {
        'controllers': describe_controllers(),
        'configs': describe_configs(),
        'hardware': describe_hardware(),
    }
    if args.json:
        print_object(sections)
        return 0
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for section, items in sections.items():
        table = Table(title=section, title_justify='left', show_header=False, box=None)
        table.add_column(style='bold', no_wrap=True)
        table.add_column()
        for name, text in items.items():
            table.add_row(name, text)
        console.print(table, highlight=False)
    return 0
