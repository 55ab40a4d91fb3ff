"""A state machine with explicit conditions for its transitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cnoid_control.controllers.composition.base_controller import BaseController, Message
from cnoid_control.controllers.composition.conditions import Condition
from cnoid_control.controllers.composition.state_machine_controller import StateMachineController

if TYPE_CHECKING:
    from cnoid_control.plugin import ControllerIO

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
            UnknownState: a transition or the start names a state that does not exist.
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
