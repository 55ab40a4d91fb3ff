"""`cnoid_control show`: what a robot model consists of."""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnoid_control.cli.json_output import print_object
from cnoid_control.cli.model_arguments import add_model_arguments, check_rate, model_arguments
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import FileName

if TYPE_CHECKING:
    from rich.console import Console

    from cnoid_control.body import Body
    from cnoid_control.body.description import BodyDescription, LinkDescription

PIPE_WIDTH = 132


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('model', metavar='MODEL', help='a model file or the name of one')
    add_model_arguments(parser)
    parser.add_argument('--draw', metavar='FILE.png', help='draw the robot into a picture')
    parser.add_argument(
        '--rate',
        metavar='HZ',
        type=float,
        default=1000.0,
        help='rate of the controller that the gains are for; 1000 Hz where not given',
    )
    parser.add_argument('--json', action='store_true', help='as one JSON object, alone')


def run(args: argparse.Namespace) -> int:
    """Load the model as `run` would and print what it consists of."""
    # These take their time to import; other commands start without them.
    from cnoid_control.catalog import find_model
    from cnoid_control.cli.output_file import check_output
    from cnoid_control.runtime.config import RobotParameters
    from cnoid_control.runtime.defaults import make_robot
    from cnoid_control.viewer.plot_page import plot_suffixes

    check_rate(args.rate)
    model = find_model(args.model)
    if args.draw:
        check_output('--draw', args.draw, plot_suffixes(), [model])
    robot = RobotParameters(
        model=FileName(model),
        arguments=dict(model_arguments(args.arguments)),
        base=args.base,
    )
    with _warnings_collected() as warnings:
        body = make_robot(robot, Path())
        if args.draw:
            _draw(body, args.draw)
    known = body.description.warnings
    facts = describe(body, 1.0 / args.rate)
    facts['warnings'] = [*known, *(text for text in dict.fromkeys(warnings) if text not in known)]
    if args.json:
        print_object(json.dumps(facts, allow_nan=False))
        return 0
    from rich.console import Console

    # In a file or a pipe lines may be longer than on a terminal of unknown width.
    _print(facts, Console(width=None if sys.stdout.isatty() else PIPE_WIDTH))
    return 0


@contextlib.contextmanager
def _warnings_collected() -> Iterator[list[str]]:
    """Messages that the package logs meanwhile; they are not printed."""
    messages: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    logger, collector = logging.getLogger('cnoid_control'), Collector()
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(collector)
    try:
        yield messages
    finally:
        logger.removeHandler(collector)
        logger.propagate = propagates


def _draw(body: Body, file: str) -> None:
    try:
        from cnoid_control.hardware.mujoco.picture import save_picture
    except ImportError as error:
        raise CnoidControlError(
            f"--draw needs MuJoCo: {error}; install it: pip install 'cnoid_control[sim]'"
        ) from error
    body.calc_forward_kinematics()
    try:
        save_picture(file, [body])
    except (OSError, ValueError) as error:
        raise CnoidControlError(f'--draw {file} cannot be written: {error}') from error


def describe(body: Body, time_step: float = 0.001) -> dict[str, Any]:
    """Facts of a robot, in words and numbers that JSON knows; None for an infinite limit.

    Args:
        body: the robot, where and how it starts.
        time_step: period of the controller that the gains are for [s].
    """
    from cnoid_control.runtime.defaults import named_gains

    description = body.description
    body.calc_forward_kinematics()
    interfaces = _command_interfaces(description)
    gains = named_gains(body, time_step)
    joints = [
        _joint(link.description, float(link.q), interfaces)
        | {name: values[link.joint_name] for name, values in gains.items()}
        for link in body.joints
        if link.description.joint_name
    ]
    followers = [_follower(link) for link in description.links if link.mimic and link.joint_id < 0]
    return {
        'name': body.name,
        'source': description.source,
        'base': 'fixed' if body.is_fixed_root else 'floating',
        'base_reason': description.base_reason,
        'mass': body.mass,
        'center_of_mass': [round(float(value), 6) for value in body.calc_center_of_mass()],
        'root': body.root_link.name,
        'root_position': [round(float(value), 6) for value in body.root_link.p],
        'joints': joints + followers,
        'links': [
            {'name': link.name, 'parent': link.parent, 'mass': float(link.mass)}
            for link in description.links
        ],
        'devices': [
            {
                'name': device.name,
                'type': type(device).__name__,
                'link': device.link.name if device.link is not None else None,
            }
            for device in body.devices
        ],
        'postures': {name: posture.q for name, posture in description.postures.items()},
        'warnings': list(description.warnings),
    }


def _joint(
    link: LinkDescription, position: float, interfaces: dict[str, list[str]]
) -> dict[str, Any]:
    return {
        'id': link.joint_id,
        'name': link.joint_name,
        'link': link.name,
        'type': link.joint_type.value,
        'position': position,
        'limits': [_finite(link.q_lower), _finite(link.q_upper)],
        'max_velocity': _finite(min(-link.dq_lower, link.dq_upper)),
        'max_effort': _finite(min(-link.u_lower, link.u_upper)),
        'commanded_by': _commands(link, interfaces),
        'own_kp': float(link.kp),
        'own_kd': float(link.kd),
        'rotor_inertia': float(link.rotor_inertia),
        'damping': float(link.damping),
        'friction': float(link.friction),
    }


def _follower(link: LinkDescription) -> dict[str, Any]:
    assert link.mimic is not None
    return {
        'id': None,
        'name': link.joint_name,
        'link': link.name,
        'type': link.joint_type.value,
        'limits': [_finite(link.q_lower), _finite(link.q_upper)],
        'follows': link.mimic.joint,
        'multiplier': link.mimic.multiplier,
        'offset': link.mimic.offset,
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _commands(link: LinkDescription, interfaces: dict[str, list[str]]) -> list[str]:
    """What the model says that a joint is commanded by; empty where it does not say."""
    from cnoid_control.body.channels import channels_of

    own = [channel.interface for channel in channels_of(link.actuation_mode)]
    return own or interfaces.get(link.joint_name, [])


def _command_interfaces(description: BodyDescription) -> dict[str, list[str]]:
    """Command interfaces that the `<ros2_control>` tags of a URDF declare, by joint."""
    if not description.urdf:
        return {}
    from cnoid_control.body.formats.ros2_control_tag import command_interfaces
    from cnoid_control.body.formats.xml_reader import XmlReader

    return command_interfaces(XmlReader(description.urdf, description.source).root)


def _print(facts: dict[str, Any], console: Console) -> None:
    from rich.table import Table

    def show(text: str = '') -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    moving = sum(joint['id'] is not None for joint in facts['joints'])
    links = len(facts['links'])
    show(f'{facts["name"]}: joints {moving}, links {links}, mass {facts["mass"]:.4g} kg')
    show(f'file: {facts["source"]}')
    reason = f', since {facts["base_reason"]}' if facts['base_reason'] else ''
    x, y, z = facts['root_position']
    show(f'base: {facts["base"]}{reason}; {facts["root"]!r} starts at ({x:g}, {y:g}, {z:g}) m')
    show()
    table = Table(box=None, pad_edge=False, title_justify='left')
    table.add_column('id', justify='right')
    table.add_column('joint', overflow='fold')
    table.add_column('type')
    for title in ('position', 'limits', 'velocity', 'effort', 'kp', 'kd'):
        table.add_column(title, justify='right')
    table.add_column('commanded by', no_wrap=True)
    for joint in facts['joints']:
        table.add_row(*_row(joint))
    console.print(table, markup=False, highlight=False)
    _print_list(console, 'devices', [_device(device) for device in facts['devices']])
    show()
    heavy = [f'{link["name"]} {link["mass"]:.4g}' for link in facts['links'] if link['mass'] > 0]
    console.print(f'masses [kg]: {", ".join(heavy)}', markup=False, highlight=False)
    postures = [(name, _posture(values)) for name, values in facts['postures'].items()]
    _print_list(console, 'postures', postures)
    _print_list(console, 'warnings', [('-', text) for text in facts['warnings']])


def _row(joint: dict[str, Any]) -> list[str]:
    lower, upper = (_number(value) for value in joint['limits'])
    limits = f'{lower} .. {upper}' if lower or upper else 'none'
    if joint['id'] is None:
        rule = f'follows {joint["multiplier"]:g} * {joint["follows"]}'
        if joint['offset']:
            rule += f' + {joint["offset"]:g}'
        return ['', joint['name'], joint['type'], '', limits, '', '', '', '', rule]
    return [
        str(joint['id']),
        joint['name'],
        joint['type'],
        _number(joint['position']),
        limits,
        _number(joint['max_velocity']),
        _number(joint['max_effort']),
        _number(joint['kp'] or None),
        _number(joint['kd'] or None),
        '/'.join(joint['commanded_by']) or 'any',
    ]


def _number(value: float | None) -> str:
    return '' if value is None else f'{value + 0.0:.4g}'


def _device(device: dict[str, Any]) -> tuple[str, str]:
    return device['name'], f'{device["type"]} on {device["link"]}'


def _posture(values: dict[str, float]) -> str:
    moved = [f'{name} {value:g}' for name, value in values.items() if value]
    return ', '.join(moved) or 'all joints at 0'


def _print_list(console: Console, title: str, rows: list[tuple[str, str]]) -> None:
    from rich.table import Table

    console.print()
    if not rows:
        console.print(f'{title}: none', markup=False, highlight=False)
        return
    console.print(f'{title}:', markup=False, highlight=False)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow='fold')
    table.add_column(overflow='fold')
    for name, text in rows:
        table.add_row(f'  {name}', text)
    console.print(table, markup=False, highlight=False)
