"""A state machine from a configuration."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from cnoid_control.controllers.composition.base_controller import BaseController
from cnoid_control.controllers.composition.composed_controller import (
    ComposedController,
    ComposedParameters,
)
from cnoid_control.controllers.composition.conditions import (
    After,
    AllOf,
    Condition,
    Finished,
    MessageArrived,
    Threshold,
)
from cnoid_control.controllers.composition.exceptions import InvalidCondition, UnknownState
from cnoid_control.controllers.composition.stage_factory import make_stage
from cnoid_control.controllers.composition.state_machine_controller import FINISHED
from cnoid_control.controllers.composition.transition_state_machine_controller import (
    TransitionStateMachineController,
)
from cnoid_control.parameters import parameter

END = 'end'


@dataclass
class Transition:
    """When to go to another state; all that is given must be true."""

    after: float = parameter(-1.0, 'time in the state; negative for none', unit='s')
    finished: bool = parameter(False, "when the state's controller has nothing more to do")
    sensor: str = parameter('', "item to compare, 'NAME[i]' or 'NAME' for the norm")
    above: float = parameter(math.inf, 'bound that the sensor must exceed')
    below: float = parameter(-math.inf, 'bound that the sensor must fall below')
    message: str = parameter('', 'mailbox (a topic or service) in which a trigger must arrive')

    def condition(self, name: str) -> Condition:
        """The condition.

        Raises:
            InvalidCondition: nothing is given, or a sensor without a bound.
        """
        conditions: list[Condition] = []
        if self.after >= 0.0:
            conditions.append(After(self.after))
        if self.finished:
            conditions.append(Finished())
        if self.message:
            conditions.append(MessageArrived(self.message))
        bounded = math.isfinite(self.above) or math.isfinite(self.below)
        if bool(self.sensor) != bounded:
            raise InvalidCondition(name)
        if self.sensor:
            conditions.append(Threshold(self.sensor, self.above, self.below))
        if not conditions:
            raise InvalidCondition(name)
        return conditions[0] if len(conditions) == 1 else AllOf(conditions)


@dataclass
class State:
    """One state: its controller, and where to go from it."""

    controller: str = parameter(description='entry point, module:Class or file.py:Class')
    options: dict[str, Any] = parameter({}, "the controller's options")
    next: dict[str, Transition] = parameter(
        {}, f'transitions by the state that they lead to; {END!r} finishes'
    )


@dataclass
class StateMachineParameters(ComposedParameters):
    """Options of `controller: state_machine`."""

    start: str = parameter('', 'state to start in; the first one where empty')
    states: dict[str, State] = parameter({}, 'states by name')


class ConfiguredStateMachine(ComposedController):
    """Runs the controller of one configured state at a time."""

    Parameters: ClassVar[type | None] = StateMachineParameters

    @classmethod
    def build(cls, parameters: StateMachineParameters) -> BaseController:
        """Make the state machine.

        Raises:
            UnknownState: the start or a transition names a state that does not exist.
            InvalidCondition: a transition says nothing of when.
        """
        states = parameters.states
        known = [*states, END]
        start = parameters.start or next(iter(states), '')
        if start not in states:
            raise UnknownState('start', start, states)
        transitions: dict[str, dict[Any, Condition]] = {}
        for name, state in states.items():
            transitions[name] = {}
            for target, transition in state.next.items():
                where = f'states.{name}.next.{target}'
                if target not in known:
                    raise UnknownState(where, target, known)
                key = FINISHED if target == END else target
                transitions[name][key] = transition.condition(where)
        controllers = {
            name: make_stage(name, state.controller, state.options)
            for name, state in states.items()
        }
        return TransitionStateMachineController(controllers, transitions, start)
