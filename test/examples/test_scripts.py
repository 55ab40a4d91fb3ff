"""Every script in examples/ runs from anywhere, and says what it shows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / 'examples'
SCRIPTS = sorted(EXAMPLES.glob('*.py'))
LONGEST = 80
# Scripts that are controllers, which other tests run by name.
CONTROLLERS = ('sway',)
# What each prints: as regular expressions, numbers by a group `name` with their bounds.
SAYS: dict[str, list[str]] = {
    'cartesian_task': [r'a circle of 0.1 m, with at most (?P<error_mm>[\d.]+) mm error'],
    'evaluate_push': [r'(?P<share>\d+)% of 24 runs pass', r'failures have high push.one.force'],
    'gravity_compensation': [
        r'no joint has moved by more than (?P<sagged>[\d.]+) rad',
        r'a joint has moved by (?P<led>[\d.]+) rad',
    ],
    'gym_environment': [
        r'seed 1: fell, return (?P<first>\S+), .*\nseed 1: fell, return (?P=first), ',
        r'rewards in two processes: \[9\.9\d* 9\.9\d*\]',
    ],
    'inverse_kinematics': [
        r'finite difference to (?P<jacobian>\S+)\n',
        r'(?P<reached>\d+) of 100 poses',
        r'the last one to (?P<micrometres>[\d.]+) micrometres',
    ],
    'motion_queue': [
        r'broken off: 0.00 s remain',
        r'it ends at \[ 0\.17\d -1\.57\d\]; .* commanded (?P<speed>[\d.]+) rad/s',
    ],
    'own_controller': [r'the arm swings by 0\.6', r'SR1 stands: True'],
    'own_function': [r'each joint swings by \[0\.5 ', r'largest error is (?P<error>[\d.]+) rad'],
    'push_and_log': [
        r'SR1 stands: True',
        r'of (?P<weight>\d+) N of weight, the ankles bear (?P<borne>\d+) N',
    ],
    'push_and_plot': [r'200 N for 0\.1 s', r'push\.png shows it'],
    'state_machine': [r'after 3 s: wait, joint2 at -?0\.0', r'finished after (?P<end>[\d.]+) s'],
    'swap_controllers': [r"refused: 'broken'", r'still walks: SR1WalkPatternController'],
    'train_policy': [
        r'generation 1: best return (?P<before>\S+)',
        r'generation 9: best return (?P<after>\S+)',
        r'as controller: policy, the rod ends (?P<off>[\d.]+) degrees',
    ],
    'trajectory': [r'succeeded after (?P<time>[\d.]+) s', r'at 2 s the joints are at \[0\.2 '],
    'tune_gains': [
        r'15 trials',
        r'error was (?P<before>[\d.]+) rad and is (?P<after>[\d.]+) rad',
        r'runs as it is: completed',
    ],
    'two_robots': [r'front: moved by \+', r'back: moved by \+.* fell: True'],
    'walking_policy': [
        r'forward: (?P<ahead>[\d.]+) m/s ahead',
        r'left: \S+ m/s ahead, (?P<left>[\d.]+) m/s left',
        r'turn: .* (?P<rate>[\d.]+) rad/s',
        r'it stands: True',
    ],
}
BOUNDS: dict[str, dict[str, tuple[float, float]]] = {
    'cartesian_task': {'error_mm': (0.0, 10.0)},
    'evaluate_push': {'share': (30.0, 90.0)},
    'gravity_compensation': {'sagged': (0.0, 0.02), 'led': (0.3, 2.0)},
    'inverse_kinematics': {
        'jacobian': (0.0, 1e-5),
        'reached': (95.0, 100.0),
        'micrometres': (0.0, 10.0),
    },
    'motion_queue': {'speed': (0.5, 7.0)},
    'own_function': {'error': (0.0, 0.02)},
    'push_and_log': {'weight': (1200.0, 1350.0), 'borne': (1150.0, 1300.0)},
    'state_machine': {'end': (3.1, 5.0)},
    'train_policy': {'before': (-60.0, -20.0), 'after': (-10.0, 60.0)},
    'tune_gains': {'before': (0.08, 0.09), 'after': (0.0, 0.075)},
    'trajectory': {'time': (2.99, 3.2)},
    'walking_policy': {'ahead': (0.35, 0.45), 'left': (0.15, 0.25), 'rate': (0.5, 0.7)},
}
# A shorter version of what takes minutes.
ARGUMENTS = {'train_policy': ['9']}
NEEDS = {'train_policy': ('cmaes', 'onnx', 'onnxruntime', 'gymnasium'), 'tune_gains': ('optuna',)}


@pytest.mark.parametrize('name', sorted(SAYS))
def test_an_example_says_what_it_shows(name: str, tmp_path: Path) -> None:
    """In an empty folder, within bounds that a broken one would miss."""
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f'{name}.py'), *ARGUMENTS.get(name, [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    numbers: dict[str, str] = {}
    for expression in SAYS[name]:
        match = re.search(expression, done.stdout)
        assert match is not None, f'{expression!r} is not in {done.stdout!r}'
        numbers |= match.groupdict()
    for key, (low, high) in BOUNDS.get(name, {}).items():
        assert low <= float(numbers[key]) <= high, f'{key} is {numbers[key]}'


def test_every_example_is_run() -> None:
    """A script that nobody runs would rot."""
    assert {path.stem for path in SCRIPTS} == {*SAYS, *CONTROLLERS}


@pytest.mark.parametrize('path', SCRIPTS, ids=lambda path: path.stem)
def test_examples_have_one_skeleton(path: Path) -> None:
    """What it shows in one sentence, few lines, and nothing happens when it is imported."""
    text = path.read_text(encoding='utf-8')
    assert len(text.splitlines()) <= LONGEST
    tree = ast.parse(text)
    summary = (ast.get_docstring(tree) or '').splitlines()[0]
    assert summary.endswith('.')
    allowed = (ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef, ast.ClassDef)
    *body, last = tree.body[1:]
    assert all(isinstance(node, allowed) for node in body)
    assert isinstance(last, allowed if path.stem in CONTROLLERS else ast.If)


def test_every_example_is_listed() -> None:
    """In the overview, by its name."""
    page = (EXAMPLES.parent / 'docs' / 'examples.md').read_text(encoding='utf-8')
    for path in [*SCRIPTS, *EXAMPLES.glob('*.ipynb')]:
        assert f'../examples/{path.name}' in page, path.name
