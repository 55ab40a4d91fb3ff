"""The package as pip sees it, and the facts that more than one of its files states."""

import configparser
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from distributions import project_files

import cnoid_control
from cnoid_control.share import FOLDERS

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope='module')
def wheel(wheel_path: Path) -> zipfile.ZipFile:
    """Open the wheel that is built from the sdist."""
    return zipfile.ZipFile(wheel_path)


def test_pip_puts_the_commands_on_the_path(wheel):
    """With pip the commands are console scripts, whatever colcon does with them."""
    (path,) = (name for name in wheel.namelist() if name.endswith('entry_points.txt'))
    entry_points = configparser.ConfigParser(delimiters=['='])
    entry_points.read_string(wheel.read(path).decode())
    assert set(entry_points['console_scripts']) == {
        'cnoid_control',
        'cnoid_control_mujoco',
        'cnoid_control_heartbeat',
    }
    assert not [name for name in wheel.namelist() if 'lib/cnoid_control/' in name]


def test_pip_installs_the_shared_files(wheel):
    """The wheel carries the ament index entry, package.xml and every shared file."""
    shared = {name.split('.data/data/')[1] for name in wheel.namelist() if '.data/data/' in name}
    files = {
        f'share/cnoid_control/{path.relative_to(ROOT)}'
        for folder in FOLDERS
        for path in (ROOT / folder).rglob('*')
        if path.is_file() and '__pycache__' not in path.parts
    }
    assert shared == files | {
        'share/ament_index/resource_index/packages/cnoid_control',
        'share/cnoid_control/package.xml',
    }


def test_the_wheel_holds_every_module_and_its_types(wheel):
    """No module is forgotten, and type checkers of other packages see the annotations."""
    modules = {str(path.relative_to(ROOT)) for path in ROOT.glob('cnoid_control/**/*.py')}
    code = modules | {'cnoid_control/py.typed', 'cnoid_control/viewer/overlay.js'}
    assert code == {name for name in wheel.namelist() if name.startswith('cnoid_control/')}


def test_the_wheel_holds_the_sources_in_c(wheel):
    """What the benchmark compiles where it is measured."""
    folder = 'cnoid_control/bench/ros_loop'
    sources = {str(path.relative_to(ROOT)) for path in (ROOT / folder).glob('*.[ch]')}
    assert {f'{folder}/controller.c', f'{folder}/robot.c'} <= sources <= set(wheel.namelist())


def test_one_version_everywhere(wheel):
    """package.xml, the wheel and the module state the same version."""
    declared = ElementTree.parse(ROOT / 'package.xml').findtext('version')
    assert cnoid_control.__version__ == declared
    assert f'\nversion: {declared}\n' in (ROOT / 'CITATION.cff').read_text(encoding='utf-8')
    assert Path(wheel.filename).name.split('-')[1] == declared


def test_the_linter_looks_at_every_file():
    """Also at rooms that have the name of a folder that is left out in the checkout."""
    pytest.importorskip('ruff')
    command = [sys.executable, '-m', 'ruff', 'check', '--show-files', '.']
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seen = {Path(line) for line in done.stdout.splitlines()}
    files = {ROOT / name for name in project_files() if name.endswith(('.py', '.ipynb'))}
    assert files - seen == set()


def test_no_two_test_files_have_the_same_name():
    """Test runners that import by name alone, as launch_testing's, collect all of them."""
    names = [path.name for path in (ROOT / 'test').rglob('test_*.py')]
    assert sorted(names) == sorted(set(names))


# Distribution that pip installs, and the key by which rosdep knows it; the tools of the log
# come with mcap-ros2-support there, threadpoolctl with scikit-learn.
ROSDEP = {
    # What takes its place where only rosdep installs.
    'daqp': 'proxsuite',
    'lz4': 'mcap-ros2-support',
    'matplotlib': 'python3-matplotlib',
    'mcap': 'mcap-ros2-support',
    'mcap-ros2-support': 'mcap-ros2-support',
    'mujoco': 'python3-mujoco-pip',
    'numpy': 'python3-numpy',
    'pin': 'pinocchio',
    'pyyaml': 'python3-yaml',
    'rich': 'python3-rich',
    'ruckig': 'ruckig',
    'threadpoolctl': 'python3-sklearn',
    'xacro': 'xacro',
    'zstandard': 'mcap-ros2-support',
}


def test_setup_and_package_xml_name_the_same_requirements(wheel):
    """What pip installs for runs and for MuJoCo, rosdep installs too; bounds agree."""
    (path,) = (name for name in wheel.namelist() if name.endswith('METADATA'))
    lines = re.findall(r'^Requires-Dist: (.*)$', wheel.read(path).decode(), re.MULTILINE)
    needed = [line for line in lines if 'extra ==' not in line or re.search('extra == .sim', line)]
    pip = {re.match(r'[\w-]+', line).group().lower() for line in needed}
    assert pip == set(ROSDEP)
    declared = {item.text: item for item in ElementTree.parse(ROOT / 'package.xml').iter()}
    assert set(ROSDEP.values()) <= set(declared)
    (mujoco,) = (line for line in needed if line.startswith('mujoco'))
    assert f'>={declared["python3-mujoco-pip"].get("version_gte")}' in mujoco


def test_package_xml_is_valid_for_the_tools_of_ros():
    """As catkin_pkg reads it for colcon, rosdep and bloom, without a warning."""
    package = pytest.importorskip('catkin_pkg.package').parse_package(str(ROOT / 'package.xml'))
    warnings: list[str] = []
    package.validate(warnings=warnings)
    assert not warnings


def test_bloom_gets_no_requirement_that_pip_installs():
    """Debian packages cannot depend on one; rosdep installs all of them."""
    package = pytest.importorskip('catkin_pkg.package').parse_package(str(ROOT / 'package.xml'))
    needed = [*package.exec_depends, *package.test_depends]
    package.evaluate_conditions(
        {'ROS_VERSION': '2', 'ROS_DISTRO': 'jazzy', 'ROS_PYTHON_VERSION': '3'}
    )
    left_out = {item.name for item in needed if not item.evaluated_condition}
    assert left_out == {item.name for item in needed if 'pip' in item.name} | {'mcap-ros2-support'}
    package.evaluate_conditions(os.environ)
    assert all(item.evaluated_condition for item in needed)


def test_the_changelog_can_be_released():
    """Under a version, the tools of ROS find every entry in it, and it has an entry for now."""
    changelog = pytest.importorskip('catkin_pkg.changelog')
    text = (ROOT / 'CHANGELOG.rst').read_text(encoding='utf-8')
    title, line = 'Forthcoming', '-' * len('Forthcoming')
    assert text.count(f'\n{title}\n{line}\n') == 1
    dated = '999.0.0 (2030-01-01)'
    read = changelog.Changelog('cnoid_control')
    released = text.replace(f'{title}\n{line}', f'{dated}\n{"-" * len(dated)}')
    changelog.populate_changelog_from_rst(read, released)
    versions = [version for version, _, _ in read.foreach_version()]
    assert versions[0] == '999.0.0'
    found = sum(
        len(content.bullets)
        for version in versions
        for content in read.get_content_of_version(version)
        if isinstance(content, changelog.BulletList)
    )
    assert found == len(re.findall(r'^[*-] ', text, re.MULTILINE))


def test_the_pythons_that_are_supported_are_those_that_are_tried():
    """One list, in what pip shows, in the CI workflow and in the guide."""
    workflow = ROOT / '.github' / 'workflows' / 'ci.yml'
    if not workflow.exists():
        pytest.skip('an unpacked sdist has no workflows')
    text = workflow.read_text(encoding='utf-8')
    tried = set(re.findall(r"python: '(3\.\d+)'}", text))
    declared = re.findall(r'Python :: (3\.\d+)', (ROOT / 'setup.py').read_text(encoding='utf-8'))
    assert tried == set(declared)
    guide = (ROOT / 'CONTRIBUTING.md').read_text(encoding='utf-8')
    assert f'Python {declared[0]} to {declared[-1]}' in guide


# Installed where the simulator is that they belong to; without them it says so.
WITH_THEIR_SIMULATOR = {'mujoco_ros2_control_msgs'}


def test_ros_packages_that_are_imported_are_declared():
    """Rosdep installs every ROS package whose modules the package imports."""
    declared = {item.text for item in ElementTree.parse(ROOT / 'package.xml').iter('exec_depend')}
    ros = re.compile(
        r'^\s*(?:import|from) (rclpy|launch\w*|\w+_msgs|\w+_srvs|\w+_interfaces)\b', re.MULTILINE
    )
    imported = {
        name
        for path in (ROOT / 'cnoid_control').rglob('*.py')
        for name in ros.findall(path.read_text(encoding='utf-8'))
    }
    assert 'rclpy' in imported
    assert imported - WITH_THEIR_SIMULATOR <= declared
