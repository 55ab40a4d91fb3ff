"""A robot that nobody has tuned: where and how it starts, and the gains that hold it there.

The functions here need a model and nothing else; a configuration overrides each of them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.body import Body, JointType
from cnoid_control.body.balance import balanced_posture
from cnoid_control.body.description import Posture
from cnoid_control.body.formats.load import load_body
from cnoid_control.body.gains import JointGains, joint_gains, rotors_needed
from cnoid_control.body.merge import merge_descriptions, prefixed
from cnoid_control.body.postures import default_posture, own_posture, with_posture
from cnoid_control.body.rotations import rpy_matrix
from cnoid_control.body.solids import lowest_points, reach
from cnoid_control.body.standing import is_moving
from cnoid_control.catalog import find_model
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.parameters import FileName, ParameterError, not_allowed
from cnoid_control.plugin.joint_values import posture_of
from cnoid_control.runtime.config import (
    ROS_KEYS,
    RobotParameters,
    RunConfig,
    find_config,
    load_config,
    merge,
    parse_config,
)

logger = logging.getLogger(__name__)

BASES = {'auto': None, 'fixed': JointType.FIXED, 'floating': JointType.FREE}

# A fixed robot hangs where it gets this share of its reach below its root.
HANGING_SHARE = 0.3

# Height above the floor of what would else be in it [m].
CLEARANCE = 0.02

# What is not further than this from the ground is left where the model puts it [m].
TOLERANCE = 0.01


# Suffixes that tell a model from a configuration.
MODEL_SUFFIXES = ('.urdf', '.xacro', '.xml', '.body')
CONFIG_SUFFIXES = ('.yaml', '.yml')


def load_run(name: str | Path, overrides: Mapping[str, Any] | None = None) -> RunConfig:
    """Configuration by the name of one, or of a model, whose defaults are then taken.

    A file is told by its suffix. A name is that of a configuration if there is one, else that of
    a model; a configuration is found as in `find_config`, a model as in `find_model`.

    Args:
        name: file or name.
        overrides: values to put in; nested, or with keys such as 'robot.base'.

    Raises:
        CnoidControlError: there is neither, or the configuration is wrong.
    """
    suffix = Path(name).suffix.lower()
    if suffix in MODEL_SUFFIXES or '://' in str(name):
        return config_from_model(name, overrides)
    try:
        find_config(name)
    except CnoidControlError as no_config:
        if suffix in CONFIG_SUFFIXES:
            raise
        try:
            return config_from_model(name, overrides)
        except ParameterError:
            raise
        except CnoidControlError as no_model:
            raise CnoidControlError(
                f'{str(name)!r} is neither a configuration nor a model: {no_config}; {no_model}'
            ) from no_model
    return load_config(name, overrides, ROS_KEYS)


def config_from_model(
    model: str | Path, overrides: Mapping[str, Any] | None = None, folder: Path | None = None
) -> RunConfig:
    """Configuration in which a robot is held in its posture by `pd`.

    Args:
        model: path of a model file, or the name of a model.
        overrides: values to put in; nested, or with keys such as 'robot.base'.
        folder: folder that relative paths start from; the working folder where None.

    Raises:
        CnoidControlError: there is no such model.
        ParameterError: a value is unknown, of the wrong type or out of range.
    """
    path = find_model(model, folder)
    values = {'robot': {'model': path}, 'controller': 'pd', 'duration': 10.0}
    return parse_config(merge(values, overrides or {}), Path(model).stem, folder)


def make_robot(
    robot: RobotParameters, folder: Path | None = None, time_step: float = 0.001
) -> Body:
    """Body of the robot section, in its initial posture and place.

    Args:
        robot: the section.
        folder: folder that a relative model path starts from; the working folder where None.
        time_step: period of the controllers [s]; joints that are too light for it get rotors.

    Raises:
        ModelError: the model cannot be used.
        ParameterError: the posture or place cannot be used, or there is not one model.
    """
    if robot.models:
        body = _make_several(robot, folder, time_step)
    elif not robot.model:
        raise ParameterError('robot.model', 'is missing')
    else:
        model = find_model(robot.model, folder)
        body = load_body(model, BASES[robot.base], robot.name, robot.arguments)
        place_robot(body, robot, time_step)
    if robot.scene:
        scene = (folder or Path()) / Path(robot.scene).expanduser()
        if not scene.is_file():
            raise ParameterError('robot.scene', f'there is no file {scene}')
        body.description.scene = str(scene.absolute())
    return body


def _make_several(robot: RobotParameters, folder: Path | None, time_step: float) -> Body:
    """Body of the robots of `models`, each in its posture and place; a joint group for each."""
    plain = RobotParameters()
    for item in fields(RobotParameters):
        if item.name not in ('models', 'name', 'scene') and getattr(robot, item.name) != getattr(
            plain, item.name
        ):
            raise ParameterError(
                f'robot.{item.name}', f'has no effect beside robot.models; {choices(robot.models)}'
            )
    parts: dict[str, Body] = {}
    for name, part in robot.models.items():
        if part.name:
            raise ParameterError(f'robot.models.{name}.name', f'its name is {name!r}')
        if part.scene:
            raise ParameterError(f'robot.models.{name}.scene', 'robot.scene is that of them all')
        try:
            parts[name] = make_robot(part, folder, time_step)
        except ParameterError as error:
            key = error.key.removeprefix('robot.')
            raise ParameterError(f'robot.models.{name}.{key}', error.reason) from error
    placed = {name: part.placed_description() for name, part in parts.items()}
    body = Body(merge_descriptions(placed, robot.name))
    for name, alone in parts.items():
        joints = alone.joint_group('all').joint_names
        body.add_joint_group(name, [prefixed(name, joint) for joint in joints])
    return body


def robot_of_model(model: str | Path) -> Body:
    """Body of a model file, or of the name of one, in its own posture and place.

    Raises:
        CnoidControlError: there is no such model, or it cannot be used.
    """
    return make_robot(RobotParameters(model=FileName(model)))


def place_robot(body: Body, robot: RobotParameters, time_step: float = 0.001) -> None:
    """Put a body into the posture and place of the robot section, at rest.

    Where the section has no posture, the model's own is taken (see `default_posture`). The pose
    of the root is that of the posture which is taken by name or as the model's own, where it has
    one. Where the section has no position, a floating robot is put on the ground: the lowest
    point of its shapes that collide has the height 0. A place that the model gives is kept where
    the robot is not inside the ground there, and in the posture that the place is for. A fixed
    robot stays where the model puts it; one that would hang into the ground is raised out of
    reach of it.

    Raises:
        ParameterError: the posture or place cannot be used.
    """
    _check_size('robot.position', robot.position, 3)
    _check_size('robot.rpy', robot.rpy, 3)
    own = default_posture(body)
    body.q[:] = posture_of(body, 'robot.posture', robot.posture, own)
    if robot.posture:
        _tell_beyond_limits(body)
    root = body.root_link
    stated = _posture_of_place(body, robot)
    if stated is not None:
        if stated.position is not None:
            root.p = np.array(stated.position)
        if stated.rotation is not None:
            root.R = np.array(stated.rotation)
    if robot.rpy:
        root.R = rpy_matrix(robot.rpy)
    if robot.position:
        root.p = np.array(robot.position)
    else:
        body.calc_forward_kinematics()
        if not robot.posture and not body.is_fixed_root:
            _balance(body)
        _put_on_ground(body, not np.allclose(body.q, _stated_displacements(body, stated)))
    body.initialize_state()
    body.start_posture = body.q.copy()
    if robot.rotors:
        _add_rotors(body, time_step)


def _tell_beyond_limits(body: Body) -> None:
    """Say which joints start outside of their range, which physics throws back into it."""
    size = body.num_joints
    beyond = np.flatnonzero(
        (body.q < body.q_lower[:size] - 1e-6) | (body.q > body.q_upper[:size] + 1e-6)
    )
    if len(beyond):
        wrong = ', '.join(
            f'{body.joint_names[i]} {body.q[i]:g} ({body.q_lower[i]:g} to {body.q_upper[i]:g})'
            for i in beyond
        )
        text = f'robot.posture is beyond the limits of joints: {wrong}'
        body.description.warnings.append(text)
        logger.warning('%s: %s', body.name, text)


def _posture_of_place(body: Body, robot: RobotParameters) -> Posture | None:
    """The posture whose pose of the root counts: the one that is named, else the model's own.

    None for displacements that the section gives itself.
    """
    if not robot.posture:
        return own_posture(body.description)
    if isinstance(robot.posture, str):
        return body.description.postures[robot.posture]
    return None


def _stated_displacements(body: Body, stated: Posture | None) -> np.ndarray:
    """Displacements that the place which the model gives is for."""
    q = np.array([joint.description.q_initial for joint in body.joints])
    if stated is None or stated.position is None:
        return q
    return with_posture(body, q, stated)


def _balance(body: Body) -> None:
    """Move the legs of a robot that would fall over until it stands."""
    found = balanced_posture(body)
    if found is None:
        return
    change = found - body.q
    moved = [
        f'{body.joint_names[i]} {change[i]:+.2f}' for i in np.flatnonzero(np.abs(change) > 0.005)
    ]
    body.q[:] = found
    body.calc_forward_kinematics()
    if moved:
        text = f'it would fall over in its posture; joints are moved: {", ".join(moved)}'
        body.description.warnings.append(text)
        logger.warning('%s: %s', body.name, text)


def _add_rotors(body: Body, time_step: float) -> None:
    """Give joints that are too light for the period the rotor inertia that they need."""
    added = rotors_needed(body, time_step)
    chosen = np.flatnonzero(added)
    for joint in chosen:
        body.add_rotor_inertia(int(joint), float(added[joint]))
    if chosen.size:
        listed = ', '.join(f'{body.joint_names[i]} {added[i]:.2g}' for i in chosen)
        text = (
            f'joints that are too light to be held at a period of {time_step:g} s get rotors '
            f'[kg m^2, kg]: {listed}; robot.rotors: false leaves them out'
        )
        body.description.warnings.append(text)
        logger.warning('%s: %s', body.name, text)


def _put_on_ground(body: Body, other_posture: bool) -> None:
    """Move the root up or down to where it belongs."""
    links = body.links
    if body.is_fixed_root:
        links = [link for link in links if is_moving(link)]
    lowest = lowest_points(links)
    if not lowest:
        return
    height = float(min(point[2] for point in lowest.values()))
    root = body.root_link
    if body.is_fixed_root:
        if height < -TOLERANCE:
            far = reach(body.links)
            # What hangs is to swing freely; what stands on its base needs to clear the floor.
            hangs = height - root.p[2] < -HANGING_SHARE * far
            way = far - root.p[2] if hangs else CLEARANCE - height
            root.p[2] += np.ceil(100.0 * way) / 100.0
            logger.warning('%s is raised to %g m, out of the floor', body.name, root.p[2])
        return
    stated = bool(np.any(root.p != 0.0))
    if abs(height) <= TOLERANCE and stated:
        return
    if height > 0.0 and stated and not other_posture:
        return
    root.p[2] -= height


def named_posture(body: Body) -> dict[str, float]:
    """Present displacements by joint name [rad] or [m]."""
    return {joint.joint_name: float(joint.q) for joint in body.joints if joint.name}


def named_gains(body: Body, time_step: float) -> dict[str, dict[str, float]]:
    """Gains kp and kd by joint name that `pd` takes in the present posture.

    Args:
        body: the robot.
        time_step: period of the controller [s].

    Returns:
        `{'kp': {joint: gain}, 'kd': {joint: gain}}`, as the options kp_of and kd_of take them.
    """
    gains: JointGains = joint_gains(body, time_step)
    return {
        name: {
            joint.joint_name: float(value)
            for joint, value in zip(body.joints, values, strict=True)
            if joint.name
        }
        for name, values in (('kp', gains.kp), ('kd', gains.kd))
    }


def _check_size(key: str, values: list[float], size: int) -> None:
    if values and len(values) != size:
        raise not_allowed(key, values, f'it needs {size} values or none, and has {len(values)}')
