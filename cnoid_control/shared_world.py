"""Several robots in one simulated world."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TextIO

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.rotations import rpy_matrix
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import ParameterError, unknown_option
from cnoid_control.runtime.config import RunConfig, merge, parse_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.simulated_robot import Maker, SimulatedRobot, load_source

PARTS = ('config', 'controller', 'options', 'position', 'rpy')
PHYSICS = 'mujoco'
# Values that are those of the world, where it has them.
COMMON = ('rate', 'duration')


def make_robots(
    given: Mapping[str, Any], changes: Mapping[str, Any], os: TextIO | None, record: bool = True
) -> dict[str, SimulatedRobot]:
    """Robots that share one MuJoCo simulation, by name.

    Physics, floor and things are those of the first robot's configuration, with the changes,
    which are put into the configuration of every robot. The control period is the same for all.

    Args:
        given: what `Simulation` takes as `robots`.
        changes: what `Simulation` takes as `changes`: `rate`, `duration`, `hardware.mujoco...`.
        os: stream for messages.
        record: whether every tick is kept.

    Raises:
        CnoidControlError: a configuration is wrong, or the robots cannot share a world.
    """
    from cnoid_control.hardware.mujoco.world import MujocoWorld

    if not given:
        raise CnoidControlError('robots: there is none')
    loaded = {name: _load(name, one) for name, one in given.items()}
    first = next(iter(loaded.values()))[0]
    values: dict[str, Any] = {key: first.values[key] for key in COMMON if key in first.values}
    values = merge({**values, 'hardware': first.values.get('hardware', {})}, changes)
    # What the world says counts for every robot in it.
    common = dict(changes)
    configs: dict[str, RunConfig] = {}
    makers: dict[str, Maker | None] = {}
    for name, (config, maker) in loaded.items():
        own = parse_config(merge(config.values, common), name, config.folder)
        if own.hardware_type != PHYSICS:
            raise ParameterError(
                f'robots.{name}.hardware.type',
                f'{own.hardware_type!r} cannot be shared; robots in one world are in {PHYSICS!r}',
            )
        if own.time_step != first.time_step and 'rate' not in changes:
            raise ParameterError(
                f'robots.{name}.rate',
                f'{own.parameters.rate} Hz, and that of the first robot is '
                f'{first.parameters.rate} Hz; give one `rate` for the world',
            )
        configs[name], makers[name] = own, maker
    world = parse_config(merge(first.values, values), 'world', first.folder)
    bodies = {name: _make_body(name, config, given[name]) for name, config in configs.items()}
    shared = MujocoWorld(
        {name: (bodies[name], configs[name].hardware_parameters) for name in configs},
        world.hardware_parameters,
        world.time_step,
    )
    return {
        name: SimulatedRobot(name, configs[name], makers[name], shared.robots[name], os, record)
        for name in configs
    }


def _load(name: str, given: Any) -> tuple[RunConfig, Maker | None]:
    if not re.fullmatch(r'\w+', str(name)):
        raise ParameterError(f'robots.{name}', 'a name has letters, digits and _ only')
    if not isinstance(given, Mapping):
        return load_source(given)
    for key in given:
        if key not in PARTS:
            raise unknown_option(f'robots.{name}.{key}', PARTS)
    if 'config' not in given:
        raise ParameterError(f'robots.{name}.config', 'is missing')
    return load_source(given['config'], given.get('controller'), given.get('options'))


def _make_body(name: str, config: RunConfig, given: Any) -> Body:
    """Robot in the posture of its configuration, at its place in the world."""
    body = make_robot(config.parameters.robot, config.folder, config.time_step)
    place = given if isinstance(given, Mapping) else {}
    root = body.root_link
    position = _numbers(f'robots.{name}.position', place.get('position', ()), (0, 2, 3))
    rpy = _numbers(f'robots.{name}.rpy', place.get('rpy', ()), (0, 3))
    if position:
        # Without a height it keeps its own.
        root.p = np.array([*position, root.p[2]][:3])
    if rpy:
        root.R = rpy_matrix(rpy)
    body.initialize_state()
    return body


def _numbers(key: str, values: Any, sizes: tuple[int, ...]) -> list[float]:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or array.size not in sizes or not np.isfinite(array).all():
        expected = ' or '.join(str(size) for size in sizes if size)
        raise ParameterError(key, f'{values!r} is not allowed; {expected} finite values expected')
    return [float(value) for value in array]
