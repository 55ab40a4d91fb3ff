"""SROS2 for real, where ros2 security and a middleware that has it are installed.

SR1 is controlled by nodes with enclaves of their own, by the policy that is shipped; others cannot
command it, nor hear it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')
pytest.importorskip('sros2', reason='ros2 security (the package sros2) is not installed')

ENCLAVES = (
    *('/cnoid_control', '/cnoid_control_heartbeat'),
    *('/cnoid_control_mujoco', '/cnoid_control_teleop'),
)
TIMEOUT = 60.0
# Says what a node of this name can do with the robot: who receives its commands, what it hears.
STRANGER = """
import json, sys, time
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

seen = {'receivers': 0, 'states': 0, 'refused': ''}
try:
    rclpy.init(args=sys.argv)
    node = Node(sys.argv[1])
    node.create_subscription(JointState, 'joint_states', lambda _: seen.update(states=1), 1)
    publisher = node.create_publisher(Float64MultiArray, 'effort_controller/commands', 1)
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end and not (seen['receivers'] and seen['states']):
        rclpy.spin_once(node, timeout_sec=0.05)
        seen['receivers'] = publisher.get_subscription_count()
except Exception as error:
    seen['refused'] = f'{type(error).__name__}: {error}'
print(json.dumps(seen))
"""


class SecuredSystem:
    """SR1's simulation, node and heartbeat monitor, each with an enclave of its own."""

    def __init__(self, folder: Path, keystore: Path, domain: int, root: Path) -> None:
        self._folder, self._root = folder, root
        self._environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain), 'PYTHONUNBUFFERED': '1'}
        self.secured = {
            'ROS_SECURITY_KEYSTORE': str(keystore),
            'ROS_SECURITY_ENABLE': 'true',
            'ROS_SECURITY_STRATEGY': 'Enforce',
        }
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start everything and wait until SR1 is controlled."""
        self._start('cnoid_control_mujoco', 'cnoid_control.ros.sim.node')
        self._start('cnoid_control_heartbeat', 'cnoid_control.ros.heartbeat')
        self._start('cnoid_control', 'cnoid_control.ros.node.control_node')
        deadline = time.monotonic() + TIMEOUT
        while 'activate: done' not in self.log('cnoid_control'):
            assert time.monotonic() < deadline, self.logs()
            assert all(process.poll() is None for process in self._processes), self.logs()
            time.sleep(0.1)

    def _start(self, name: str, module: str) -> None:
        words = ['--params-file', str(self._root / 'config' / 'sr1_pd.yaml')]
        # As the launch file has it, which needs the clock.
        words += ['-p', 'use_sim_time:=true']
        # The machine may be busy with other tests.
        for key in ('watchdog.state_timeout', 'watchdog.control_timeout', 'heartbeat.timeout'):
            words += ['-p', f'{key}:=5.0']
        with (self._folder / f'{name}.log').open('wb') as log:
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, '-m', module, '--ros-args', '-e', f'/{name}', *words],
                    env={**self._environment, **self.secured},
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )

    def ask(self, name: str, enclave: str = '', seconds: float = 5.0) -> dict[str, object]:
        """What a stranger can do, with this name and, where given, with this enclave."""
        words = [name, str(seconds)]
        environment = dict(self._environment)
        if enclave:
            environment.update(self.secured)
            words += ['--ros-args', '-e', enclave]
        done = subprocess.run(
            [sys.executable, '-c', STRANGER, *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        lines = done.stdout.splitlines()
        assert lines, done.stderr
        return json.loads(lines[-1])

    def log(self, name: str) -> str:
        """What a node has written."""
        return (self._folder / f'{name}.log').read_text(errors='replace')

    def logs(self) -> str:
        """What all of them have written, for a message."""
        return '\n'.join(file.read_text(errors='replace') for file in self._folder.glob('*.log'))

    def close(self) -> list[int]:
        """End everything, the node first; the statuses."""
        for process in reversed(self._processes):
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        return [process.returncode for process in self._processes]


def make_keystore(folder: Path, policy: Path) -> Path:
    """Keys and permissions, as the documentation has them made."""
    for words in (
        ('create_keystore', str(folder)),
        ('generate_artifacts', '-k', str(folder), '-p', str(policy), '-e', *ENCLAVES),
    ):
        done = subprocess.run(['ros2', 'security', *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def system(tmp_path: Path, root: Path, ros_domain: int) -> Iterator[SecuredSystem]:
    """Return SR1 under control, by nodes that are secured."""
    keystore = make_keystore(tmp_path / 'keystore', root / 'security' / 'policy.xml')
    made = SecuredSystem(tmp_path, keystore, ros_domain, root)
    can = made.ask('cnoid_control_heartbeat', '/cnoid_control_heartbeat', 0.0)
    if can['refused']:
        pytest.skip(f'the middleware has no security: {can["refused"]}')
    try:
        made.start()
        yield made
    finally:
        made.close()


@pytest.mark.timeout(300)
def test_only_who_is_allowed_commands_and_hears_the_robot(
    system: SecuredSystem, tmp_path: Path, root: Path
) -> None:
    """Neither a node without keys, nor one of a wrong enclave, nor one with keys of its own."""
    allowed = system.ask('cnoid_control_heartbeat', '/cnoid_control_heartbeat', 20.0)
    assert allowed['refused'] == ''
    assert allowed['receivers'] >= 1
    assert allowed['states'] == 1
    without_keys = system.ask('stranger')
    assert without_keys == {'receivers': 0, 'states': 0, 'refused': ''}
    # Its keys are good, but the policy gives it neither of the two topics.
    other = system.ask('cnoid_control_teleop', '/cnoid_control_teleop')
    assert 'RCLError' in other['refused'], other
    assert (other['receivers'], other['states']) == (0, 0)
    # The permissions are the same, but another authority has signed them.
    forged = make_keystore(tmp_path / 'forged', root / 'security' / 'policy.xml')
    system.secured['ROS_SECURITY_KEYSTORE'] = str(forged)
    forger = system.ask('cnoid_control_heartbeat', '/cnoid_control_heartbeat')
    assert (forger['receivers'], forger['states']) == (0, 0), forger
    assert 'safe state' not in system.log('cnoid_control'), system.logs()
    assert system.close() == [0, 0, 0], system.logs()
