"""What can be wrong with an option: one class per fact."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class ParameterError(CnoidControlError):
    """An option cannot be used as it was given."""

    def __init__(self, key: str, message: str) -> None:
        """Name the full key of the option and what is wrong with it."""
        self.key = key
        super().__init__(f'{key}: {message}')


class UnknownParameter(ParameterError):
    """An option that does not exist."""

    def __init__(self, key: str, known: Iterable[str]) -> None:
        """Name the option and those that exist."""
        super().__init__(key, f'unknown option; {choices(known)}')


class MissingParameter(ParameterError):
    """An option that must be given and is not."""

    def __init__(self, key: str) -> None:
        """Name the option."""
        super().__init__(key, 'is missing')


class WrongParameterType(ParameterError):
    """An option of the wrong type."""

    def __init__(self, key: str, value: object, expected: str) -> None:
        """Name the option, its value and what was expected."""
        super().__init__(key, f'{expected} expected, got {value!r} ({type(value).__name__})')


class ParameterOutOfRange(ParameterError):
    """An option outside its range or not among its choices."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        """Name the option, its value and what is allowed."""
        super().__init__(key, f'{value!r} is not allowed; {allowed}')
