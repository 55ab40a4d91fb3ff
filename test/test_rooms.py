"""The rooms of the package: their public names, and imports that point one way.

The table in the README says what a room may import: what it names there, what those rooms may
import, and the modules that every room shares.
"""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / 'cnoid_control'
ROOMS = sorted(
    '.'.join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob('__init__.py')
)
# The Python API stands beside the rooms, in modules of its own.
API = {'simulation', 'simulated_robot', 'shared_world', 'recording', 'notebook'}
SHARED = {
    'entry_points', 'exceptions', 'interpolation', 'lazy', 'parameter_reference', 'parameters',
    'share', 'standard_streams', 'strict_yaml',
}  # fmt: skip
# Functions that make controllers are run by blocks, which are controllers themselves: the
# registry asks for that family where one is named, and only then.
UPWARDS = {('plugin/registry.py', 'controllers')}
# The tools on top of the ROS rooms.
TOOLS = {'bench', 'cli', 'demo', 'faults', 'viewer'}


def may_import() -> dict[str, set[str]]:
    """What each room may import, by the README's table."""
    readme = (ROOT / 'README.md').read_text(encoding='utf-8')
    allowed: dict[str, set[str]] = {}
    for line in readme[readme.index('| room |') :].splitlines()[2:]:
        if not line.startswith('|'):
            break
        first, _, last = (cell.strip() for cell in line.strip('|').split('|'))
        rooms = set(re.findall(r'`([\w.]+)`', first))
        rooms = API if 'simulation.py' in rooms else rooms
        words = set(allowed) if last == 'all above' else set(re.findall(r'\w+', last))
        named = words & set(allowed)
        assert named | {'pinocchio'} >= words, f'{first}: {words - named} are not rooms above it'
        below = named.union(*(allowed[room] for room in named))
        for room in rooms:
            allowed[room] = below | rooms
    return allowed


def imports_of(path: Path) -> list[tuple[int, str]]:
    """Line and full name of each module that a file imports, at the top or where it is used."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f'{path}:{node.lineno}: a relative import'
            module = node.module or ''
            whole = module == 'cnoid_control'
            names = [f'{module}.{name.name}' for name in node.names] if whole else [module]
            found += [(node.lineno, name) for name in names]
    return found


def room_of(path: Path) -> str:
    """Room of a file, or the name of a module beside the rooms."""
    return path.relative_to(PACKAGE).parts[0].removesuffix('.py')


def test_imports_point_one_way():
    """No room imports one that stands above it."""
    allowed = may_import() | {name: set() for name in SHARED}
    wrong = []
    for path in PACKAGE.rglob('*.py'):
        room, name = room_of(path), str(path.relative_to(PACKAGE))
        if room == '__init__':
            continue
        for line, module in imports_of(path):
            parts = module.split('.')
            if parts[0] != 'cnoid_control' or parts[1] in allowed[room] | SHARED | {room}:
                continue
            if (name, parts[1]) not in UPWARDS:
                wrong.append(f'{name}:{line} imports {module}')
    assert not wrong


def test_ros_is_imported_by_the_ros_rooms_alone():
    """Rooms below them run where there is no ROS; the tools on top come after them."""
    ros = re.compile(r'(rclpy|launch|launch_ros|\w+_msgs)(\.|$)')
    wrong = [
        f'{path.relative_to(PACKAGE)}:{line} imports {module}'
        for path in PACKAGE.rglob('*.py')
        if room_of(path) not in TOOLS | {'ros'}
        for line, module in imports_of(path)
        if ros.match(module)
    ]
    assert not wrong


@pytest.mark.parametrize('room', ROOMS)
def test_every_room_lists_its_public_names(room):
    """Each has an `__all__` without repeats, and every name of it that needs no ROS can be had."""
    module = importlib.import_module(room)
    assert len(module.__all__) == len(set(module.__all__))
    if room.split('.')[1:2] != ['ros']:
        for name in module.__all__:
            assert getattr(module, name) is not None
