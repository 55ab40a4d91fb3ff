"""The demonstration itself, and what it does when something is wrong."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import is_alive, wait_for

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('mujoco', reason='needs MuJoCo')

from cnoid_control.demo.process import SIMULATOR, DemoFailed, Process
from cnoid_control.demo.watching import LINES, Progress, bar


def test_sr1_stands_with_the_node_in_the_loop(tmp_path):
    """The demonstration ends well, with its table, the picture, the plot and the logs."""
    command = [sys.executable, '-m', 'cnoid_control.demo', '--duration', '0.4']
    result = subprocess.run(
        [*command, '--out', str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    for row in ('posture error', 'tilt', 'force in both ankles', 'latency', 'real-time factor'):
        assert row in result.stdout
    for name in ('sr1.png', 'demo.png', 'log/simulator.log', 'log/node.log'):
        assert (tmp_path / name).stat().st_size > 0


def test_it_ends_with_the_processes_that_it_started(tmp_path):
    """By a termination signal as by Ctrl-C: nothing is left behind."""
    command = [sys.executable, '-m', 'cnoid_control.demo', '--duration', '600']
    demo = subprocess.Popen([*command, '--out', str(tmp_path)], stdout=subprocess.DEVNULL)
    children = []
    deadline = time.monotonic() + 60
    while len(children) < 2 and time.monotonic() < deadline:
        time.sleep(0.2)
        tasks = Path(f'/proc/{demo.pid}/task').glob('*/children')
        children = [pid for task in tasks for pid in task.read_text().split()]
    assert len(children) == 2
    demo.terminate()
    assert demo.wait(60) == 130
    assert not [pid for pid in children if Path(f'/proc/{pid}').exists()]


def check_until_it_fails(process):
    """Check again and again, for a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        process.check()
        time.sleep(0.1)


def test_a_process_that_ends_is_reported_with_what_it_said(ros_domain, tmp_path):
    """The reason that a process gives before it ends is shown."""
    process = Process(SIMULATOR, ros_domain, tmp_path / 'log', 'robot.model:=missing.urdf')
    try:
        with pytest.raises(DemoFailed, match=r'(?s)sim.node has ended .*missing\.urdf'):
            check_until_it_fails(process)
    finally:
        process.stop()


KILLED = """
import sys, time
from pathlib import Path
from cnoid_control.demo.process import SIMULATOR, Process
process = Process(SIMULATOR, int(sys.argv[1]), Path('log'))
print(process.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='only Linux tells of a dead parent')
def test_a_process_does_not_outlive_who_started_it(ros_domain, tmp_path):
    """Whoever is killed at once cannot end it; it ends all the same."""
    parent = subprocess.Popen(
        [sys.executable, '-c', KILLED, str(ros_domain)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_alive(child)
    finally:
        parent.kill()
        parent.wait()
    assert wait_for(lambda: not is_alive(child), 60.0)


def test_the_bar_fills():
    """The line of progress goes from empty to full and stays full."""
    assert bar(0.0, 4) == '░░░░'
    assert bar(0.5, 4) == '██░░'
    assert bar(1.3, 4) == '████'


def test_progress_without_a_terminal_is_a_few_lines(capsys):
    """However often it is told, and none before anything has happened."""
    progress = Progress(10.0)
    for tick in range(1001):
        progress.show(0.01 * tick)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == LINES
    assert lines[-1].strip() == '10.00 s of 10 s'
