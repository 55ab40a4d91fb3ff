import re
import sys
from pathlib import Path

import pytest
from build_interfaces import (
    PACKAGES,
    BuildError,
    check_tools,
    correct_include_folders,
    environment,
)

EXPORT = 'INTERFACE_INCLUDE_DIRECTORIES "{}/include/python3.12;{}/numpy/_core/include"\n'


@pytest.fixture
def prefix(tmp_path):
    """Return an environment whose interpreter is this one."""
    python = tmp_path / 'bin' / 'python'
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize('package', PACKAGES)
def test_every_definition_is_built(package, root):
    """No message, service or action file is left out of its package's build."""
    folder = root / 'interfaces' / package
    files = {
        str(path.relative_to(folder))
        for kind in ('msg', 'srv', 'action')
        for path in folder.glob(f'{kind}/*')
    }
    listed = re.findall(r'"((?:msg|srv|action)/.*)"', (folder / 'CMakeLists.txt').read_text())
    assert set(listed) == files
    assert len(listed) == len(files)


def test_colcon_leaves_the_definitions_alone(root):
    """A workspace uses the distribution's packages of these names, not ours."""
    assert (root / 'interfaces' / 'COLCON_IGNORE').is_file()


def test_missing_tools_are_named_with_the_packages_that_have_them(prefix, monkeypatch):
    """One line tells what is missing and how to get it."""
    python = prefix / 'bin' / 'python'
    monkeypatch.setenv('PATH', '/nowhere')
    with pytest.raises(BuildError, match=r'C compiler.*cmake.*apt install gcc g\+\+ cmake make'):
        check_tools(python)


def test_the_wheels_exports_are_corrected_to_existing_folders(prefix):
    """Include folders of the machine that built the wheels give way to those of this one."""
    export = prefix / 'share' / 'm' / 'cmake' / 'm__rosidl_generator_pyExport.cmake'
    export.parent.mkdir(parents=True)
    export.write_text(
        EXPORT.format('/opt/python/cp312-cp312', '/opt/python/cp312-cp312/lib/site-packages')
    )
    correct_include_folders(prefix)
    folders = re.search('"(.*)"', export.read_text()).group(1).split(';')
    assert [Path(folder).is_dir() for folder in folders] == [True, True]


def test_a_child_does_not_inherit_another_environments_libraries(monkeypatch):
    """The variables that a wheel environment hands down are left out, others kept."""
    monkeypatch.setenv('_ROS_WHEELS_BOOTSTRAP_COMPLETE', '1')
    monkeypatch.setenv('LD_LIBRARY_PATH', '/elsewhere')
    monkeypatch.setenv('KEPT', 'yes')
    variables = environment()
    assert '_ROS_WHEELS_BOOTSTRAP_COMPLETE' not in variables
    assert 'LD_LIBRARY_PATH' not in variables
    assert variables['KEPT'] == 'yes'


def test_libraries_of_a_sourced_ros_are_kept(monkeypatch):
    """LD_LIBRARY_PATH is only dropped where a wheel environment has set it."""
    monkeypatch.delenv('_ROS_WHEELS_BOOTSTRAP_COMPLETE', raising=False)
    monkeypatch.setenv('LD_LIBRARY_PATH', '/opt/ros/jazzy/lib')
    assert environment()['LD_LIBRARY_PATH'] == '/opt/ros/jazzy/lib'
