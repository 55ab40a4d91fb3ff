"""Option strings of controllers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml


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
    return yaml.safe_dump(
        dict(values), default_flow_style=True, width=10**9, sort_keys=False
    ).strip()
