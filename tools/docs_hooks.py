"""What `mkdocs` makes of the package itself: pages of all keys and options, and of the API.

The pages are made when the site is built, from the declarations that the package checks
configurations against: they cannot be out of date.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
# Files of the checkout that pages link to are no pages: they are shown by name alone.
OUTSIDE = re.compile(r'\[([^\]]+)\]\(\.\./[^)]+\)')
# Scripts are: the page of examples has their code.
EXAMPLE = re.compile(r'\]\(\.\./examples/(\w+)\.py\)')
EXAMPLES_PAGE = 'examples.md'
# What controllers use besides `from cnoid_control import ...`: a heading, a module, names.
MORE_API = (
    ('Kinematics and dynamics', 'cnoid_control.body', None),
    (
        'Messages of mailboxes',
        'cnoid_control.plugin.mailbox',
        ('Mailbox', 'Trigger', 'Value', 'Joy', 'JointValues', 'Pose', 'Twist', 'JointTrajectory'),
    ),
    ('Goals of trajectories', 'cnoid_control.plugin.trajectory_goal', ('FollowTrajectory',)),
    ('What was recorded', 'cnoid_control.recording', ('Recording',)),
    (
        'Blocks of compositions',
        'cnoid_control.controllers.composition',
        ('BaseController', 'LambdaController'),
    ),
    (
        'Motion queue',
        'cnoid_control.controllers.motion_queue.controller',
        ('MotionQueueController',),
    ),
    ('Tasks', 'cnoid_control.controllers.tasks', ('TaskSolver',)),
    ('Randomised runs', 'cnoid_control.evaluation.evaluator', ('Evaluation',)),
)


def _cell(text: str) -> str:
    return text.replace('|', '\\|').replace('\n', ' ')


def options_table(schema: type, prefix: str) -> str:
    """Table of all options of a dataclass."""
    from cnoid_control.parameter_reference import describe_parameters

    lines = ['| key | type | default | range | meaning |', '|---|---|---|---|---|']
    for row in describe_parameters(schema, prefix):
        unit = f' [{row.unit}]' if row.unit else ''
        fixed = ' Not while it runs.' if row.read_only else ''
        meaning = f'{row.description}{unit}.{fixed}' if row.description else fixed
        default = f'`{row.default}`' if row.default != 'required' else '**required**'
        cells = (f'`{row.key}`', row.type, default, row.range, meaning)
        lines.append(f'| {" | ".join(map(_cell, cells))} |')
    return '\n'.join(lines)


def configuration_page() -> str:
    """Every key of a configuration but the sections of controllers and hardware."""
    import dataclasses
    import typing

    from cnoid_control.runtime.config import RunParameters

    lines = [
        '# Every key of a configuration',
        '',
        (
            'A configuration is a ROS 2 parameter file: `/**: ros__parameters:` and below it '
            'these keys, a section of options for each controller '
            '([their options](controllers.md)), and `hardware` ([its options](hardware.md)). '
            '`--set KEY=VALUE` changes any of them for one run. `NAME` stands for a name of '
            'yours. A key that is not listed is refused, and so is a value of another type or '
            'out of its range. The same list in a terminal: `cnoid_control list config`.'
        ),
        '',
    ]
    hints = typing.get_type_hints(RunParameters)
    single = []
    for field in dataclasses.fields(RunParameters):
        kind = hints[field.name]
        if dataclasses.is_dataclass(kind):
            about = inspect.cleandoc(kind.__doc__ or '').split('\n\n')[0]
            lines += [f'## {field.name}', '', about, '']
            lines += [options_table(typing.cast(type, kind), field.name), '']
        else:
            single.append(field)
    rest = dataclasses.make_dataclass(
        'Rest', [(field.name, hints[field.name], _plain(field)) for field in single], kw_only=True
    )
    lines[4:4] = ['## Single keys', '', options_table(rest, ''), '']
    return '\n'.join(lines)


def _plain(field: Any) -> Any:
    import dataclasses

    if field.default_factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=field.default_factory, metadata=field.metadata)
    return dataclasses.field(default=field.default, metadata=field.metadata)


def controllers_page() -> str:
    """Every controller that is part of the package, with its options."""
    from cnoid_control.plugin.registry import controller_names, find_controller

    lines = [
        '# Every controller and its options',
        '',
        (
            'The options of a controller are in a section of its name. The same in a terminal: '
            '`cnoid_control list NAME`, also for a file of your own: '
            '`list my_file.py:MyController`.'
        ),
        '',
    ]
    for name in controller_names():
        found = find_controller(name)
        if not found.__module__.startswith('cnoid_control.'):
            continue
        about = inspect.cleandoc(found.__doc__ or '').split('\nAttributes:')[0]
        lines += [f'## {name}', '', about, '']
        schema = getattr(found, 'Parameters', None)
        lines += [options_table(schema, name) if schema else 'It has no options.', '']
    return '\n'.join(lines)


def hardware_page() -> str:
    """Every kind of hardware, with its options."""
    from cnoid_control.hardware.registry import hardware_kind, hardware_names

    lines = [
        '# Every kind of hardware and its options',
        '',
        '`hardware.type` names the kind; `--hardware KIND` does for one run.',
        '',
    ]
    for name in hardware_names():
        kind = hardware_kind(name)
        about = kind.description[:1].upper() + kind.description[1:]
        table = options_table(kind.parameters, f'hardware.{name}')
        lines += [f'## {name}', '', f'{about}.', '', table, '']
    return '\n'.join(lines)


def api_page() -> str:
    """Everything that `from cnoid_control import ...` has, and what controllers import besides."""
    import importlib

    import cnoid_control

    lines = ['# The API', '', 'First what `from cnoid_control import ...` has, by name.', '']
    shown = set()
    sections: list[tuple[str, str, Sequence[str] | None]] = [
        ('cnoid_control', 'cnoid_control', sorted(cnoid_control.__all__)),
        *MORE_API,
    ]
    for heading, path, names in sections:
        module = importlib.import_module(path)
        found = [getattr(module, name) for name in names or module.__all__]
        lines += [f'## {heading}', '', f'`from {path} import ...`', '']
        lines += [
            f'::: {one.__module__}.{one.__name__}\n    options: {{heading_level: 3}}\n'
            for one in found
            if one not in shown
        ]
        shown.update(found)
    return '\n'.join(lines)


PAGES: dict[str, Callable[[], str]] = {
    'reference/configuration.md': configuration_page,
    'reference/controllers.md': controllers_page,
    'reference/hardware.md': hardware_page,
    'reference/api.md': api_page,
}


def on_files(files: Files, config: MkDocsConfig, **rest: Any) -> Files:
    """Add the pages that are made of the package."""
    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Show files of the checkout, which are not on the site, by their names alone.

    Links to examples lead to their code on the page of examples.
    """
    markdown = EXAMPLE.sub(rf']({EXAMPLES_PAGE}#\1py)', markdown)
    if page.file.src_uri == EXAMPLES_PAGE:
        for path in sorted((ROOT / 'examples').glob('*.py')):
            code = path.read_text(encoding='utf-8').strip()
            markdown += f'\n## {path.name}\n\n```python\n{code}\n```\n'
    return OUTSIDE.sub(r'\1', markdown)
