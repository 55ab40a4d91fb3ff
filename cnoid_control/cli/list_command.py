"""`cnoid_control list`: what is installed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from cnoid_control.cli.command import Command
from cnoid_control.hardware.registry import hardware_kind, hardware_names
from cnoid_control.plugin.exceptions import ControllerLoadError
from cnoid_control.plugin.options import parse_option_string
from cnoid_control.plugin.registry import controller_names, find_controller
from cnoid_control.share import share_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('--json', action='store_true', help='as one JSON object')
    parser.add_argument(
        '--graph', metavar='CONFIG', help='what the controller of a config is composed of, instead'
    )
    parser.add_argument('--draw', metavar='FILE.png', help='draw the graph into a picture')


def describe_controllers() -> dict[str, str]:
    """Controllers by name, each with the first line of its documentation."""
    found = {}
    for name in controller_names():
        try:
            text = (find_controller(name).__doc__ or '').strip()
            found[name] = text.splitlines()[0] if text else ''
        except ControllerLoadError as error:
            # One that is broken must not hide the others.
            found[name] = f'cannot be loaded: {str(error).splitlines()[-1]}'
    return found


def describe_configs() -> dict[str, str]:
    """Shared configurations by name, each with the comment in its first line."""
    found = {}
    for path in sorted((share_folder() / 'config').rglob('*.yaml')):
        name = str(path.relative_to(share_folder() / 'config').with_suffix(''))
        found[name] = _first_comment(path)
    return found


def _first_comment(path: Path) -> str:
    with path.open(encoding='utf-8') as file:
        line = file.readline().strip()
    return line.lstrip('# ') if line.startswith('#') else ''


def run(args: argparse.Namespace) -> int:
    """Print controllers, configurations and hardware, or the graph of a configuration."""
    if args.graph:
        return _show_graph(args.graph, args.draw)
    sections = {
        'controllers': describe_controllers(),
        'configs': describe_configs(),
        'hardware': {name: hardware_kind(name).description for name in hardware_names()},
    }
    if args.json:
        print(json.dumps(sections))
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


def _show_graph(name: str, picture: str | None) -> int:
    from cnoid_control.controllers.composition.graph import draw_graph, graph_text
    from cnoid_control.controllers.composition.made_controller import MadeController
    from cnoid_control.controllers.composition.stage import make_stage
    from cnoid_control.runtime.config import ROS_KEYS, load_config

    config = load_config(name, ignore=ROS_KEYS)
    controller = config.controller_name
    options = config.options.get(controller, {})
    if isinstance(options, str):
        options = parse_option_string(options)
    found = find_controller(config.controller_type, config.folder)
    if issubclass(found, MadeController):
        # The rest is for the actuators.
        own = {name for name, _, _ in found.maker.fields}
        options = {key: value for key, value in options.items() if key in own}
    root = make_stage(controller, config.controller_type, options, folder=config.folder)
    print(graph_text(root, config.name))
    if picture:
        draw_graph(root, picture, config.name)
    return 0


LIST = Command(
    'list', 'list controllers, configs and hardware that are installed', add_arguments, run
)
