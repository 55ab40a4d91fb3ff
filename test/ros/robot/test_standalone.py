"""`cnoid_control run --hardware ros2_control`: a run on a robot that shows itself in ROS."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('mujoco', reason='needs MuJoCo')

LOCK_STEP = """
    hardware:
      type: ros2_control
      mujoco:
        collision: [LLEG_ANKLE_R/box, RLEG_ANKLE_R/box]
      ros2_control:
        lock_step: true
"""


@pytest.fixture
def config(root, tmp_path):
    """Return SR1's hold as a config for a robot in lock-step."""
    text = (root / 'config' / 'sr1_pd.yaml').read_text()
    path = tmp_path / 'standing.yaml'
    path.write_text(text[: text.index('    hardware:')] + LOCK_STEP.lstrip('\n'))
    return path


@pytest.fixture
def simulator(start_process, config):
    """Start the simulated robot; it waits for each command."""
    pacing = ('-p', 'pacing:=lockstep', '-p', 'real_time_factor:=0.0')
    return start_process(
        'cnoid_control.ros.sim.node', '--ros-args', '--params-file', str(config), *pacing
    )


def command(config, *words):
    """Words of the command line."""
    program = [sys.executable, '-m', 'cnoid_control.cli.main', 'run', str(config), '--json']
    return [*program, *words]


def test_runs_on_a_robot_behind_ros(simulator, config, tmp_path):
    """The same controller, the same summary; the log is written too."""
    log = tmp_path / 'x.mcap'
    result = subprocess.run(
        command(config, '--duration', '0.3', '--log', str(log)),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert result.returncode == 0, result.stderr + simulator.log_path.read_text()
    summary = json.loads(result.stdout)
    assert (summary['hardware'], summary['exit']) == ('ros2_control', 'completed')
    assert summary['ticks'] == 300
    assert 0.0 < summary['max_joint_error'] < 0.01
    assert log.stat().st_size > 10_000


def test_interrupt_leaves_the_robot(simulator, config, tmp_path):
    """Ctrl-C ends it in order, with a summary."""
    log = tmp_path / 'x.mcap'
    process = subprocess.Popen(
        command(config, '--log', str(log)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    deadline = time.monotonic() + 90.0
    while not log.exists() or log.stat().st_size < 20_000:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert json.loads(output)['interrupted'] is True


def test_robot_that_does_not_show_itself_is_named(config, tmp_path):
    """The run fails with what is missing."""
    text = config.read_text().replace('lock_step: true', 'startup_timeout: 0.5')
    config.write_text(text)
    result = subprocess.run(
        command(config, '--duration', '1'), capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 1
    assert 'joint_states' in result.stderr
    assert 'nobody publishes it' in result.stderr
