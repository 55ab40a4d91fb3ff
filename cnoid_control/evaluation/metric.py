"""Metrics of a user by name; they travel to other processes by that name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import locate_plugin
from cnoid_control.plugin.registry import PluginKind, find_object
from cnoid_control.simulation import Simulation

KIND = PluginKind('metric', object, 'cnoid_control.metrics')


class NamedMetric:
    """A function of a finished `Simulation` that is found by its name, once per process."""

    def __init__(self, name: str) -> None:
        """Find the function.

        Args:
            name: `package.module:function` or `path/to/file.py:function`, from the working
                folder.

        Raises:
            CnoidControlError: there is none.
        """
        self.name = self.__name__ = locate_plugin(name, Path.cwd())
        self._function = find_object(self.name, None, KIND)
        if not callable(self._function):
            raise CnoidControlError(f'metric {name!r} is {self._function!r}, which is no function')

    def __call__(self, simulation: Simulation) -> Any:
        """What the function returns."""
        return self._function(simulation)

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return NamedMetric, (self.name,)
