"""Python code of the pages: all of it is Python, and what no page's own test runs is run here."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cnoid_control import Simulation

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]
ARM = """<robot name="arm"><link name="world"/><link name="base"/>
<joint name="fix" type="fixed"><parent link="world"/><child link="base"/></joint>{links}</robot>"""
LINK = """<link name="{name}_LINK"><inertial><mass value="1"/><origin xyz="0 0 0.1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}_LINK"/>
<origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" velocity="3" effort="50"/></joint>"""


def blocks_of(page: Path) -> list[str]:
    """The Python code of a page, block by block."""
    return re.findall(r'```python\n(.*?)```', page.read_text(encoding='utf-8'), re.DOTALL)


def block(page: str, word: str) -> str:
    """The one block of a page that has this word."""
    (found,) = (code for code in blocks_of(ROOT / 'docs' / page) if word in code)
    return found


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_it_is_python(page: Path) -> None:
    """Every block compiles, with names of this package that exist."""
    for code in blocks_of(page):
        code = textwrap.dedent(code)
        compile(code, page.name, 'exec')
        for line in re.findall(r'^\s*(from cnoid_control[\w.]* import \([^)]*\))', code, re.M):
            exec(line, {})
        for line in re.findall(r'^\s*(from cnoid_control[\w.]* import [^(\n#]+)', code, re.M):
            exec(line, {})


def test_the_motion_queue_waves(tmp_path: Path) -> None:
    """docs/motion_queue.md: there and back, through the first milestone."""
    names = ('SHOULDER', 'ELBOW')
    parents = ('base', 'SHOULDER_LINK')
    links = (LINK.format(name=n, parent=p) for n, p in zip(names, parents, strict=True))
    (tmp_path / 'robot.urdf').write_text(ARM.format(links=''.join(links)))
    (tmp_path / 'wave.py').write_text(block('motion_queue.md', 'class Wave'))
    with Simulation(tmp_path / 'robot.urdf', f'{tmp_path / "wave.py"}:Wave') as simulation:
        simulation.run(8.0)
        q = simulation.recorded.q
        nearest = np.abs(q - [0.5, -1.0]).max(axis=1).min()
        assert nearest < 0.02
        np.testing.assert_allclose(q[-1], 0.0, atol=0.02)


def test_a_swap_that_fails_changes_nothing(capsys) -> None:
    """docs/hot_swap.md: the reason is printed, and SR1 goes on."""
    exec(block('hot_swap.md', 'sim.swap('), {})
    assert "unknown controller 'no_such_controller'" in capsys.readouterr().out


def test_the_test_of_the_page() -> None:
    """docs/ci.md: it passes."""
    names: dict = {}
    exec(block('ci.md', 'def test_'), names)
    names['test_it_stands_when_pushed']()


def test_standby_of_the_page(tmp_path: Path) -> None:
    """docs/hot_swap.md: the keys are those of a configuration; the successor takes over."""
    import yaml

    text = (ROOT / 'docs' / 'hot_swap.md').read_text(encoding='utf-8')
    (keys,) = re.findall(r'```yaml\n(.*?)```', text, re.DOTALL)
    with Simulation('sr1_walk', changes=yaml.safe_load(keys)) as simulation:
        summary = simulation.run(14.0)
    assert [one['after'] for one in summary['took_over']] == ['stand']
    assert not summary['fell']


def test_a_goal_is_followed(capsys) -> None:
    """docs/trajectories.md: to its end, where it says so."""
    exec(block('trajectories.md', 'FollowTrajectory('), {})
    state, *_, q = capsys.readouterr().out.split()
    assert 'SUCCEEDED' in state
    assert float(q) == pytest.approx(0.5, abs=0.01)


def test_the_search_of_the_page(tmp_path: Path, monkeypatch, capsys) -> None:
    """docs/tune.md: the file that it writes is a configuration."""
    pytest.importorskip('optuna', reason='needs Optuna')
    monkeypatch.chdir(tmp_path)
    exec(block('tune.md', 'found = tune('), {})
    assert 'pendulum.kp' in capsys.readouterr().out
    with Simulation('pendulum_tuned.yaml') as simulation:
        assert simulation.run(0.1)['exit'] == 'completed'


def test_the_policy_of_the_package_stands_and_is_pushed(capsys) -> None:
    """docs/policies.md: the run in three lines."""
    exec(block('policies.md', "'trotter_walk'"), {})
    assert capsys.readouterr().out == 'False\n'


def test_a_term_of_ones_own(tmp_path: Path) -> None:
    """docs/policies.md: the function on the page is two values of the observation."""
    pytest.importorskip('onnx', reason='needs onnx')
    from networks import linear

    (tmp_path / 'mine.py').write_text(block('policies.md', 'def tilt'))
    joints = Simulation('trotter.urdf').robot.joint_names
    file = linear(tmp_path / 'p.onnx', np.zeros((len(joints), 2)), np.zeros(len(joints)))
    options = {
        'file': str(file),
        'joints': joints,
        'observations': [f'{tmp_path / "mine.py"}:tilt'],
        'period': 0.02,
        'kp': 20.0,
        'kd': 0.5,
    }
    with Simulation('trotter.urdf', 'policy', options=options) as simulation:
        simulation.run(0.02)
        robot, policy = simulation.robot, simulation.controller
        np.testing.assert_allclose(policy.observation.vector, -robot.root_link.R[2, :2], atol=1e-3)


def test_a_task_of_ones_own(tmp_path: Path) -> None:
    """docs/tasks.md: its option is the speed that is asked for."""
    from cnoid_control import parameter
    from cnoid_control.controllers.tasks import BodyTask

    names = {'BodyTask': BodyTask, 'dataclass': dataclass, 'parameter': parameter, 'np': np}
    exec(block('tasks.md', 'class Swing'), names)
    swing = names['Swing']
    assert issubclass(swing, BodyTask)
    parameters = swing.Parameters(speed=0.3)
    task = swing.__new__(swing)
    task.parameters = parameters
    np.testing.assert_array_equal(task.compute_body_velocity(None, 0.01), [0.3, 0, 0, 0, 0, 0])
