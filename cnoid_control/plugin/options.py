"""Options of controllers: as text, checked, and changed while a controller runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import yaml

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import (
    ParameterError,
    parameter_changes,
    parse_parameters,
    unknown_option,
    wrong_type,
)


def split_options(text: str) -> list[str]:
    """Words of an option string: split at spaces, `"` quotes, a backslash escapes."""
    words: list[str] = []
    word = ''
    quoted = False
    characters = iter(text)
    for character in characters:
        if character == '\\':
            word += next(characters, '')
        elif character == '"':
            quoted = not quoted
        elif character == ' ' and not quoted:
            words.append(word)
            word = ''
        else:
            word += character
    words.append(word)
    return [word for word in words if word]


def parse_option_string(text: str) -> dict[str, Any]:
    """Mapping that an option string states in YAML; empty for an empty string.

    Raises:
        ValueError: it is not YAML, or not a mapping.
    """
    if not text.strip():
        return {}
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f'option string {text!r} is not YAML: {error}') from error
    if not isinstance(values, dict):
        raise ValueError(f'option string {text!r} is not a map of options')
    return values


def format_option_string(values: Mapping[str, Any]) -> str:
    """One line of YAML that `parse_option_string` turns into the same mapping."""
    if not values:
        return ''
    return yaml.dump(
        dict(values), Dumper=_Dumper, default_flow_style=True, width=10**9, sort_keys=False
    ).strip()


class _Dumper(yaml.SafeDumper):
    """Writes paths and kinds of text as text."""


def _represent_text(dumper: _Dumper, value: object) -> yaml.Node:
    return dumper.represent_str(str(value))


_Dumper.add_multi_representer(str, _represent_text)
_Dumper.add_multi_representer(Path, _represent_text)


class Configurable(Protocol):
    """An object whose class has options in `Parameters`, as controllers and tasks have."""

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow options that change while running."""


def default_options(kind: type[Any]) -> Any:
    """Instance of a class's `Parameters`; None where it has none, or where one must be given."""
    schema = kind.Parameters
    if schema is None or any(
        item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
        for item in dataclasses.fields(schema)
    ):
        return None
    return schema()


def check_options(
    name: str,
    controller: type[Any],
    options: str | Mapping[str, Any],
    folder: Path | None = None,
) -> Any:
    """Check options against the `Parameters` of a controller, or of another class with options.

    A controller that declares none may still read an option string by itself, as in Choreonoid.

    Args:
        name: name of the controller in the run, for messages.
        controller: class of the controller.
        options: its options, as text or as a mapping.
        folder: folder that relative paths start from; the working folder where None.

    Returns:
        The checked instance; None for a controller that declares no parameters.

    Raises:
        ParameterError: an option is unknown, missing, of the wrong type or out of range.
    """
    schema = controller.Parameters
    if schema is None:
        if options and not isinstance(options, str):
            raise unknown_option(f'{name}.{next(iter(options))}', [])
        return None
    if isinstance(options, str):
        try:
            options = parse_option_string(options)
        except ValueError as error:
            raise wrong_type(name, options, 'a map of options') from error
    try:
        return parse_parameters(schema, options, name, folder)
    except CnoidControlError:
        raise
    except Exception as error:
        # A dataclass may check its values against each other in __post_init__.
        raise CnoidControlError(f'{name}: {error}') from error


def change_options(name: str, controller: Configurable, old: Any, new: Any) -> None:
    """Have a running controller follow changed options, or refuse the change by name.

    A change is refused where the option is read-only, where the class does not say by overriding
    `update_parameters` that it follows its options (an override speaks for the options that its
    own class has, not for those that a subclass adds), and where the override raises.

    Args:
        name: name of the controller in the run, for messages.
        controller: the controller, initialized with the old options.
        old: its options, checked.
        new: what they are to be, checked.

    Raises:
        ParameterError: the change is refused; the old options stay in force.
        Exception: likewise, for a reason of the controller's own.
    """
    changes = parameter_changes(old, new)
    followed = followed_options(type(controller))
    for change in changes:
        key = f'{name}.{change.key}'
        if change.read_only:
            raise ParameterError(key, 'read-only, it cannot change while the controller runs')
        if change.key.split('.')[0] not in followed:
            raise ParameterError(
                key,
                f'{type(controller).__name__} cannot change it while it runs: its class does not '
                'override update_parameters() for this option',
            )
    if not changes:
        return
    try:
        controller.update_parameters(old, new)
    except ParameterError as error:
        if error.key == name or error.key.startswith(f'{name}.'):
            raise
        raise ParameterError(f'{name}.{error.key}', error.reason) from error


def followed_options(controller: type[Any]) -> set[str]:
    """Options of the class whose `update_parameters` is in force; none for the base class."""
    owner = next(cls for cls in controller.__mro__ if 'update_parameters' in vars(cls))
    schema = getattr(owner, 'Parameters', None)
    return {field.name for field in dataclasses.fields(schema)} if schema is not None else set()
