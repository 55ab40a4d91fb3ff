"""Options of controllers, hardware and configurations, and what a controller is composed of."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from pathlib import Path

from cnoid_control.cli.json_output import print_object
from cnoid_control.cli.list_command import describe_configs, first_comment
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.hardware.registry import hardware_kind, hardware_names
from cnoid_control.parameter_reference import ParameterRow, describe_parameters
from cnoid_control.plugin.options import parse_option_string
from cnoid_control.plugin.registry import controller_names, find_controller, instance_name
from cnoid_control.share import share_folder

# Defaults that say nothing in an example, and the number of options in one.
EMPTY = ("''", '[]', '{}')
EXAMPLE_OPTIONS = 5
# Longer defaults are not shown in the table [characters].
LONGEST_DEFAULT = 24


def show_options(name: str, as_json: bool) -> int:
    """Print the options of a controller, of a kind of hardware or of a configuration."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    about, schema, key = _find(name)
    rows = [] if schema is None else describe_parameters(schema, key)
    example = _example(name, key, rows)
    if as_json:
        options = [asdict(row) for row in rows]
        print_object({'name': name, 'about': about, 'options': options, 'example': example})
        return 0
    console = Console()
    console.print(about, markup=False, highlight=False)
    for row in rows:
        facts = [row.type, row.range, f'default {row.default}', row.unit and f'[{row.unit}]']
        if row.default == 'required' or len(row.default) > LONGEST_DEFAULT:
            facts[2] = 'required' if row.default == 'required' else ''
        line = Text(row.key, 'bold').append(f'  {", ".join(filter(None, facts))}', 'not bold')
        console.print(line, soft_wrap=True)
        fixed = ' (not while it runs)' if row.read_only else ''
        console.print(Padding(Text(f'{row.description}{fixed}'), (0, 0, 0, 4)))
    if not rows:
        console.print(f'{name} has no options', markup=False, highlight=False)
    if example:
        console.print('example', style='bold')
        console.print(example, markup=False, highlight=False)
    return 0


def _find(name: str) -> tuple[str, type | None, str]:
    """What a name is in words, the schema of its options, and the key that they are under.

    Raises:
        CnoidControlError: there is no such controller or kind of hardware.
    """
    if name == 'config':
        from cnoid_control.runtime.config import RunParameters

        return (
            'The keys of a configuration, besides the sections of controllers.',
            (RunParameters),
            '',
        )
    if name in hardware_names():
        kind = hardware_kind(name)
        return kind.description, kind.parameters, f'hardware.{name}'
    if ':' not in name and not name.endswith('.py') and name not in controller_names():
        if name in (configs := describe_configs()):
            return _find_in_config(name)
        known = choices([*controller_names(), *hardware_names(), *configs, 'config'])
        raise CnoidControlError(f'there is no {name!r} to list; {known}')
    found = find_controller(name, Path.cwd())
    about = inspect.cleandoc(found.__doc__ or name)
    return about, getattr(found, 'Parameters', None), instance_name(name)


def _find_in_config(name: str) -> tuple[str, type | None, str]:
    """What `_find` returns, for a shared configuration: it is for its controller."""
    from cnoid_control.runtime.config import ROS_KEYS, load_config
    from cnoid_control.runtime.world_config import is_world

    about = first_comment(share_folder() / 'config' / f'{name}.yaml')
    if is_world(name):
        return f'{about}\nA configuration of several robots.', None, ''
    config = load_config(name, ignore=ROS_KEYS)
    found = find_controller(config.controller_type, config.folder)
    about += (
        f'\nA configuration; the options are those of its controller {config.controller_type}.'
    )
    return about, getattr(found, 'Parameters', None), config.controller_name


def _example(name: str, key: str, rows: list[ParameterRow]) -> str:
    """A configuration's lines with the first options at their defaults, or asked for."""
    if name == 'config' or name in hardware_names():
        return ''
    if ':' not in name and name not in controller_names():
        return f'cnoid_control run {name}'
    lines = [f'controller: {name}']
    simple = [row for row in rows if '.NAME' not in row.key and row.key.count('.') == 1]
    wanted = [row for row in simple if row.default == 'required']
    shown = wanted + [row for row in simple if row not in wanted and row.default not in EMPTY]
    if shown:
        lines.append(f'{key}:')
    for row in shown[:EXAMPLE_OPTIONS]:
        value = '???' if row.default == 'required' else row.default
        lines.append(f'  {row.key.removeprefix(key + ".")}: {value}')
    return '\n'.join(lines)


def show_graph(name: str, picture: str | None) -> int:
    """Print what the controller of a configuration is composed of, or draw it."""
    from cnoid_control.cli.output_file import check_output
    from cnoid_control.controllers.composition.graph import graph_text
    from cnoid_control.controllers.composition.graph_drawing import draw_graph
    from cnoid_control.controllers.composition.made_controller import MadeController
    from cnoid_control.controllers.composition.stage import make_stage
    from cnoid_control.runtime.config import ROS_KEYS, load_config
    from cnoid_control.viewer.plot_page import plot_suffixes

    if picture:
        check_output('--draw', picture, plot_suffixes(), [name])
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
