"""Folder of the parameter file that a node was started with."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from cnoid_control.parameters import wrong_type

KEY = 'config_folder'


def config_folder(values: Mapping[str, Any], words: Sequence[str] | None = None) -> Path:
    """Folder that relative paths in parameters start from.

    A parameter does not say which file it comes from. The first file on the command line is the
    configuration: what a launch file changes comes behind it, in files of its own.

    Args:
        values: the node's parameters; `config_folder` among them overrules the rest.
        words: the words of the command line; those of the process where None.

    Raises:
        ParameterError: `config_folder` is no text.
    """
    given = values.get(KEY, '')
    if not isinstance(given, str):
        raise wrong_type(KEY, given, 'a folder')
    if given:
        return Path(given).expanduser().absolute()
    line = list(sys.argv if words is None else words)
    for word, following in pairwise(line):
        if word == '--params-file':
            return Path(following).expanduser().absolute().parent
    return Path.cwd()
