"""Finds controller classes, and those of other kinds, by entry point, by module or by file."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, MappingProxyType, ModuleType
from typing import Any

from cnoid_control.entry_points import CONTROLLERS as CONTROLLER_GROUP
from cnoid_control.entry_points import EntryPoint, changed, entry_points_by_name
from cnoid_control.exceptions import choices, describe
from cnoid_control.plugin.exceptions import ControllerLoadError, unknown_plugin
from cnoid_control.plugin.own_frames import calls_text, own_frames, place_text
from cnoid_control.plugin.simple_controller import SimpleController


@dataclass(frozen=True)
class PluginKind:
    """A kind of class that configurations name.

    Attributes:
        word: what one is called in messages.
        base: class that all are derived from.
        group: entry-point group that other packages register theirs in.
        shipped: classes by their short names, or where to import them from, `module:Class`.
    """

    word: str
    base: type
    group: str
    shipped: Mapping[str, type | str] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Short names: the shipped ones, then those of entry points, sorted."""
        others = (name for name in self.entry_points() if name not in self.shipped)
        return [*self.shipped, *others]

    def entry_points(self) -> Mapping[str, EntryPoint]:
        """The registered classes by name, sorted."""
        # A look at every installed package is too much for each change of a parameter.
        return _entry_points_in(self.group, tuple((at, changed(at)) for at in sys.path))

    def find(self, name: str, base: Path | None = None) -> type:
        """Class by its name; arguments and errors as of `find_object`."""
        found = find_object(name, base, self)
        if not (isinstance(found, type) and issubclass(found, self.base)):
            raise ControllerLoadError(
                f'{name!r} is {found!r}, which is not a class derived from {self.base.__name__}'
            )
        if inspect.isabstract(found):
            missing = ', '.join(sorted(getattr(found, '__abstractmethods__', ())))
            raise ControllerLoadError(f'{self.word} {name!r} does not define {missing}')
        return found


CONTROLLERS = PluginKind('controller', SimpleController, CONTROLLER_GROUP)


def controller_entry_points() -> Mapping[str, EntryPoint]:
    """The registered controllers by name, sorted."""
    return CONTROLLERS.entry_points()


@lru_cache(maxsize=8)
def _entry_points_in(group: str, folders: tuple[tuple[str, int], ...]) -> Mapping[str, EntryPoint]:
    return MappingProxyType(entry_points_by_name(group))


def controller_names() -> list[str]:
    """Names of the registered controllers, sorted."""
    return list(controller_entry_points())


def instance_name(controller: str) -> str:
    """Name of a controller in a run: the entry point's, or the class's in snake case."""
    if ':' not in controller:
        return controller
    class_name = controller.rsplit(':', 1)[1]
    parts = re.findall(r'(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+)(?:\d+[a-z]*)*|\d+', class_name)
    return '_'.join(parts).lower() or class_name.lower()


def is_file_plugin(name: str) -> bool:
    """Whether a controller is named by a file, `path/to/file.py:Class`."""
    return ':' in name and name.rsplit(':', 1)[0].endswith('.py')


def find_controller(name: str, base: Path | None = None) -> type[SimpleController]:
    """Controller class by its name.

    Args:
        name: an entry point's name, `package.module:Class` or `path/to/file.py:Class`; a function
            may stand in the place of the class, see `controller_class`.
        base: folder that relative file paths start from; the working folder where None.

    Raises:
        ControllerLoadError: the message says what is wrong, and lists what there is.
    """
    return controller_class(name, find_object(name, base))


def controller_class(name: str, found: Any) -> type[SimpleController]:
    """Controller class of what a name stands for.

    Args:
        name: the name, for messages.
        found: a class derived from SimpleController or BaseController, a function
            `make(robot, ...)` that returns an instance of one, or a function
            `control(robot, t, ...)` that is called once per tick.

    Raises:
        ControllerLoadError: it is something else, or its arguments cannot be options.
    """
    if isinstance(found, type) and issubclass(found, SimpleController):
        return found
    # Blocks are a family of controllers, above this room: imported where one is named.
    from cnoid_control.controllers.composition.made_controller import made_controller

    return made_controller(name, found)


def find_object(name: str, base: Path | None = None, kind: PluginKind = CONTROLLERS) -> Any:
    """Whatever a name stands for, a class of its kind or not.

    Args:
        name: a short name, `package.module:object` or `path/to/file.py:object`.
        base: folder that relative file paths start from; the working folder where None.
        kind: kind of class that is looked for.

    Raises:
        ControllerLoadError: the message says what is wrong, and lists what there is.
    """
    shipped = kind.shipped.get(name, name)
    if not isinstance(shipped, str):
        return shipped
    if ':' not in shipped:
        point = kind.entry_points().get(name)
        if point is None and name.endswith('.py'):
            module = _load_file(kind.word, name, (base or Path()) / name)
            there = choices(f'{name}:{word}' for word in _classes_in(module, kind.base))
            raise ControllerLoadError(f'{name!r} names no class in the file; {there}')
        if point is None:
            raise unknown_plugin(kind.word, name, kind.names())
        try:
            return point.load()
        except (Exception, SystemExit) as error:
            raise _import_failed(kind.word, name, error) from error
    source, object_name = shipped.rsplit(':', 1)
    if source.endswith('.py'):
        module = _load_file(kind.word, name, (base or Path()) / source)
    else:
        module = _import_module(kind.word, name, source)
    found = getattr(module, object_name, None)
    if found is None:
        there = choices(_classes_in(module, kind.base) + _functions_in(module))
        raise ControllerLoadError(f'{source} has no class or function {object_name!r}; {there}')
    return found


def _import_module(word: str, name: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise _import_failed(word, name, error) from error


class _UncachedLoader(SourceFileLoader):
    """Always reads the source: a cache of bytecode misses a second edit in the same second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _load_file(word: str, name: str, path: Path) -> ModuleType:
    import hashlib

    path = path.resolve()
    # Two files of the same name must not take each other's place among the modules.
    digest = hashlib.sha1(str(path).encode()).hexdigest()[:12]
    module_name = f'cnoid_control_file_{path.stem}_{digest}'
    loader = _UncachedLoader(module_name, str(path))
    spec = importlib.util.spec_from_file_location(module_name, path, loader=loader)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ControllerLoadError(f'{word} {name!r} cannot be imported: there is no file {path}')
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up while the class statement runs, and when options are read.
    before = sys.modules.get(module_name)
    sys.modules[module_name] = module
    try:
        with _modules_beside(path.parent):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        if before is not None:
            sys.modules[module_name] = before
        raise _import_failed(word, name, error) from error
    return module


# Modules that plug-in files have imported from their own folders, and these folders.
_beside: set[str] = set()
_folders: set[str] = set()


@contextmanager
def _modules_beside(folder: Path) -> Iterator[None]:
    """Let a file import what is beside it, as a script does.

    Modules that files have imported so are read again, as they are now: another folder may have
    its own of the same name. Later imports, in functions, find the folder last.
    """
    for name in _beside:
        sys.modules.pop(name, None)
    _beside.clear()
    importlib.invalidate_caches()
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        if str(folder) not in _folders:
            _folders.add(str(folder))
            sys.path.append(str(folder))
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], '__file__', None)
            if file and Path(file).parent.is_relative_to(folder) and not _is_installed(file):
                _beside.add(name)


def _is_installed(file: str) -> bool:
    """Whether a module belongs to a package that is installed, not to a plug-in file."""
    return any(Path(file).is_relative_to(at) for at in sys.path if at and at not in _folders)


def _classes_in(module: ModuleType, base: type) -> list[str]:
    return sorted(
        name
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, base)
        and value is not base
        and not inspect.isabstract(value)
    )


def _functions_in(module: ModuleType) -> list[str]:
    return sorted(
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != '_'
    )


def _import_failed(word: str, name: str, error: BaseException) -> ControllerLoadError:
    """The error about a module that fails to import."""
    frames = own_frames(error)
    return ControllerLoadError(
        f'{word} {name!r} cannot be imported: {describe(error)}{place_text(frames)}',
        calls_text(error, frames),
    )
