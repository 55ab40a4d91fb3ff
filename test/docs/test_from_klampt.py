"""Every name of Klamp't's chapter on control is on the page, and its code runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cnoid_control.cli.main import main

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'from_klampt.md'
# The names of the chapter: its API summary, its keys, its classes and its files.
WORDS = """
getController setPIDGains setRate setPIDCommand setVelocity setTorque setTorqueCommand
remainingTime setMilestone addMilestone addMilestoneLinear setLinear appendLinear setCubic addCubic
getCommandedConfig getCommandedVelocity getSensedConfig getSensedVelocity sensor SimRobotSensor
numDrivers RobotModel WorldModel readFile Simulator getTime simulate klampt_sim make BaseController
output advance signal t dt q dq qcmd dqcmd tcmd torquecmd TimedControllerSequence MultiController
ComposeController LinearController LambdaController StateMachineController
TransitionStateMachineController trajectory_controller.py OperationalSpaceController.py
roscontroller.py kP kI kD
"""
ARM = """<robot name="arm"><link name="world"/><link name="base"/>
<joint name="fix" type="fixed"><parent link="world"/><child link="base"/></joint>
{links}</robot>"""
LINK = """<link name="l{i}"><inertial><mass value="1"/><origin xyz="0 0 0.1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j{i}" type="continuous"><parent link="{parent}"/><child link="l{i}"/>
<origin xyz="0 0 0.2"/><axis xyz="0 0 1"/></joint>"""


def code(name: str) -> str:
    """Block of the page that is marked to run."""
    text = PAGE.read_text(encoding='utf-8')
    found = re.search(rf'<!-- runs: {name} -->\n```python\n(.*?)```', text, re.DOTALL)
    assert found
    return found[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with a robot of three joints."""
    parts = [LINK.format(i=i, parent='base' if i == 0 else f'l{i - 1}') for i in range(3)]
    (tmp_path / 'my_robot.urdf').write_text(ARM.format(links=''.join(parts)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize('name', WORDS.split())
def test_every_name_of_the_chapter_has_a_row(name: str) -> None:
    """In the first column of a table."""
    rows = [line.split('|')[1] for line in PAGE.read_text().splitlines() if line.startswith('| `')]
    words = {word for row in rows for word in re.findall(r'[\w.]+', row)}
    assert name in words or any(word.endswith(f'.{name}') for word in words)


def test_the_loop_of_the_chapter(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten seconds at 1 rad/s are 10 rad."""
    space: dict[str, object] = {}
    exec(compile(code('loop'), 'page', 'exec'), space)
    q = space['controller'].get_sensed_config()  # type: ignore[attr-defined]
    np.testing.assert_allclose(q, [0.0, 10.0, 0.0], atol=0.1)
    assert 'End configuration' in capsys.readouterr().out


def test_the_controller_file_of_the_chapter(folder: Path, capsys) -> None:
    """`cnoid_control run MODEL --controller swing.py:make`."""
    (folder / 'swing.py').write_text(code('make'))
    words = ['run', 'my_robot.urdf', '--controller', 'swing.py:make', '--duration', '0.5']
    assert main([*words, '--json']) == 0
    assert '"controller": "make"' in capsys.readouterr().out
