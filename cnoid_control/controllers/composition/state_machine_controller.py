"""A controller that is one of several at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cnoid_control.controllers.composition.base_controller import BaseController, Message, named
from cnoid_control.controllers.composition.exceptions import UnknownState

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
            UnknownState: there is no such state.
        """
        self.controllers = named(controllers)  # type: ignore[arg-type]
        self._check('start', start)
        self.start = start
        self.current = start
        self.state_time = 0.0

    def _check(self, where: str, state: Any) -> None:
        if state != FINISHED and state not in self.controllers:
            raise UnknownState(where, state, [*self.controllers, FINISHED])

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
            UnknownState: there is no such state.
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
