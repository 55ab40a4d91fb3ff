"""State machines whose states are blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from cnoid_control.controllers.composition.base_controller import BaseController, Message, named
from cnoid_control.controllers.composition.conditions import (
    After,
    AllOf,
    Condition,
    Finished,
    MessageArrived,
    Threshold,
)
from cnoid_control.controllers.composition.controller import (
    ComposedParameters,
    CompositionController,
)
from cnoid_control.controllers.composition.exceptions import CompositionError
from cnoid_control.controllers.composition.stage import make_stage
from cnoid_control.exceptions import choices
from cnoid_control.parameters import PluginName, parameter

if TYPE_CHECKING:
    from cnoid_control.plugin import ControllerIO

FINISHED = -1


class StateMachineController(BaseController):
    """Base of state machines; the subclass says in `next_state` when to change.

    When the state changes, the old controller gets the signal 'exit' and the new one 'enter',
    with the inputs of the tick. After the state -1 there is nothing more to do.

    Attributes:
        controllers: controllers by the name of their state.
        current: name of the active state; -1 when finished.
        state_time: time since the active state was entered [s].
    """

    def __init__(
        self, controllers: Mapping[Any, BaseController] | Sequence[BaseController], start: Any = 0
    ) -> None:
        """Be in the start state.

        Args:
            controllers: one controller a state, by name, or in a list and known by number.
            start: the state to start in.

        Raises:
            CompositionError: there is no such state.
        """
        self.controllers = named(controllers)  # type: ignore[arg-type]
        self._check('start', start)
        self.start = start
        self.current = start
        self.state_time = 0.0

    def _check(self, where: str, state: Any) -> None:
        if state != FINISHED and state not in self.controllers:
            raise _unknown_state(where, state, [*self.controllers, FINISHED])

    def next_state(self, current: Any, **inputs: Any) -> Any:
        """State of the next tick; -1 to finish.

        Args:
            current: the active state.
            **inputs: the inputs of the tick, and `state_time` and `finished` of the active state.
        """
        return current

    @property
    def active(self) -> BaseController | None:
        """Controller of the active state; None when finished."""
        return self.controllers.get(self.current)

    @property
    def finished(self) -> bool:
        """Whether the last state was left."""
        return self.current == FINISHED

    @property
    def active_state(self) -> str:
        """Name of the active state."""
        return 'finished' if self.finished else str(self.current)

    def children(self) -> Mapping[Any, BaseController]:
        """The controllers of the states."""
        return self.controllers

    def transitions(self) -> list[tuple[Any, Any, str]]:
        """What is known of the transitions: from, to and when, for drawing."""
        return []

    def output(self, **inputs: Any) -> Message | None:
        """Output of the active state's controller."""
        return None if self.active is None else self.active.output(**inputs)

    def advance(self, **inputs: Any) -> None:
        """Advance the active state's controller and change the state where it is time."""
        if self.active is not None:
            self.active.advance(**inputs)
        self._change(inputs)

    def output_and_advance(self, **inputs: Any) -> Message | None:
        """Output of the active state's controller, then advance."""
        if self.active is None:
            return None
        result = self.active.output_and_advance(**inputs)
        self._change(inputs)
        return result

    def _change(self, inputs: Message) -> None:
        if self.active is None:
            return
        self.state_time += inputs.get('dt', 0.0)
        known = {**inputs, 'state_time': self.state_time, 'finished': self.active.finished}
        state = self.next_state(self.current, **known)
        self._check(str(self.current), state)
        if state != self.current:
            self.go_to(state, **inputs)

    def go_to(self, state: Any, **inputs: Any) -> None:
        """Change the state now.

        Raises:
            CompositionError: there is no such state.
        """
        self._check('go_to', state)
        if self.active is not None:
            self.active.signal('exit', **inputs)
        self.current = state
        self._entered(inputs)

    def _entered(self, inputs: Message) -> None:
        self.state_time = 0.0
        if self.active is not None:
            self.active.signal('enter', **inputs)

    def signal(self, type: str, **inputs: Any) -> None:
        """Pass a signal on to the active state; 'enter' and 'reset' begin at the start state."""
        if type in ('enter', 'reset'):
            self.current = self.start
        if type == 'enter':
            self._entered(inputs)
        elif self.active is not None:
            self.active.signal(type, **inputs)


Test = Condition | Callable[[Message], bool]


class TransitionStateMachineController(StateMachineController):
    """Changes to the first state, in the order given, whose condition is true.

    A condition is called with all inputs of the tick and with `state_time` [s] and `finished` of
    the active state.
    """

    def __init__(
        self,
        controllers: Mapping[Any, BaseController] | Sequence[BaseController],
        transitions: Mapping[Any, Mapping[Any, Test]],
        start: Any = 0,
    ) -> None:
        """Be in the start state.

        Args:
            controllers: one controller a state.
            transitions: conditions by the state to leave and the state to go to, -1 to finish.
            start: the state to start in.

        Raises:
            CompositionError: a transition or the start names a state that does not exist.
        """
        super().__init__(controllers, start)
        self._transitions = {state: dict(ways) for state, ways in transitions.items()}
        for state, ways in self._transitions.items():
            self._check('transitions', state)
            for target in ways:
                self._check(f'transitions of {state}', target)

    def next_state(self, current: Any, **inputs: Any) -> Any:
        """First state whose condition is true; the present one where there is none."""
        for state, condition in self._transitions.get(current, {}).items():
            if condition(inputs):
                return state
        return current

    def transitions(self) -> list[tuple[Any, Any, str]]:
        """From, to and when of all transitions."""
        return [
            (state, target, str(condition) if isinstance(condition, Condition) else '')
            for state, ways in self._transitions.items()
            for target, condition in ways.items()
        ]

    def _conditions(self, state: Any) -> list[Condition]:
        ways = self._transitions.get(state, {}).values()
        return [condition for condition in ways if isinstance(condition, Condition)]

    def attach(self, io: ControllerIO) -> None:
        """Enable what the conditions and the controllers need."""
        for state in self._transitions:
            for condition in self._conditions(state):
                condition.attach(io)
        super().attach(io)

    def _entered(self, inputs: Message) -> None:
        for condition in self._conditions(self.current):
            condition.reset()
        super()._entered(inputs)


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
            CompositionError: nothing is given, or a sensor without a bound.
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
            raise _no_condition(name)
        if self.sensor:
            conditions.append(Threshold(self.sensor, self.above, self.below))
        if not conditions:
            raise _no_condition(name)
        return conditions[0] if len(conditions) == 1 else AllOf(conditions)


@dataclass
class State:
    """One state: its controller, and where to go from it."""

    controller: PluginName = parameter(
        description='entry point, module:Class or file.py:Class', read_only=True
    )
    options: dict[str, Any] = parameter({}, "the controller's options")
    next: dict[str, Transition] = parameter(
        {}, f'transitions by the state that they lead to; {END!r} finishes', read_only=True
    )


@dataclass
class StateMachineParameters(ComposedParameters):
    """Options of `controller: state_machine`."""

    start: str = parameter('', 'state to start in; the first one where empty', read_only=True)
    states: dict[str, State] = parameter({}, 'states by name')


class ConfiguredStateMachine(CompositionController):
    """Runs the controller of one configured state at a time."""

    Parameters: ClassVar[type | None] = StateMachineParameters
    parts_key = 'states'

    @classmethod
    def build(
        cls, parameters: StateMachineParameters, folder: Path | None = None
    ) -> BaseController:
        """Make the state machine.

        Raises:
            CompositionError: the start or a transition names a state that does not exist, or a
                transition says nothing of when.
        """
        states = parameters.states
        known = [*states, END]
        start = parameters.start or next(iter(states), '')
        if start not in states:
            raise _unknown_state('start', start, states)
        transitions: dict[str, dict[Any, Condition]] = {}
        for name, state in states.items():
            transitions[name] = {}
            for target, transition in state.next.items():
                where = f'states.{name}.next.{target}'
                if target not in known:
                    raise _unknown_state(where, target, known)
                key = FINISHED if target == END else target
                transitions[name][key] = transition.condition(where)
        controllers = {
            name: make_stage(name, state.controller, state.options, folder=folder)
            for name, state in states.items()
        }
        return TransitionStateMachineController(controllers, transitions, start)

    @staticmethod
    def part_options(parameters: StateMachineParameters) -> dict[str, Mapping[str, Any]]:
        """Options of the states by name."""
        return {name: part.options for name, part in parameters.states.items()}

    def update_parameters(self, old: StateMachineParameters, new: StateMachineParameters) -> None:
        """Use new gains, and pass changed options of the states on to them."""
        super().update_parameters(old, new)


def _unknown_state(where: str, state: object, known: Iterable[object]) -> CompositionError:
    """The error about a state that a state machine does not have."""
    return CompositionError(f'{where}: unknown state {state!r}; {choices(known)}')


def _no_condition(name: str) -> CompositionError:
    """The error about a transition that can never happen."""
    return CompositionError(
        f'{name}: say when: after, finished, message, or sensor with above or below'
    )
