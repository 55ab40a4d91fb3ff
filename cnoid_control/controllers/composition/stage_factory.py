"""Makes the parts of a composition from their names and options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cnoid_control.controllers.composition.base_controller import BaseController
from cnoid_control.controllers.composition.composed_controller import ComposedController
from cnoid_control.controllers.composition.exceptions import StageRefused
from cnoid_control.controllers.composition.made_controller import MadeController
from cnoid_control.controllers.composition.simple_controller_stage import SimpleControllerStage
from cnoid_control.parameters import parse_parameters
from cnoid_control.plugin import SimpleController
from cnoid_control.plugin.registry import find_object

# Blocks that have a short name; they are parts of compositions only.
BLOCKS = {
    name: f'cnoid_control.controllers.estimators:{cls}'
    for name, cls in {
        'true_state': 'TrueStateEstimator',
        'encoder_estimator': 'EncoderEstimator',
        'base_estimator': 'BaseEstimator',
        'momentum_observer': 'MomentumObserver',
    }.items()
}


def make_stage(
    name: str, controller: str, options: Mapping[str, Any], joints: Sequence[str] = ()
) -> BaseController:
    """Part of a composition.

    Args:
        name: name of the part, for messages.
        controller: an entry point, `package.module:Class`, `file.py:Class` or one of the
            estimators; a SimpleController, a BaseController, or a function `make(robot, ...)` that
            returns a BaseController.
        options: its options.
        joints: joints that a SimpleController may command; all that it does where empty.

    Raises:
        ControllerLoadError: there is no such controller.
        ParameterError: an option is wrong.
        StageRefused: what was found is no controller.
    """
    found = find_object(BLOCKS.get(controller, controller))
    if isinstance(found, type) and issubclass(found, ComposedController):
        return found.build(parse_parameters(found.Parameters, options, name))  # type: ignore[arg-type]
    if isinstance(found, type) and issubclass(found, SimpleController):
        return SimpleControllerStage(name, found(), options, joints)
    if isinstance(found, type) and issubclass(found, BaseController):
        schema = getattr(found, 'Parameters', None)
        if schema is not None:
            return found(parse_parameters(schema, options, name))  # type: ignore[call-arg]
        return found(**options)
    if not callable(found):
        raise StageRefused(name, f'{controller!r} is no controller: {found!r}')
    return MadeController(name, found, options)
