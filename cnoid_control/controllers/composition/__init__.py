"""Controllers put together from controllers: sequences, state machines, blackboards."""

from cnoid_control.controllers.composition.base_controller import (
    BaseController,
    ComposeController,
    LambdaController,
    LinearController,
)
from cnoid_control.controllers.composition.controller import CompositionController
from cnoid_control.controllers.composition.multi import MultiController
from cnoid_control.controllers.composition.sequence import TimedControllerSequence
from cnoid_control.controllers.composition.stage import SimpleControllerStage
from cnoid_control.controllers.composition.state_machine import (
    StateMachineController,
    TransitionStateMachineController,
)

__all__ = [
    'BaseController',
    'ComposeController',
    'CompositionController',
    'LambdaController',
    'LinearController',
    'MultiController',
    'SimpleControllerStage',
    'StateMachineController',
    'TimedControllerSequence',
    'TransitionStateMachineController',
]
