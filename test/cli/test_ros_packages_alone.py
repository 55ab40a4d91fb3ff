"""Where only packages of ROS were installed, what others need pip for is missing, and said."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cnoid_control.cli.missing_library import FROM_PIP, missing_modules_named

MISSING = f"""
import sys
for name in {sorted(FROM_PIP)!r}:
    sys.modules[name] = None
"""
SCRIPT = f'{MISSING}from cnoid_control.cli.main import main; sys.exit(main(sys.argv[1:]))'
SWAY = Path(__file__).resolve().parents[2] / 'examples' / 'sway.py'
KINEMATIC = ('run', 'arm.urdf', '--hardware', 'kinematic', '--controller', f'{SWAY}:Sway')
RUN = (*KINEMATIC, '--duration', '0.01', '--json')


def python(code: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run code in an interpreter of its own."""
    command = [sys.executable, '-c', code, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Call the command line where no module of FROM_PIP can be imported."""
    return python(SCRIPT, folder, *words)


def test_a_run_without_physics_and_log_needs_nothing_from_pip(tmp_path: Path) -> None:
    """The loop, controllers, kinematics and models."""
    done = call(tmp_path, *RUN)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['exit'] == 'completed'


def test_the_ros_node_needs_nothing_from_pip(tmp_path: Path) -> None:
    """It can be started for a robot behind ros2_control."""
    pytest.importorskip('rclpy')
    done = python(f'{MISSING}import cnoid_control.ros.node.control_node', tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    'words',
    [(*KINEMATIC, '--log', 'x.mcap'), ('replay', 'x.mcap')],
    ids=['log', 'replay'],
)
def test_what_is_missing_is_said_with_what_installs_it(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """In one line."""
    done = call(tmp_path, *words)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith('is not installed: pip install zstandard')
    assert 'Traceback' not in done.stderr


def test_it_is_said_in_json_too(tmp_path: Path) -> None:
    """As the reason of the run's end."""
    done = call(tmp_path, *RUN, '--log', 'x.mcap')
    assert done.returncode == 1
    assert json.loads(done.stdout)['reason'].endswith('pip install zstandard')


def test_an_unknown_module_is_left_to_the_traceback() -> None:
    """Its file and line tell whose import it is."""
    with pytest.raises(ModuleNotFoundError, match='no_such_module'), missing_modules_named():
        __import__('no_such_module')
