"""What the README says is tried as it stands there."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parent.parent / 'README.md').read_text(encoding='utf-8')
BLOCKS = re.findall(r'```python\n(.*?)```', README, re.DOTALL)
LINKS = [link for link in re.findall(r'\]\(([^)]+)\)', README) if '://' not in link]


@pytest.mark.parametrize('link', LINKS)
def test_links_lead_somewhere(link, root):
    """Every file that the README points to is there."""
    assert (root / link).exists()


def test_every_room_is_in_the_table(root):
    """The table names all rooms of the package and no others."""
    rooms = {path.parent.name for path in (root / 'cnoid_control').glob('*/__init__.py')}
    table = README[README.index('| room |') :]
    first_columns = re.findall(r'^\| (`.*?) \|', table, re.MULTILINE)
    assert set(re.findall(r'`(\w+)`', ' '.join(first_columns))) == rooms


def test_commands_and_configurations_exist(root):
    """Every command, configuration and launch file that the README names is there."""
    from cnoid_control.catalog import ITEMS
    from cnoid_control.cli.command import COMMANDS

    used = set(re.findall(r'^    cnoid_control (\w+)', README, re.MULTILINE))
    assert used <= set(COMMANDS)
    for name in re.findall(r'cnoid_control run (\w+)(?: |$)', README):
        assert (root / 'config' / f'{name}.yaml').is_file() or name in ITEMS
    for name in re.findall(r'ros2 launch cnoid_control (\S+)', README):
        assert (root / 'launch' / name).is_file()


def test_the_controller_stands(tmp_path):
    """The controller of the README, run by the command of the README, holds SR1 upright."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    code = next(block for block in BLOCKS if 'class Hold' in block)
    (tmp_path / 'hold.py').write_text(code)
    (words,) = re.findall(r'cnoid_control (run .*hold\.py:Hold.*) --duration', README)
    command = [sys.executable, '-m', 'cnoid_control.cli.main', *words.split()]
    result = subprocess.run(
        [*command, '--duration', '1', '--json'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary['ticks'] == 1000
    assert not summary['fell']
    assert summary['max_tilt_deg'] < 3


def test_the_simulation_runs(capsys):
    """The lines of Python for a run with a push, as they stand there."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    exec(next(block for block in BLOCKS if 'Simulation' in block), {})
    assert capsys.readouterr().out.startswith('(3')


def test_a_robot_of_ones_own_needs_no_configuration(tmp_path, root):
    """The commands for a model file, on a copy of a shipped one."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    (tmp_path / 'my_robot.urdf').write_text((root / 'urdf' / 'arm.urdf').read_text())
    section = README[README.index('## Your robot') : README.index('## A controller')]
    lines = re.findall(r'^    cnoid_control (.*?)(?:#.*)?$', section, re.MULTILINE)
    ran = 0
    for words in lines:
        if 'my_robot' not in words:
            continue
        duration = ['--duration', '0.5'] if words.startswith('run') else []
        command = [sys.executable, '-m', 'cnoid_control.cli.main', *words.split(), *duration]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert result.returncode == 0, (words, result.stderr)
        ran += 1
    assert ran == 3
    assert (tmp_path / 'out' / 'robot.png').stat().st_size > 10_000
