"""Processes that do not outlive the one that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import is_alive, wait_for

linux = pytest.mark.skipif(sys.platform != 'linux', reason='only Linux tells of a dead parent')

# Starts a process that sleeps, writes its id to a file, and sleeps too.
PARENT = """
import os, pathlib, subprocess, sys, time
pid = str(os.getpid())
words = [sys.executable, '-m', 'cnoid_control.faults.child_process', pid, 'sleeper']
child = subprocess.Popen(words, start_new_session=True)
time.sleep(60)
"""
SLEEPER = """
import os, pathlib, time
path = pathlib.Path('pid.part')
path.write_text(str(os.getpid()))
path.rename('pid')
time.sleep(60)
"""


@linux
def test_it_dies_with_its_parent(tmp_path: Path) -> None:
    """SIGKILL to the one that started it ends it."""
    (tmp_path / 'sleeper.py').write_text(SLEEPER)
    variables = {**os.environ, 'PYTHONPATH': str(tmp_path)}
    parent = subprocess.Popen([sys.executable, '-c', PARENT], cwd=tmp_path, env=variables)
    try:
        assert wait_for((tmp_path / 'pid').exists)
        child = int((tmp_path / 'pid').read_text())
        assert is_alive(child)
    finally:
        parent.kill()
        parent.wait()
    assert wait_for(lambda: not is_alive(child))


@linux
def test_it_does_not_begin_without_its_parent(tmp_path: Path) -> None:
    """Where the process named is not the parent, it has ended already."""
    (tmp_path / 'sleeper.py').write_text(SLEEPER)
    result = subprocess.run(
        [sys.executable, '-m', 'cnoid_control.faults.child_process', '1', 'sleeper'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert 'has ended' in result.stderr
    assert not (tmp_path / 'pid').exists()


@linux
@pytest.mark.timeout(120)
@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_fault_table_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    """A signal in the middle of a row ends everything that the row has started."""
    pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')
    words = [sys.executable, '-m', 'cnoid_control.cli.main', 'faults', '--where', 'dds', 'SIGSTOP']
    table = subprocess.Popen(words, env={**os.environ, 'TMPDIR': str(tmp_path)})

    def children() -> list[int]:
        found = []
        for entry in Path('/proc').iterdir():
            if entry.name.isdigit():
                try:
                    line = (entry / 'cmdline').read_bytes().split(b'\0')
                except OSError:
                    continue
                module = b'cnoid_control.faults.child_process'
                if module in line and str(table.pid).encode() in line:
                    found.append(int(entry.name))
        return found

    try:
        assert wait_for(lambda: len(children()) == 3)
        table.send_signal(number)
        status = table.wait(60)
    finally:
        table.kill()
        table.wait()
    assert status == (-number if number == signal.SIGKILL else 130)
    assert wait_for(lambda: not children())
    if number != signal.SIGKILL:
        left = [path.name for path in tmp_path.iterdir() if 'domains' not in path.name]
        assert left == []
