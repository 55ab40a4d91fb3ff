"""Public names of a package that are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """`__getattr__` for a package whose modules take their time to import.

    Args:
        package: name of the package.
        modules: the module of the package that defines each public name.
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f'module {package!r} has no attribute {name!r}')
        return getattr(import_module(f'{package}.{modules[name]}'), name)

    return find
