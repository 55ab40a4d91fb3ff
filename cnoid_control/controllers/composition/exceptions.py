"""What can be wrong with composed controllers: one class per fact."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class CompositionError(CnoidControlError):
    """Controllers that cannot be put together or run as they are."""


class UnknownState(CompositionError):
    """A state that a state machine does not have."""

    def __init__(self, where: str, state: object, known: Iterable[object]) -> None:
        """Name the place, the state and the states that exist."""
        super().__init__(f'{where}: unknown state {state!r}; {choices(known)}')


class CompositionCycle(CompositionError):
    """Controllers that wait for each other within one tick, or that contain themselves."""

    def __init__(self, names: Iterable[str]) -> None:
        """Name the controllers in the cycle."""
        super().__init__(f'cycle without delay: {" -> ".join(names)}')


class WrongTimes(CompositionError):
    """Switching times that do not fit the controllers of a sequence."""

    def __init__(self, times: object, count: int) -> None:
        """Name the times [s] and the number of controllers."""
        super().__init__(f'{count} controllers need {count} increasing times, got {times}')


class WrongCommand(CompositionError):
    """A command message that says nothing that actuators understand."""

    def __init__(self, key: str, value: object, expected: str) -> None:
        """Name the key, its value and what was expected."""
        super().__init__(f'{key} is {value!r}; {expected}')


class UnknownItem(CompositionError):
    """An item that no message has."""

    def __init__(self, item: str, known: Iterable[str]) -> None:
        """Name the item and those that there are."""
        super().__init__(f'unknown item {item!r}; {choices(known)}')


class StageRefused(CompositionError):
    """A controller inside a composition that cannot be used."""

    def __init__(self, name: str, reason: str) -> None:
        """Name the controller and why."""
        super().__init__(f'{name}: {reason}')


class InvalidCondition(CompositionError):
    """A transition that can never happen."""

    def __init__(self, name: str) -> None:
        """Name the transition."""
        super().__init__(
            f'{name}: say when: after, finished, message, or sensor with above or below'
        )
