"""Drives a controller in another process, and measures its answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import yaml

from cnoid_control.bench.ros_loop.compiled import compile_node
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.ros.transport import reserved_domain
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.runtime.realtime import DEFAULT_PRIORITY

OURS, BARE, C, STOCK = KINDS = ('ours', 'bare', 'c', 'stock')
KP, KD = 1000.0, 1.0
GYRO, FORCE = 'WaistIMU', 'RightAnkleForceSensor'
# The robot's own loop goes before its controllers, as that of ros2_control does.
ROBOT_PRIORITY = DEFAULT_PRIORITY + 10
RATE = 1000.0
# Options of the control node's watchdog: none but its defaults.
WATCHDOG: dict[str, float] = {}
# Names of two controllers that do the same.
HOLDING = 'cnoid_control.bench.ros_loop.holding:HoldingController'
# Shorter than the time between two requests for a swap [s].
BLEND_TIME = 0.1
HELD = ('first', 'second')
START_TIMEOUT = 60.0
# From this on the machine has stood still, whatever ran on it [s].
STANDSTILL = 0.01
# Ticks after which a controller is looked at, and the share of them that it has to answer.
TRIAL, ANSWERED = 200, 0.5


@dataclass(frozen=True)
class Drive:
    """What some ticks came to.

    Attributes:
        times: time from each state to the command that answers it [s]; NaN where none came.
        waits: time from each state to the next command, whatever that answers [s]; NaN likewise.
        cpu: processor time of the controller's process meanwhile [s].
        duration: how long the ticks took [s].
        late: longest time by which the robot itself was late [s].
    """

    times: np.ndarray
    waits: np.ndarray
    cpu: float
    duration: float
    late: float

    @property
    def is_valid(self) -> bool:
        """Whether the machine went on: where it stands still, watchdogs rightly stop a robot."""
        return self.late < STANDSTILL

    @property
    def lost(self) -> float:
        """Share of the states that were not answered."""
        return float(np.isnan(self.times).mean())

    @property
    def rate(self) -> float:
        """States sent per second [Hz]."""
        return len(self.times) / self.duration

    @property
    def cpu_per_tick(self) -> float:
        """Processor time of the controller's process for one tick [s]."""
        return self.cpu / len(self.times)

    def quantile(self, share: float) -> float:
        """Round trip that this share of the answered states does not exceed [s]."""
        return float(np.nanquantile(self.times, share))


class Robot:
    """The robot's process."""

    def __init__(self, library: Path, priority: int, joints: list[str], folder: Path) -> None:
        """Start it; it publishes at 1 kHz until it is told otherwise.

        Args:
            library: the compiled robot.
            priority: its real-time priority; 0 for none.
            joints: `name=position` of each joint.
            folder: where to put files.
        """
        self._times = folder / 'times.bin'
        self._process = subprocess.Popen(
            _compiled(library, priority, KP, *joints),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def drive(self, rate: float, ticks: int, pid: int = 0) -> Drive:
        """Measure so many ticks.

        Args:
            rate: states per second [Hz].
            ticks: number of states.
            pid: process of the controller.

        Raises:
            CnoidControlError: the robot has ended.
        """
        self._tell(f'run {round(1e9 / rate)} {ticks} {pid} {self._times}')
        line = _file(self._process.stdout).readline()
        if not line:
            raise CnoidControlError(f'the robot has ended with status {self._process.wait()}')
        told = json.loads(line)
        nanoseconds = np.fromfile(self._times, np.int64)
        times, waits = np.where(nanoseconds < 0, np.nan, 1e-9 * nanoseconds).reshape(2, -1)
        return Drive(times, waits, told['cpu'], told['duration'], told['late'])

    def _tell(self, line: str) -> None:
        try:
            file = _file(self._process.stdin)
            file.write(line + '\n')
            file.flush()
        except BrokenPipeError:
            status = self._process.wait()
            raise CnoidControlError(f'the robot has ended with status {status}') from None

    def close(self) -> None:
        """End it."""
        if self._process.poll() is None:
            self._process.stdin.close()  # type: ignore[union-attr]
        _end(self._process)


class Driven:
    """A controller with its robot.

    Attributes:
        robot: the robot.
        pid: process of the controller.
        log: what the controller has written.
        domain: their ROS domain.
    """

    def __init__(
        self, robot: Robot, process: subprocess.Popen[bytes], log: Path, domain: int
    ) -> None:
        """Take both, which were started."""
        self.robot = robot
        self.domain = domain
        self.pid = process.pid
        self.log = log
        self._process = process

    def drive(self, rate: float, ticks: int) -> Drive:
        """Measure so many ticks.

        Raises:
            CnoidControlError: one of both has ended.
        """
        if self._process.poll() is not None:
            lines = self.log.read_text(errors='replace').splitlines()[-8:]
            raise CnoidControlError('the controller has ended: ' + '\n'.join(lines))
        return self.robot.drive(rate, ticks, self.pid)

    def end(self) -> None:
        """Ask the controller to end, and make it end if it does not."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        _end(self._process)

    def wait_until_it_answers(self, timeout: float = START_TIMEOUT) -> None:
        """Wait for commands.

        Raises:
            CnoidControlError: they do not come.
        """
        deadline = time.monotonic() + timeout
        while self.drive(RATE, TRIAL).lost > 1.0 - ANSWERED:
            if time.monotonic() > deadline:
                lines = self.log.read_text(errors='replace').splitlines()[-8:]
                raise CnoidControlError('no commands come: ' + '\n'.join(lines))


@contextmanager
def driven(kind: str, priority: int, folder: Path, skip: int = 0) -> Iterator[Driven]:
    """A controller of a kind and the robot, on a domain of their own, until the block ends.

    Args:
        kind: OURS, BARE, C or STOCK.
        priority: real-time priority of the controller; 0 for none, then of the robot too.
        folder: where to put files; what is compiled stays there for the next one.
        skip: every so many states a controller of kind C does not answer; 0 for none.
    """
    joints = robot_joints()
    words = [f'{name}={position}' for name, position in joints.items()]
    libraries = {name: folder / f'{name}.so' for name in ('robot', 'controller')}
    for name, library in libraries.items():
        if not library.exists():
            compile_node(name, folder)
    log = folder / f'{kind}.log'
    if kind == OURS:
        command = _control_node(folder, joints, priority)
    elif kind == C:
        command = _compiled(libraries['controller'], priority, KP, KD, skip, *words)
    else:
        module = f'cnoid_control.bench.ros_loop.{kind}'
        command = [sys.executable, '-m', module, str(priority), str(KP), str(KD), *words]
    with reserved_domain() as domain:
        before = os.environ.get('ROS_DOMAIN_ID')
        os.environ['ROS_DOMAIN_ID'] = str(domain)
        try:
            robot = Robot(libraries['robot'], priority and ROBOT_PRIORITY, words, folder)
            with log.open('wb') as output:
                process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        finally:
            if before is None:
                del os.environ['ROS_DOMAIN_ID']
            else:
                os.environ['ROS_DOMAIN_ID'] = before
        pair = Driven(robot, process, log, domain)
        try:
            pair.wait_until_it_answers()
            yield pair
        finally:
            pair.end()
            robot.close()


def robot_joints() -> dict[str, float]:
    """Joints of SR1 with their positions [rad]."""
    config = load_config('sr1_pd')
    body = make_robot(config.parameters.robot, config.folder)
    positions = np.asarray(config.parameters.robot.posture, dtype=float)
    return dict(zip(body.joint_names, positions.tolist(), strict=True))


def _control_node(folder: Path, joints: dict[str, float], priority: int) -> list[str]:
    """Command line of the control node; what watches and limits is as it is by default."""
    posture = list(joints.values())
    held = {'kp': KP, 'kd': KD}
    given = {
        'robot': {'model': 'sr1.urdf', 'posture': list(posture)},
        'rate': RATE,
        'swap_blend_time': BLEND_TIME,
        'realtime_priority': priority,
        'controller': HELD[0],
        'standby': {name: {'type': HOLDING} for name in HELD},
        **{name: {**held, 'sensors': [GYRO, FORCE], 'posture': list(posture)} for name in HELD},
        **({'watchdog': dict(WATCHDOG)} if WATCHDOG else {}),
        'devices': {GYRO: 'imu', FORCE: 'wrench'},
        'hardware': {
            'type': 'ros2_control',
            'ros2_control': {
                'controller_manager': '',
                # The highest rate is looked for while it runs.
                'rate_check': 'ignore',
            },
        },
    }
    file = folder / 'ours.yaml'
    file.write_text(yaml.safe_dump({'/**': {'ros__parameters': given}}))
    module = 'cnoid_control.ros.node.control_node'
    return [sys.executable, '-m', module, '--ros-args', '--params-file', str(file)]


def _compiled(library: Path, *words: object) -> list[str]:
    module = 'cnoid_control.bench.ros_loop.compiled'
    return [sys.executable, '-m', module, str(library), *map(str, words)]


def _file(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def _end(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
