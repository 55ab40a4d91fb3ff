"""Makes the robot, the controllers and the loop that a configuration describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import numpy as np

from cnoid_control.body import Body, JointType
from cnoid_control.body.formats.load import load_body
from cnoid_control.body.link import rotation_matrix
from cnoid_control.hardware.hardware import Hardware
from cnoid_control.hardware.registry import create_hardware
from cnoid_control.parameters import ParameterOutOfRange
from cnoid_control.plugin import SimpleController
from cnoid_control.plugin.registry import find_controller
from cnoid_control.runtime.config import OtherController, RobotParameters, RunConfig
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import ControllerRaised, UnknownParentController
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.managed_controller import ManagedController, check_options
from cnoid_control.runtime.safety.limits import CommandLimiter
from cnoid_control.runtime.trace import TickTrace
from cnoid_control.share import shared_file


def make_robot(robot: RobotParameters, folder: Path) -> Body:
    """Body of the robot section, in its initial posture and place.

    Args:
        robot: the section.
        folder: folder that a relative model path starts from.

    Raises:
        ModelError: the model cannot be used.
        ParameterOutOfRange: the posture or place has the wrong size.
    """
    root = JointType(robot.root) if robot.root else None
    body = load_body(_find_model(robot.model, folder), root, robot.name)
    place_robot(body, robot)
    return body


def place_robot(body: Body, robot: RobotParameters) -> None:
    """Put a body into the posture and place of the robot section.

    Raises:
        ParameterOutOfRange: the posture or place has the wrong size.
    """
    _check_size('robot.posture', robot.posture, body.num_joints)
    _check_size('robot.position', robot.position, 3)
    _check_size('robot.rpy', robot.rpy, 3)
    if robot.posture:
        body.q[:] = robot.posture
    if robot.position:
        body.root_link.p = np.array(robot.position)
    if robot.rpy:
        body.root_link.R = _rpy_matrix(*robot.rpy)
    body.initialize_state()


def make_controllers(config: RunConfig) -> list[ManagedController]:
    """Controllers of a configuration with their sub-controllers attached.

    Raises:
        ControllerError: a controller cannot be found or loaded.
        ParameterError: an option is wrong.
        ControllerRaised: a controller cannot be made.
        UnknownParentController: a sub-controller's parent does not exist.
    """
    main = config.controller_name
    types = {main: config.parameters.controller}
    others = config.parameters.other_controllers
    if main in others:
        raise ParameterOutOfRange('other_controllers', main, 'it is the main controller')
    types |= {name: other.type or name for name, other in others.items()}
    managed = {
        name: ManagedController(
            name,
            _make_instance(name, find_controller(type_, config.folder)),
            config.options.get(name, {}),
        )
        for name, type_ in types.items()
    }
    for name, options in config.options.items():
        if name not in managed:
            # It waits for a swap, where a mistake would be found too late.
            check_options(name, find_controller(name, config.folder), options)
    top = [managed[main]]
    for name, other in others.items():
        if not other.parent:
            top.append(managed[name])
        elif other.parent in managed and not _is_own_ancestor(name, others):
            managed[other.parent].children.append(managed[name])
        else:
            known = [key for key in managed if key != name]
            raise UnknownParentController(name, other.parent, known)
    return top


def _is_own_ancestor(name: str, others: Mapping[str, OtherController]) -> bool:
    """Whether a controller is its own ancestor."""
    parent = others[name].parent
    for _ in others:
        if parent == name:
            return True
        parent = others[parent].parent if parent in others else ''
    return False


def _make_instance(name: str, controller: type[SimpleController]) -> SimpleController:
    try:
        return controller()
    except (Exception, SystemExit) as error:
        raise ControllerRaised(name, '__init__', None, error) from error


def fallback_maker(
    config: RunConfig, body: Body, os: TextIO | None = None
) -> Callable[[], ControllerHost] | None:
    """What makes the controller that commands in the safe state; None where there is none.

    Args:
        config: the configuration.
        body: body of the hardware.
        os: stream for messages; the standard error where None.
    """
    given = config.parameters
    if not given.safe_state.fallback:
        return None
    wanted = replace(given, controller=given.safe_state.fallback, other_controllers={})
    changed = replace(config, parameters=wanted)
    return lambda: ControllerHost(make_controllers(changed), body, config.time_step, os)


def make_loop(
    config: RunConfig,
    hardware: Hardware | None = None,
    os: TextIO | None = None,
    detailed_trace: bool = False,
) -> ControlLoop:
    """The whole loop of a configuration, ready to run.

    Args:
        config: the configuration.
        hardware: what to run on; made from the configuration where None.
        os: stream for messages; the standard error where None.
        detailed_trace: whether the trace holds what plots need.
    """
    controllers = make_controllers(config)
    if hardware is None:
        body = make_robot(config.parameters.robot, config.folder)
        hardware = create_hardware(
            config.hardware_type, body, config.hardware_parameters, config.time_step
        )
    host = ControllerHost(
        controllers, hardware.body, hardware.time_step, os, config.parameters.strict
    )
    limiter = CommandLimiter(hardware.body, config.parameters.limits, hardware.time_step)
    return ControlLoop(
        hardware,
        host,
        limiter=limiter,
        trace=TickTrace(hardware.body, detailed_trace),
        active_control_only=config.parameters.active_control_only,
    )


def _find_model(model: str, folder: Path) -> str:
    if '://' in model:
        return model
    if (folder / model).is_file():
        return str(folder / model)
    return str(shared_file('urdf', model))


def _check_size(key: str, values: list[float], size: int) -> None:
    if values and len(values) != size:
        raise ParameterOutOfRange(
            key, values, f'it needs {size} values or none, and has {len(values)}'
        )


def _rpy_matrix(roll: float, pitch: float, yaw: float) -> np.ndarray:
    about_x = rotation_matrix(([1.0, 0.0, 0.0], roll))
    about_y = rotation_matrix(([0.0, 1.0, 0.0], pitch))
    return rotation_matrix(([0.0, 0.0, 1.0], yaw)) @ about_y @ about_x
