"""The package in a colcon workspace: a real `colcon build` and `colcon test`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from distributions import copy_project

from cnoid_control.share import FOLDERS

pytest.importorskip('colcon_core', reason='colcon is not installed')
pytest.importorskip('colcon_ros', reason='colcon-ros is not installed')
pytest.importorskip('ament_index_python', reason='needs ROS 2')


def run(command: list[str], folder: Path, **variables: str) -> str:
    """Run a command in a folder and return its output; fail with that output."""
    result = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


def colcon(workspace: Path, *arguments: str) -> str:
    """Run colcon in a workspace, with the environment's ROS as the layer below."""
    variables = {
        'AMENT_PREFIX_PATH': os.environ.get('AMENT_PREFIX_PATH') or sys.prefix,
        'COLCON_HOME': str(workspace / 'home'),
    }
    return run([sys.executable, '-m', 'colcon', *arguments], workspace, **variables)


@pytest.fixture(scope='module')
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the package once, in a workspace of its own."""
    folder = tmp_path_factory.mktemp('workspace')
    copy_project(folder / 'src' / 'cnoid_control')
    colcon(folder, 'build', '--event-handlers', 'console_direct+')
    return folder


@pytest.fixture
def prefix(workspace: Path) -> Path:
    """Return where colcon installed the package."""
    return workspace / 'install' / 'cnoid_control'


def test_only_the_package_itself_is_built(workspace):
    """The message packages beside it are left to the distribution or to the set-up."""
    assert colcon(workspace, 'list', '--names-only').split() == ['cnoid_control']


def test_the_package_is_in_the_ament_index(prefix):
    """ROS finds the package and its share folder once the workspace is sourced."""
    code = (
        'from ament_index_python import get_package_share_directory as share\n'
        'print(share("cnoid_control"))'
    )
    found = run([sys.executable, '-c', code], prefix, AMENT_PREFIX_PATH=str(prefix))
    assert found.strip() == str(prefix / 'share' / 'cnoid_control')


def test_the_executables_are_where_ros2_run_looks(prefix):
    """`ros2 run cnoid_control NAME` finds its executables under lib/cnoid_control."""
    folder = prefix / 'lib' / 'cnoid_control'
    names = {'cnoid_control', 'cnoid_control_mujoco', 'cnoid_control_heartbeat'}
    assert {path.name for path in folder.iterdir()} == names
    assert all(os.access(path, os.X_OK) for path in folder.iterdir())


def test_every_shared_file_is_installed(prefix, root):
    """Everything in the shared folders is under share/cnoid_control, with package.xml."""
    share = prefix / 'share' / 'cnoid_control'
    files = [
        path.relative_to(root)
        for folder in FOLDERS
        for path in (root / folder).rglob('*')
        if path.is_file() and '__pycache__' not in path.parts
    ]
    for path in [Path('package.xml'), *files]:
        assert (share / path).read_bytes() == (root / path).read_bytes()


def test_every_module_is_installed(prefix, root):
    """No module is forgotten, whatever the names of its folders."""
    (site,) = prefix.glob('lib/python3*/site-packages')
    modules = {path.relative_to(root) for path in root.glob('cnoid_control/**/*.py')}
    assert modules == {path.relative_to(site) for path in site.glob('cnoid_control/**/*.py')}


def test_the_installed_package_uses_the_installed_files(prefix, tmp_path):
    """Without the checkout the package finds its configurations in the same installation."""
    (site,) = prefix.glob('lib/python3*/site-packages')
    code = 'from cnoid_control.share import share_folder; print(share_folder())'
    found = run([sys.executable, '-c', code], tmp_path, PYTHONPATH=str(site))
    assert found.strip() == str(prefix / 'share' / 'cnoid_control')


def test_colcon_test_runs_the_tests(workspace):
    """`colcon test` runs pytest on the package and reports what it found."""
    colcon(
        workspace, 'test', '--return-code-on-test-failure', '--pytest-args', 'test/test_share.py'
    )
    summary = colcon(workspace, 'test-result')
    assert ' 0 errors, 0 failures' in summary
    assert not summary.startswith('Summary: 0 tests')
