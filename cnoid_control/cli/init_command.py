"""`cnoid_control init`: a folder to start from, for any robot or policy."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from cnoid_control.cli.init_templates import (
    CONFIG,
    CONTROLLER,
    GRAVITY,
    LAUNCH,
    NO_GRAVITY,
    TEST,
)
from cnoid_control.cli.model_arguments import add_model_arguments, check_rate, model_arguments
from cnoid_control.cli.starter import class_name, module_name, refuse_existing, write_files
from cnoid_control.cli.yaml_text import yaml_comment, yaml_number, yaml_scalar
from cnoid_control.exceptions import CnoidControlError

if TYPE_CHECKING:
    from cnoid_control.body import Body

RATE = 1000.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        'model',
        metavar='MODEL|POLICY.onnx',
        help='a robot model or a policy: a file, or the name of one',
    )
    parser.add_argument(
        'folder', metavar='FOLDER', nargs='?', help='where to write; the name of it by default'
    )
    parser.add_argument('-o', '--output', metavar='FOLDER', help='the same as FOLDER')
    add_model_arguments(parser)
    parser.add_argument(
        '--rate',
        type=float,
        metavar='HZ',
        help=f"control rate [Hz]; {RATE:g}, or a multiple of the policy's own, where not given",
    )
    parser.add_argument(
        '--gains',
        action='store_true',
        help='of a robot: joints have stiffness and damping interfaces besides (MIT mode)',
    )
    parser.add_argument(
        '--robot',
        metavar='MODEL',
        help='of a policy: the robot that it moves; known of those of `cnoid_control get`',
    )
    parser.add_argument(
        '--deploy',
        metavar='FILE',
        help="of a policy: Unitree's deploy.yaml or Isaac Lab's env.yaml; looked for beside it "
        "where not given; 'none' for none",
    )
    parser.add_argument(
        '--option',
        metavar='KEY=VALUE',
        action='append',
        default=[],
        help='of a policy: an option that is known, such as period=0.02; may be repeated',
    )


def create_robot_folder(
    model: str,
    folder: Path | None = None,
    arguments: Mapping[str, str] | None = None,
    base: str = 'auto',
    rate: float = RATE,
    gains: bool = False,
) -> list[Path]:
    """Write configuration, controller, test, URDF, controller_manager's YAML and launch file.

    Args:
        model: path of a model file, or the name of a model.
        folder: where to write; a folder with the robot's name where None.
        arguments: arguments of a .xacro file by name.
        base: fixed, floating or auto.
        rate: control rate [Hz].
        gains: whether joints have stiffness and damping interfaces besides.

    Returns:
        The files.

    Raises:
        CnoidControlError: the model cannot be used, or a file is there already.
    """
    # These take their time to import; other commands start without them.
    from cnoid_control.catalog import find_model
    from cnoid_control.parameters import FileName
    from cnoid_control.runtime.config import RobotParameters
    from cnoid_control.runtime.defaults import make_robot

    path = find_model(model)
    given = dict(arguments or {})
    folder = folder or Path(module_name(Path(model).name.partition('.')[0]))
    name = module_name(folder.absolute().name)
    names = [f'{name}.{end}' for end in ('yaml', 'py', 'urdf', 'launch.py')]
    refuse_existing(folder, [*names, f'test_{name}.py', 'controllers.yaml'])
    robot = RobotParameters(model=FileName(path), arguments=given, base=base)
    body = make_robot(robot, time_step=1.0 / rate)
    body.calc_forward_kinematics()
    words = _words(body, name, _model_entry(body, model, path, folder, name), rate)
    gravity = GRAVITY if body.is_fixed_root else NO_GRAVITY
    files = {
        f'{name}.yaml': Template(CONFIG).substitute(words),
        f'{name}.py': Template(CONTROLLER).substitute(words | gravity),
        f'test_{name}.py': Template(TEST).substitute(words),
        f'{name}.launch.py': Template(LAUNCH).substitute(words),
    }
    urdf = _write_urdf(body, folder, name, gains)
    try:
        files['controllers.yaml'] = _controllers(body, rate, name, urdf)
        return [*write_files(folder, files), urdf]
    except CnoidControlError:
        urdf.unlink(missing_ok=True)
        raise


def _model_entry(body: Body, model: str, path: str, folder: Path, name: str) -> str:
    """What the configuration has as its model: physics runs an MJCF file as it is."""
    if not body.description.mjcf:
        return f'{name}.urdf'
    if model != path:
        return model
    file = Path(path).resolve()
    beside = folder.resolve().parent
    return os.path.relpath(file, folder.resolve()) if file.is_relative_to(beside) else str(file)


def _words(body: Body, name: str, model: str, rate: float) -> dict[str, str]:
    from cnoid_control.plugin.registry import instance_name
    from cnoid_control.runtime.defaults import named_gains, named_posture

    class_ = class_name(name)
    gains = named_gains(body, 1.0 / rate)
    description = body.description
    asked = ''.join(yaml_comment(f'- {text}') for text in _asked(body, name))
    if asked:
        asked = '#\n# Please check; the model does not say, or something was assumed:\n' + asked
    section = instance_name(f'{name}.py:{class_}')
    reason = 'By the inertia that each joint sees, its effort limit and the period.'
    if any(link.kp for link in description.links):
        reason = "The model's own where it has any."
    posture = _by_name('posture', 'where it starts [rad] or [m]', named_posture(body))
    kp = _by_name('kp', '[N m/rad] or [N/m]', gains['kp'])
    kd = _by_name('kd', '[N m s/rad] or [N s/m]', gains['kd'])
    return {
        'name': name,
        'class_name': class_,
        'section': section,
        'model': yaml_scalar(model),
        'base': 'fixed' if body.is_fixed_root else 'floating',
        'base_reason': description.base_reason or 'As the model says.',
        'posture': posture,
        'rate': yaml_number(rate),
        # A robot without joints has no options.
        'gains': f'    {section}:\n      # {reason}\n{kp}{kd}' if kp else '',
        'asked': asked,
    }


def _asked(body: Body, name: str) -> Iterator[str]:
    """What the user has to say, by name, since the model does not."""
    from cnoid_control.body.devices import AccelerationSensor, Imu, RateGyroSensor

    description = body.description
    place = f'in {name}.urdf'
    if not description.postures:
        yield 'the posture: the model has none; it is 0, or in the ranges, or so that it stands'
    where = place if not description.mjcf else "in the model, or by this file's `limits`"
    joints = [joint.description for joint in body.joints if joint.name]
    for what, missing in (
        ('an effort limit', [j.joint_name for j in joints if math.isinf(j.u_upper)]),
        ('a velocity limit', [j.joint_name for j in joints if math.isinf(j.dq_upper)]),
        (
            'a range',
            [j.joint_name for j in joints if math.isinf(j.q_lower) and math.isinf(j.q_upper)],
        ),
    ):
        if missing:
            yield f'no {what.partition(" ")[2]} ({where}): {", ".join(missing)}'
    if '<ros2_control' not in description.urdf:
        yield (
            f'which command interfaces the real robot has: effort, position and velocity are '
            f'declared for every joint {place} and in controllers.yaml'
        )
        yield f'the ros2_control plug-in of the real robot: {place} it is mock_components'
    motion = (Imu, RateGyroSensor, AccelerationSensor)
    if not body.is_fixed_root and not any(isinstance(d, motion) for d in body.devices):
        yield f'the IMU: a floating robot without one does not know which way is up ({place})'
    yield from description.warnings


def _write_urdf(body: Body, folder: Path, name: str, gains: bool) -> Path:
    from cnoid_control.body.exceptions import ModelError
    from cnoid_control.body.formats.robot_description import robot_description, to_text
    from cnoid_control.body.formats.ros2_control_tag import (
        add_sensor,
        add_system,
        device_name,
        offer_gains,
    )
    from cnoid_control.body.formats.urdf_writer import write_urdf

    description, path = body.description, folder / f'{name}.urdf'
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not description.urdf:
            write_urdf(description, path)
            if gains:
                robot = ElementTree.parse(path).getroot()
                offer_gains(robot)
                path.write_text(to_text(robot) + '\n', encoding='utf-8')
            return path
        robot = robot_description(description, folder)
        if robot.find('ros2_control') is None:
            system = add_system(robot, description)
            for index, (link, device) in enumerate(description.devices):
                add_sensor(system, device_name(device, index), device, link)
        if gains:
            offer_gains(robot)
        with path.open('x', encoding='utf-8') as file:
            file.write(to_text(robot) + '\n')
    except (OSError, ModelError) as error:
        raise CnoidControlError(f'{path} cannot be written: {error}') from error
    return path


def _controllers(body: Body, rate: float, name: str, urdf: Path) -> str:
    from cnoid_control.body.formats.ros2_control_tag import command_interfaces
    from cnoid_control.ros.controllers_file import controllers_text
    from cnoid_control.ros.robot.parameters import Ros2ControlParameters
    from cnoid_control.ros.sim.assembly import make_controllers, served_devices

    interfaces = command_interfaces(ElementTree.parse(urdf).getroot())
    controllers = make_controllers(
        body, Ros2ControlParameters(), served_devices(body, {}), interfaces=interfaces
    )
    head = f'# Controllers of {name} for a controller_manager; the launch file sets its rate.\n'
    return head + controllers_text(controllers, rate)


# --- YAML -------------------------------------------------------------------------------------


def _by_name(key: str, comment: str, values: Mapping[str, float]) -> str:
    """Map of the configuration; nothing for an empty one, which ROS parameters do not know."""
    if not values:
        return ''
    lines = [
        f'        {yaml_scalar(name)}: {yaml_number(value)}' for name, value in values.items()
    ]
    return '\n'.join([f'      {key}:  # {comment}', *lines, ''])


def run(args: argparse.Namespace) -> int:
    """Write the files and say how to go on."""
    if args.folder and args.output:
        raise CnoidControlError(f'two folders: {args.folder} and --output {args.output}')
    place = args.folder or args.output
    folder = Path(place) if place else None
    if args.rate is not None:
        check_rate(args.rate)
    if is_policy(args.model):
        return _run_policy(args, folder)
    for name in ('robot', 'deploy', 'option'):
        if getattr(args, name):
            raise CnoidControlError(
                f'--{name} is for a policy, and {args.model!r} is neither an .onnx file nor a '
                'policy of `cnoid_control get`'
            )
    given = model_arguments(args.arguments)
    rate = RATE if args.rate is None else args.rate
    files = create_robot_folder(args.model, folder, given, args.base, rate, args.gains)
    for path in files:
        print(f'wrote {path}')
    config = files[0]
    text = config.read_text(encoding='utf-8')
    if '# Please check' in text:
        print(f'\nplease check what the model does not say: the first lines of {config}')
    print(f'\nrun it:     cnoid_control run {config} --duration 10')
    print(f'test it:    python3 -m pytest {config.parent}')
    print(f'launch it:  ros2 launch {config.with_suffix(".launch.py")}')
    return 0


def is_policy(name: str) -> bool:
    """Whether a file or name is that of a policy."""
    from cnoid_control.catalog import ITEMS
    from cnoid_control.share import share_folder

    known = ITEMS.get(name)
    return (
        name.lower().endswith('.onnx')
        or (known is not None and known.kind == 'policy')
        or (share_folder() / 'policy' / f'{name}.onnx').is_file()
    )


def _run_policy(args: argparse.Namespace, folder: Path | None) -> int:
    from cnoid_control.catalog import ITEMS
    from cnoid_control.cli.init_policy import check, create_policy_folder, settle_steps

    if args.gains:
        raise CnoidControlError(
            f'--gains is for a robot, and {args.model!r} is a policy: its folder has no URDF'
        )
    from cnoid_control.runtime.config import parse_value

    robot = args.robot or (ITEMS[args.model].robot if args.model in ITEMS else '')
    if not robot:
        raise CnoidControlError(f'{args.model} is a policy: --robot MODEL says what it moves')
    options = {}
    for text in args.option:
        key, equals, value = text.partition('=')
        if not equals or not key:
            raise CnoidControlError(f'--option {text!r} is not KEY=VALUE')
        options[key] = parse_value(value)
    config = create_policy_folder(
        args.model,
        robot,
        folder,
        Path(args.deploy) if args.deploy else None,
        options,
        model_arguments(args.arguments),
        args.base,
        args.rate,
    )
    print(f'wrote {config}')
    text = config.read_text(encoding='utf-8')
    if '# Please check' in text:
        print(f'\nplease check what was assumed: the first lines of {config}')
    reason = check(config)
    step = settle_steps(config, reason)
    if step:
        print(
            f"\nwith the model's own steps of physics its gains are not stable; with those of "
            f'{step:g} s they are: hardware.mujoco.time_step'
        )
    elif reason:
        print(f'\nnot yet to be run; edit {config}:\n{reason}\n')
    then = 'then ' if reason and not step else ''
    for what, command in (
        ('what it is told', f'cnoid_control policy {config}'),
        ('run it', f'cnoid_control run {config} --duration 10'),
        ('launch it', f'ros2 launch cnoid_control robot.launch.py config:={config}'),
    ):
        print(f'{then + what + ":":<{17 + len(then)}} {command}')
    return 0
