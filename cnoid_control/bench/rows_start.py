"""Start-up: what the command line costs before it does anything, in CPU time of processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cnoid_control.bench.row import MetricRow
from cnoid_control.runtime.build import make_robot
from cnoid_control.runtime.config import load_config

RUNS = 9
# Compiles a model, as MuJoCo wrote it, and ends where a simulation would begin.
REFERENCE = """
import os, sys
import mujoco, pinocchio
mujoco.MjModel.from_xml_path(sys.argv[1])
os._exit(0)
"""
COMMAND = ('-m', 'cnoid_control.cli.main')
CONTROLLER = 'cnoid_control.bench.first_tick:FirstTick'
FIRST_TICK = (*COMMAND, 'run', 'sr1_pd', '--controller', CONTROLLER)
# Set where the wheels of ROS have restarted the interpreter with their libraries in its path;
# whoever types a command has no such variable.
RESTARTED = '_ROS_WHEELS_BOOTSTRAP_COMPLETE'


class PythonPrograms:
    """Processes of this interpreter that find their bytecode compiled."""

    def __init__(self, folder: Path) -> None:
        """Keep the bytecode in a folder, so that it is there whatever the installation is like."""
        self.environment = dict(os.environ) | {'PYTHONPYCACHEPREFIX': str(folder)}
        for name in ('PYTHONDONTWRITEBYTECODE', RESTARTED):
            self.environment.pop(name, None)

    def cpu_time(self, words: Sequence[str]) -> float:
        """CPU time of a process and of those that it started [s].

        Raises:
            RuntimeError: its exit status is not 0.
        """
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                [sys.executable, *words],
                env=self.environment,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                errors.seek(0)
                raise RuntimeError(errors.read().decode(errors='replace').strip()[-500:])
        return usage.ru_utime + usage.ru_stime


def cpu_times(*programs: Sequence[str], runs: int = RUNS) -> np.ndarray:
    """CPU times of programs that take turns, after one start of each [s], (runs, programs)."""
    with tempfile.TemporaryDirectory() as folder:
        python = PythonPrograms(Path(folder))
        for words in programs:
            python.cpu_time(words)
        return np.array([[python.cpu_time(words) for words in programs] for _ in range(runs)])


def command_time(*words: str) -> float:
    """Median CPU time of a command [s]."""
    return float(np.median(cpu_times((*COMMAND, *words))))


def sr1_in_mujoco() -> str:
    """SR1 and its floor in MuJoCo's format, as the run has them."""
    from cnoid_control.hardware.mujoco.model import make_spec

    config = load_config('sr1_pd')
    body = make_robot(config.parameters.robot, config.folder, config.time_step)
    spec, _ = make_spec(body, config.hardware_parameters, config.time_step)
    spec.compile()
    return str(spec.to_xml())


def run_ratio() -> float:
    """CPU time of a run up to its first tick, against that of the libraries and the model."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / 'sr1.xml'
        model.write_text(sr1_in_mujoco(), encoding='utf-8')
        times = cpu_times(FIRST_TICK, ('-c', REFERENCE, str(model)))
    return float(np.median(times[:, 0] / times[:, 1]))


ROWS = (
    MetricRow(
        'start_help',
        'cnoid_control --help, CPU time of the process',
        'nothing: python alone takes about 0.05 s',
        lambda: command_time('--help'),
        's',
        goal=0.15,
    ),
    MetricRow(
        'start_list',
        'cnoid_control list, CPU time of the process',
        'nothing: python alone takes about 0.05 s',
        lambda: command_time('list'),
        's',
        goal=0.5,
    ),
    MetricRow(
        'start_run',
        'cnoid_control run sr1_pd up to its first tick, CPU time of the process',
        'import mujoco, pinocchio, and the compilation of the model',
        run_ratio,
        'times',
        goal=1.5,
        needs='mujoco',
        why='What is over: the configuration and the model are read and checked, and 190 modules '
        'are imported for it, of which no one takes more than a few per cent.',
    ),
)
