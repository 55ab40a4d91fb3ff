"""ROS processes with fault injection."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from rclpy.parameter import Parameter

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.faults.child_process import bound_command
from cnoid_control.faults.ros_observer import SERVICE_TIMEOUT, RosObserver
from cnoid_control.faults.testbed import FAULTY_CONTROLLER, MAX_EFFORT, STANDING_HEIGHT
from cnoid_control.faults.wire import STATES, WireObserver
from cnoid_control.ros.transport import reserved_domain
from cnoid_control.runtime.config import load_config, merge
from cnoid_control.runtime.realtime import DEFAULT_PRIORITY

JOINTS = 29
DEVICE_TOPICS = {
    'WaistIMU': 'imu_sensor_broadcaster/imu',
    'LeftAnkleForceSensor': 'LeftAnkleForceSensor_broadcaster/wrench',
    'RightAnkleForceSensor': 'RightAnkleForceSensor_broadcaster/wrench',
}
DEVICE_TYPES = {
    'WaistIMU': 'sensor_msgs/msg/Imu',
    'LeftAnkleForceSensor': 'geometry_msgs/msg/WrenchStamped',
    'RightAnkleForceSensor': 'geometry_msgs/msg/WrenchStamped',
}
# Commands after which SR1 stands, and the watchdog's grace is over.
STANDING = 1500
START_TIMEOUT = 60.0
LOG_LINE = re.compile(r'\[(\d+\.\d+)\] \[[\w.]+\]: (.*)')


class RigFailed(CnoidControlError):
    """The processes did not come up."""


class DdsRig:
    """Robot, node and, where asked for, heartbeat monitor on a ROS domain of their own.

    Attributes:
        robot, control, heartbeat: the processes.
        node: node of this process, to ask and tell with; served by a thread.
        wire: looks at the commands, and at when what was sent.
        time_step: control period [s].
        height: height of SR1's root as the robot tells it [m].
        notes: what is worth telling of what happened.
    """

    def __init__(
        self,
        heartbeat: bool = False,
        closed_stdout: bool = False,
        observed: str = '',
        changes: Mapping[str, Any] | None = None,
    ) -> None:
        """Start everything and wait until SR1 has stood for a while.

        Args:
            heartbeat: whether a heartbeat monitor watches the node.
            closed_stdout: let the node's output go to a device that is always full.
            observed: name of a device whose messages are timed; none where empty.
            changes: parameters that are not as shipped, by dotted name.

        Raises:
            RigFailed: a process ended, or no commands came in time.
        """
        self.notes: list[str] = []
        self.height = 0.0
        self.heartbeat: subprocess.Popen[bytes] | None = None
        self._changes = dict(changes or {})
        self._stack = contextlib.ExitStack()
        try:
            self._start(heartbeat, closed_stdout, observed)
        except BaseException:
            self.close()
            raise

    def _start(self, heartbeat: bool, closed_stdout: bool, observed: str) -> None:
        domain = self._stack.enter_context(reserved_domain())
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._environment = {
            **os.environ,
            'ROS_DOMAIN_ID': str(domain),
            'ROS_LOG_DIR': str(self._folder / 'ros'),
            'PYTHONUNBUFFERED': '1',
        }
        self._write_parameters()
        self.start_robot()
        full = '/dev/full' if closed_stdout else ''
        self.control = self._process('node', 'cnoid_control.ros.node.control_node', output=full)
        if heartbeat:
            self.heartbeat = self._process('heartbeat', 'cnoid_control.ros.heartbeat')
        self._make_node(domain, observed)
        # What tells the fault must be heard before it is injected.
        heard = [STATES, *([DEVICE_TOPICS[observed]] if observed else [])]
        self.wait_for(
            lambda: (
                self.is_disturbed
                or (
                    self.wire.commands.count > STANDING
                    and all(self.wire.topics[topic].times for topic in heard)
                )
            )
        )
        if heartbeat:
            self.wait_for(lambda: 'watching' in self.log('heartbeat') or self.is_disturbed)

    def _write_parameters(self) -> None:
        config = load_config('sr1_pd')
        self.time_step = config.time_step
        values = merge(
            config.values,
            {
                'controller': FAULTY_CONTROLLER,
                'faulty_controller.devices': list(DEVICE_TOPICS),
                'devices': DEVICE_TOPICS,
                **self._changes,
            },
        )
        self._parameters = self._folder / 'parameters.yaml'
        self._parameters.write_text(yaml.safe_dump({'/**': {'ros__parameters': values}}))

    def _process(
        self, name: str, module: str, *words: str, output: str = ''
    ) -> subprocess.Popen[bytes]:
        words = ('--ros-args', '--params-file', str(self._parameters), *words)
        with open(output or self._folder / f'{name}.log', 'ab') as log:
            process = subprocess.Popen(
                [*bound_command(module), *words],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
            )
        self._stack.callback(_end, process)
        return process

    def start_node(self, name: str) -> subprocess.Popen[bytes]:
        """Start one more control node for the same robot, of another name; its process."""
        words = ('-r', f'__node:={name}')
        return self._process(name, 'cnoid_control.ros.node.control_node', *words)

    def start_robot(self) -> None:
        """Start the robot's process: less urgent than those that stop it, more than all others.

        It waits for nobody, as a real one.
        """
        priority = f'realtime_priority:={DEFAULT_PRIORITY - 10}'
        words = ('-p', 'pacing:=free', '-p', priority)
        self.robot = self._process('robot', 'cnoid_control.faults.faulty_robot', *words)

    def _make_node(self, domain: int, observed: str) -> None:
        from nav_msgs.msg import Odometry
        from std_msgs.msg import String

        self._observer = RosObserver(domain)
        self._stack.callback(self._observer.close)
        self.node = self._observer.node
        self._supervision = self._observer.supervision
        self.node.create_subscription(Odometry, 'cnoid_control_mujoco/root', self._see, 1)
        self._fault = self.node.create_publisher(String, 'fault', 1)
        topics = {DEVICE_TOPICS[observed]: DEVICE_TYPES[observed]} if observed else {}
        self.wire = WireObserver(self.node, JOINTS, MAX_EFFORT, self.time_step, topics)
        self._stack.callback(self.wire.close)
        self._observer.start()

    def _see(self, message: Any) -> None:
        self.height = message.pose.pose.position.z

    # --- what can be done to it ---------------------------------------------------------------

    def corrupt(self, fault: str) -> None:
        """Have the robot corrupt its joint states."""
        from std_msgs.msg import String

        self.wait_for(lambda: self._fault.get_subscription_count() > 0)
        self._fault.publish(String(data=fault))

    def set_parameter(self, name: str, value: Any) -> Any:
        """Set a parameter of the node; the result."""
        from rcl_interfaces.srv import SetParameters

        parameter = Parameter(name, value=value).to_parameter_msg()
        answer = self._supervision.call(
            SetParameters,
            '/cnoid_control/set_parameters',
            SetParameters.Request(parameters=[parameter]),
            SERVICE_TIMEOUT,
        )
        return answer.results[0]

    def deactivate(self, *controllers: str) -> None:
        """Have controller_manager deactivate controllers, as somebody else might."""
        from controller_manager_msgs.srv import SwitchController

        request = SwitchController.Request(deactivate_controllers=list(controllers), strictness=2)
        service = '/controller_manager/switch_controller'
        answer = self._supervision.call(SwitchController, service, request, SERVICE_TIMEOUT)
        if not answer.ok:
            raise RigFailed(f'{controllers} were not deactivated')

    def active_controllers(self) -> list[str]:
        """Names of the controllers that controller_manager has active."""
        states = self._observer.controllers()
        return [name for name, state in states.items() if state == 'active']

    def trigger(self, service: str) -> Any:
        """Call a std_srvs/Trigger service of the node; the answer."""
        return self._observer.trigger(service)

    # --- what came of it ----------------------------------------------------------------------

    def log(self, name: str) -> str:
        """What a process has written so far."""
        return read_log(self._folder / f'{name}.log')

    def when(self, name: str, words: str) -> tuple[float, str]:
        """Time and text of the first log line with these words; 0 and nothing for none."""
        return find_line(self.log(name), words)

    def injected(self, name: str) -> float:
        """When a process injected a fault into itself, by the wall clock [s]; 0: never."""
        found = re.findall(r'injected.* at (\d+)', self.log(name))
        return int(found[-1]) * 1e-9 if found else 0.0

    @property
    def disturbance(self) -> str:
        """Why the robot was stopped; empty while it was not."""
        return self.when('node', 'safe state')[1] or self.when('heartbeat', 'robot is stopped')[1]

    @property
    def is_disturbed(self) -> bool:
        """Whether the robot was stopped already: the machine has stalled for too long."""
        return bool(self.disturbance)

    @property
    def stands(self) -> bool:
        """Whether SR1 is on its feet."""
        return self.height > STANDING_HEIGHT

    def wait_for(self, condition: Callable[[], bool], timeout: float = START_TIMEOUT) -> None:
        """Wait for something.

        Raises:
            RigFailed: it did not come to hold in time.
        """
        deadline = time.monotonic() + timeout
        while not condition():
            log = self.log('node')
            if time.monotonic() > deadline or 'cannot configure' in log:
                raise RigFailed(
                    f'nothing came in {timeout:g} s; the node says:\n{self.log("node")}'
                )
            time.sleep(0.005)

    def close(self) -> None:
        """End everything."""
        self._stack.close()


def read_log(path: Path) -> str:
    """What is in a log file so far; nothing where it is not there yet."""
    return path.read_text(errors='replace') if path.exists() else ''


def find_line(log: str, words: str) -> tuple[float, str]:
    """Time and text of the first line of a log with these words; 0 and nothing for none."""
    for line in log.splitlines():
        found = LOG_LINE.search(line)
        if found is not None and words in found.group(2):
            return float(found.group(1)), found.group(2)
    return 0.0, ''


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
