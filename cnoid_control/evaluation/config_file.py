"""Configurations of single runs as files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cnoid_control.parameters import TO_FILL_IN
from cnoid_control.runtime.config import RunConfig
from cnoid_control.strict_yaml import ros_yaml


def config_text(config: RunConfig, title: str) -> str:
    """Parameter file of a configuration that can be anywhere; numbers are exact.

    Args:
        config: the configuration.
        title: comment at the top.
    """
    values = _located(config.values, config.folder)
    content = {'/**': {'ros__parameters': values}}
    return f'# {title}\n{ros_yaml(content)}'


def _located(value: Any, folder: Path) -> Any:
    """Values with the files of the configuration's folder as absolute paths."""
    if isinstance(value, Mapping):
        return {str(key): _located(item, folder) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_located(item, folder) for item in value]
    if isinstance(value, str):
        return _located_text(str(value), folder)
    return value


def _located_text(text: str, folder: Path) -> str:
    if not text or text.startswith(TO_FILL_IN) or len(text) > 1000:
        return text
    # `file.py:Class` names a file, too.
    source, colon, name = text.rpartition(':')
    file = source if source.endswith('.py') else text
    path = folder / file
    if Path(file).suffix and path.is_file():
        where = str(path.resolve())
        return f'{where}{colon}{name}' if file == source and colon else where
    return text
