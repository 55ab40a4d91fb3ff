"""Collection of the tests where launch_testing is installed, as on every ROS machine."""

import importlib.util
import os
import subprocess
import sys

import pytest

# What launch_testing's plug-in does with every file, for where it is not installed.
LAUNCH_TESTING = """
import pytest
from _pytest.pathlib import import_path


def pytest_pycollect_makemodule(module_path, parent):
    version = tuple(map(int, pytest.__version__.split('.')[:2]))
    more = {'consider_namespace_packages': False} if version >= (8, 1) else {}
    import_path(module_path, root=None, **more)
    return pytest.Module.from_parent(parent, path=module_path)
"""
SKIPPED = "import pytest\npytest.importorskip('not_installed_here')\n"
TEST = 'def test_{}():\n    pass\n'


@pytest.mark.parametrize('guarded', [True, False])
def test_one_file_does_not_empty_its_folder(tmp_path, root, guarded):
    """A file that is skipped as a whole, and two of one name, leave the others alone."""
    for folder in ('first', 'second'):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / 'test_same.py').write_text(TEST.format(folder))
    (tmp_path / 'first' / 'test_skipped.py').write_text(SKIPPED + TEST.format('skipped'))
    (tmp_path / 'first' / 'test_other.py').write_text(TEST.format('other'))
    words = ['-p', 'collection'] if guarded else []
    if importlib.util.find_spec('launch_testing') is None:
        (tmp_path / 'imports_all.py').write_text(LAUNCH_TESTING)
        words += ['-p', 'imports_all']
    path = os.pathsep.join((str(tmp_path), str(root / 'test' / 'support')))
    given = os.environ.get('PYTHONPATH')
    result = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '--import-mode=importlib', *words, str(tmp_path)],
        cwd=tmp_path,
        env={
            **os.environ,
            'PYTHONPATH': f'{path}{os.pathsep}{given}' if given else path,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    # Without the guard the same files fail: the test would see it if it did nothing.
    assert (result.returncode == 0) is guarded, result.stdout + result.stderr
    assert ('3 passed, 1 skipped' in result.stdout) is guarded, result.stdout


def test_arguments_of_colcon_are_for_one_pytest(tmp_path, root):
    """What a test starts would run other tests, and write the report of the first one."""
    (tmp_path / 'looks.py').write_text(
        'import os\n\n\ndef pytest_sessionfinish():\n'
        "    assert 'PYTEST_ADDOPTS' not in os.environ\n"
    )
    given = os.environ.get('PYTHONPATH', '')
    path = os.pathsep.join(filter(None, (str(tmp_path), given)))
    result = subprocess.run(
        [sys.executable, '-m', 'pytest', '-p', 'no:cacheprovider', '-p', 'looks'],
        cwd=root,
        env={
            **os.environ,
            'PYTEST_ADDOPTS': '--collect-only -q test/test_share.py',
            'PYTHONPATH': path,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert 'test_share.py' in result.stdout
