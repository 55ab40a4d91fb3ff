"""Controllers put together from controllers: sequences, state machines, blackboards."""

from cnoid_control.controllers.composition.base_controller import BaseController
from cnoid_control.controllers.composition.compose_controller import ComposeController
from cnoid_control.controllers.composition.composed_controller import ComposedController
from cnoid_control.controllers.composition.lambda_controller import LambdaController
from cnoid_control.controllers.composition.linear_controller import LinearController
from cnoid_control.controllers.composition.multi_controller import MultiController
from cnoid_control.controllers.composition.simple_controller_stage import SimpleControllerStage
from cnoid_control.controllers.composition.state_machine_controller import (
    StateMachineController,
)
from cnoid_control.controllers.composition.timed_controller_sequence import (
    TimedControllerSequence,
)
from cnoid_control.controllers.composition.transition_state_machine_controller import (
    TransitionStateMachineController,
)

__all__ = [
    'BaseController',
    'ComposeController',
    'ComposedController',
    'LambdaController',
    'LinearController',
    'MultiController',
    'SimpleControllerStage',
    'StateMachineController',
    'TimedControllerSequence',
    'TransitionStateMachineController',
]
