"""Errors of robot models and recorded motions."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class ModelError(CnoidControlError):
    """A robot model cannot be used as it is.

    Attributes:
        source: file or model the message is about; empty where unknown.
    """

    def __init__(self, message: str, source: str = '') -> None:
        """Prefix the message with the source.

        Args:
            message: what is wrong, naming the element and its value.
            source: file or model the message is about.
        """
        self.source = source
        super().__init__(f'{source}: {message}' if source else message)


class PathOutsidePackage(ModelError):
    """An address that leads out of the package that it names or belongs to."""

    def __init__(self, uri: str, folder: object, source: str = '') -> None:
        """Name the address and the folder it may not leave."""
        super().__init__(f'{uri!r} leads out of {folder}', source)


class UnknownLink(ModelError):
    """A link name that the model does not have."""

    def __init__(self, name: object, known: Iterable[str], source: str = '') -> None:
        """Name the link and the links that exist."""
        self.name = name
        super().__init__(f'unknown link {name!r}; {choices(known)}', source)


class UnknownJoint(ModelError):
    """A joint name or id that the model does not have."""

    def __init__(self, name: object, known: Iterable[str], source: str = '') -> None:
        """Name the joint and the joints that exist."""
        self.name = name
        super().__init__(f'unknown joint {name!r}; {choices(known)}', source)


class MotionError(CnoidControlError):
    """A recorded motion cannot be used.

    Attributes:
        source: file the message is about.
    """

    def __init__(self, source: str, message: str) -> None:
        """Name the file and what is wrong with it."""
        self.source = source
        super().__init__(f'{source}: {message}')


# Sentences that several readers of models need.


def missing_value(element: str, key: str, source: str = '') -> ModelError:
    """Error of an element that lacks a value."""
    return ModelError(f'{element} lacks {key!r}', source)


def invalid_value(
    element: str, key: str, value: object, expected: str, source: str = ''
) -> ModelError:
    """Error of a value that is not of the kind expected."""
    return ModelError(f'{element}: {key} is {value!r}; expected {expected}', source)


def unknown_type(element: str, kind: object, known: Iterable[str], source: str = '') -> ModelError:
    """Error of an element whose type does not exist, or not at that place."""
    return ModelError(f'{element} has unknown type {kind!r}; {choices(known)}', source)


def duplicate_name(kind: str, name: str, source: str = '') -> ModelError:
    """Error of two elements of one kind with the same name."""
    return ModelError(f'two {kind}s are named {name!r}', source)


def root_link_error(roots: Iterable[str], source: str = '') -> ModelError:
    """Error of a model with no root link, or with more than one."""
    listed = ', '.join(roots) or 'none'
    return ModelError(f'a model needs exactly one root link; without a parent: {listed}', source)
