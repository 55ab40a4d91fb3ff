"""SR1 in Gazebo, by the launch file that a user starts."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.faults.dds_testbed import JOINTS, RigFailed, find_line, read_log
from cnoid_control.faults.ros_observer import RosObserver
from cnoid_control.faults.testbed import MAX_EFFORT
from cnoid_control.faults.wire import WireObserver
from cnoid_control.ros.launch_files import CLOCK_TIMEOUT
from cnoid_control.ros.transport import reserved_domain

PACKAGE = 'cnoid_control'
PROGRAMS = ('gz', 'ros2')
PACKAGES = (
    *('gz_ros2_control', 'ros_gz_sim', 'ros_gz_bridge', 'controller_manager'),
    *('joint_state_broadcaster', 'robot_state_publisher', PACKAGE),
)
WORLD = 'ground'
CLOCK = '/clock'
STARTED = re.compile(r'\[gazebo-\d+\]: process started with pid \[(\d+)\]')
DIED = re.compile(r'\[gazebo-\d+\]: process has died')
# Gazebo's start on a busy machine, and how often it is tried: its plug-in sometimes ends it [s].
START_TIMEOUT, STARTS = 120.0, 4
# Simulated time after which SR1 stands still [s].
STANDING = 2.0
SERVICE_TIMEOUT_MS = 5000
# SR1 stands while its waist is upright and its joints are near where they were [deg, rad].
MAX_TILT, MAX_DEVIATION = 5.0, 0.1


def missing_gazebo() -> str:
    """What the rows in Gazebo need and is not installed here; empty where all is there."""
    for program in PROGRAMS:
        if shutil.which(program) is None:
            return f'no program {program!r}'
    try:
        from ament_index_python.packages import PackageNotFoundError, get_package_prefix
    except ImportError as error:
        return str(error)
    for package in PACKAGES:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            return f'no ROS package {package!r}'
    return ''


class GazeboRig:
    """`ros2 launch cnoid_control sr1_pd.launch.py hardware:=gazebo` on a domain of its own.

    Attributes:
        launch: the launch's process, which has all others in its group.
        observer: node of this process, to ask and tell with.
        wire: looks at the commands, the states and the clock.
        tilt: angle between SR1's waist and the vertical [deg].
        notes: what is worth telling of what happened.
    """

    def __init__(self, *arguments: str) -> None:
        """Start everything and wait until SR1 has stood for a while.

        Args:
            arguments: launch arguments besides the hardware.

        Raises:
            RigFailed: it did not come up.
        """
        self.notes: list[str] = []
        self.tilt = 0.0
        self._positions = np.zeros(0)
        self._posture = np.zeros(0)
        self._stack = contextlib.ExitStack()
        try:
            self._start(arguments)
        except BaseException:
            self.close()
            raise

    def _start(self, arguments: tuple[str, ...]) -> None:
        domain = self._stack.enter_context(reserved_domain())
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        # Gazebo's own messages have no domain: their partition is one.
        partition = f'{PACKAGE}_{domain}'
        self._environment = {
            **os.environ,
            'ROS_DOMAIN_ID': str(domain),
            'ROS_LOG_DIR': str(self._folder / 'ros'),
            'GZ_PARTITION': partition,
            'IGN_PARTITION': partition,
            'PYTHONUNBUFFERED': '1',
        }
        self._make_observer(domain)
        for attempt in range(STARTS):
            self._launch(attempt, arguments)
            self.wait_for(lambda: self._is_up or self._has_failed, START_TIMEOUT)
            if self._is_up:
                break
            self._end_launch()
        else:
            raise RigFailed(f'SR1 did not come up in Gazebo:\n{self.log[-2000:]}')
        since = self.sim_time
        self.wait_for(lambda: self.sim_time > since + STANDING, START_TIMEOUT)
        self._posture = self._positions.copy()

    def _launch(self, attempt: int, arguments: tuple[str, ...]) -> None:
        self._log = self._folder / f'launch{attempt}.log'
        words = ('hardware:=gazebo', 'headless:=true', *arguments)
        with self._log.open('ab') as log:
            self.launch = subprocess.Popen(
                ['ros2', 'launch', PACKAGE, 'sr1_pd.launch.py', *words],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
            )
        self._stack.callback(self._end_launch)

    def _make_observer(self, domain: int) -> None:
        from sensor_msgs.msg import Imu, JointState

        self.observer = RosObserver(domain)
        self._stack.callback(self.observer.close)
        node = self.observer.node
        self.sim_time = 0.0
        node.create_subscription(JointState, 'joint_states', self._see_joints, 1)
        node.create_subscription(Imu, 'imu_sensor_broadcaster/imu', self._see_imu, 1)
        topics = {CLOCK: 'rosgraph_msgs/msg/Clock'}
        self.wire = WireObserver(node, JOINTS, MAX_EFFORT, 1e-3, topics)
        self._stack.callback(self.wire.close)
        self.observer.start()

    def _see_joints(self, message: Any) -> None:
        order = np.argsort(message.name)
        self._positions = np.array(message.position)[order]
        self.sim_time = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec

    def _see_imu(self, message: Any) -> None:
        x, y = message.orientation.x, message.orientation.y
        self.tilt = math.degrees(math.acos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0)))

    # --- what can be done to it ---------------------------------------------------------------

    def control(self, request: str) -> None:
        """Have Gazebo pause, go on or step, by a gz.msgs.WorldControl in text form."""
        answer = self._gz(
            *('service', '-s', f'/world/{WORLD}/control'),
            *('--reqtype', 'gz.msgs.WorldControl', '--reptype', 'gz.msgs.Boolean'),
            *('--timeout', str(SERVICE_TIMEOUT_MS), '--req', request),
        )
        if 'true' not in answer:
            raise CnoidControlError(f'Gazebo did not take {request!r}: {answer}')

    def publish(self, topic: str, kind: str, text: str) -> None:
        """Publish one message of Gazebo's own, in text form, below the world's topics."""
        words = ('-t', f'/world/{WORLD}/{topic}', '-m', f'gz.msgs.{kind}', '-p', text)
        if said := self._gz('topic', *words):
            raise CnoidControlError(f'Gazebo did not take {text!r}: {said}')

    def _gz(self, *words: str) -> str:
        done = subprocess.run(
            ['gz', *words], env=self._environment, capture_output=True, text=True, timeout=60.0
        )
        return f'{done.stdout}{done.stderr}'.strip()

    def signal_gazebo(self, number: signal.Signals) -> float:
        """Send a signal to Gazebo itself; when, by the wall clock [s]."""
        now = time.time()
        os.kill(self.gazebo, number)
        return now

    # --- what came of it ----------------------------------------------------------------------

    @property
    def log(self) -> str:
        """What the launch has written so far."""
        return read_log(self._log)

    @property
    def gazebo(self) -> int:
        """Process id of the Gazebo that was started last."""
        return int(STARTED.findall(self.log)[-1])

    @property
    def gazebo_starts(self) -> int:
        """How often Gazebo was started."""
        return len(STARTED.findall(self.log))

    @property
    def _is_up(self) -> bool:
        return 'activate: done' in self.log and self.wire.commands.count > 0

    @property
    def _has_failed(self) -> bool:
        return self.launch.poll() is not None or bool(DIED.search(self.log))

    def when(self, words: str) -> tuple[float, str]:
        """Time and text of the first log line with these words; 0 and nothing for none."""
        return find_line(self.log, words)

    @property
    def stands(self) -> bool:
        """Whether SR1 is upright, in the posture that it had at the start."""
        is_near = np.abs(self._positions - self._posture).max(initial=0.0) < MAX_DEVIATION
        return self.tilt < MAX_TILT and bool(is_near)

    @property
    def has_ended(self) -> bool:
        """Whether neither the launch nor anything that it had started is there any more."""
        if self.launch.poll() is None:
            return False
        try:
            os.killpg(self.launch.pid, 0)
        except ProcessLookupError:
            return True
        return False

    @property
    def clock_limit(self) -> float:
        """Time without Gazebo's clock after which the node stops [s]."""
        return CLOCK_TIMEOUT

    def wait_for(self, condition: Callable[[], bool], timeout: float) -> None:
        """Wait for something.

        Raises:
            RigFailed: it did not come to hold in time.
        """
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                raise RigFailed(
                    f'nothing came in {timeout:g} s; the log ends:\n{self.log[-2000:]}'
                )
            time.sleep(0.02)

    def _end_launch(self) -> None:
        if self.launch.poll() is None:
            with contextlib.suppress(ProcessLookupError, IndexError):
                os.kill(self.gazebo, signal.SIGCONT)
            self.launch.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.launch.wait(timeout=20.0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.launch.pid, signal.SIGKILL)
        self.launch.wait()

    def close(self) -> None:
        """End everything."""
        self._stack.close()
