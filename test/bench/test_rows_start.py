"""Start-up is measured in processes of its own."""

from __future__ import annotations

import pytest

from cnoid_control.bench.rows_start import FIRST_TICK, PythonPrograms, cpu_times, sr1_in_mujoco

SPIN = 'import time\nwhile time.process_time() < {}: pass'


def test_cpu_time_is_that_of_the_program(tmp_path):
    """Waiting costs none, and what it started is counted with it."""
    python = PythonPrograms(tmp_path)
    idle = python.cpu_time(['-c', 'import time; time.sleep(0.5)'])
    busy = f'import subprocess, sys; subprocess.run([sys.executable, "-c", {SPIN.format(1.5)!r}])'
    assert python.cpu_time(['-c', busy]) > max(1.5, idle)


def test_a_program_that_fails_is_no_measurement(tmp_path):
    """What it said is in the message."""
    with pytest.raises(RuntimeError, match='no such thing'):
        PythonPrograms(tmp_path).cpu_time(['-c', 'raise SystemExit("no such thing")'])


def test_the_run_comes_to_its_first_tick(tmp_path):
    """The process ends there, with nothing said but what a run says."""
    times = cpu_times(FIRST_TICK, ('-c', 'pass'), runs=1)
    assert times.shape == (1, 2)
    assert times[0, 0] > times[0, 1]


def test_the_reference_has_the_same_robot():
    """MuJoCo compiles it with all joints of SR1 and its free base."""
    mujoco = pytest.importorskip('mujoco', reason='needs MuJoCo')
    model = mujoco.MjModel.from_xml_string(sr1_in_mujoco())
    assert model.nv == 6 + 29
