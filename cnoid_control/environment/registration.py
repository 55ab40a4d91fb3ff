"""Makes `gymnasium.make` know the environment, whichever of the two packages comes first."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    # Their methods are all there; to import the classes would cost every command line its time.
    Loader = MetaPathFinder = object

NAME = 'cnoid_control/Env-v0'
ENTRY_POINT = 'cnoid_control.environment.environment:Environment'
LIBRARY = 'gymnasium'


def register() -> None:
    """Register the environment with gymnasium, at once or when that is imported."""
    if LIBRARY in sys.modules:
        _register()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # To import it here would cost every command line its time.
        sys.meta_path.insert(0, _Finder())


def _register() -> None:
    import gymnasium

    if NAME not in gymnasium.registry:
        gymnasium.register(NAME, ENTRY_POINT)


class _Finder(MetaPathFinder):
    """Waits for gymnasium to be imported; to look for it is not yet to import it."""

    _is_looking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != LIBRARY or self._is_looking:
            return None
        self._is_looking = True
        try:
            spec = find_spec(fullname)
        finally:
            self._is_looking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    """Loads as another one does, and registers then."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None  # It is being loaded by it.
        spec.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, _Finder)]
        _register()
