"""Fixtures of tests that need ROS: real rclpy, each test on a domain of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rclpy.context import Context
    from rclpy.executors import Executor
    from rclpy.node import Node

SpinUntil = Callable[..., bool]
StartProcess = Callable[..., subprocess.Popen]


def skip_without_ros(folder: Path, items: list[pytest.Item]) -> None:
    """Skip a folder's tests, with the reason, where rclpy is not installed."""
    try:
        import rclpy  # noqa: F401
    except ImportError as error:
        skip = pytest.mark.skip(reason=f'needs ROS 2: {error}')
        for item in items:
            if folder in item.path.parents:
                item.add_marker(skip)


@pytest.fixture
def ros_context(ros_domain: int) -> Iterator['Context']:
    """Return an initialized rclpy context on the test's domain."""
    import rclpy
    from rclpy.context import Context

    context = Context()
    rclpy.init(context=context, domain_id=ros_domain)
    yield context
    rclpy.try_shutdown(context=context)


@pytest.fixture
def ros_executor(ros_context: 'Context') -> Iterator['Executor']:
    """Return an executor for the test's nodes; the nodes left in it are destroyed at the end."""
    from rclpy.executors import SingleThreadedExecutor

    executor = SingleThreadedExecutor(context=ros_context)
    yield executor
    for node in executor.get_nodes():
        executor.remove_node(node)
        node.destroy_node()
    executor.shutdown()


@pytest.fixture
def ros_node(ros_context: 'Context', ros_executor: 'Executor') -> 'Node':
    """Return a node to talk to what is tested; `spin_until` serves its callbacks."""
    from rclpy.node import Node

    node = Node('tester', context=ros_context)
    ros_executor.add_node(node)
    return node


@pytest.fixture
def spin_until(ros_executor: 'Executor') -> SpinUntil:
    """Return a function that serves callbacks until a condition holds.

    `spin_until(condition, timeout=20.0)` returns whether the condition came to hold. Futures
    are waited for by `spin_until(future.done)`.
    """

    def spin(condition: Callable[[], bool], timeout: float = 20.0) -> bool:
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                return False
            ros_executor.spin_once(timeout_sec=0.02)
        return True

    return spin


@pytest.fixture
def start_process(ros_domain: int, tmp_path: Path) -> Iterator[StartProcess]:
    """Return a function that starts a module of the package as a process on the test's domain.

    `start_process('cnoid_control.ros.node.control_node', '--ros-args', ...)` returns the Popen;
    its output is in the file `process.log_path`. Processes still alive at the end get SIGINT,
    then SIGKILL.
    """
    processes: list[subprocess.Popen] = []

    def start(module: str, *arguments: str, **variables: str) -> subprocess.Popen:
        log_path = tmp_path / f'process_{len(processes)}.log'
        with log_path.open('w') as log:
            process = subprocess.Popen(
                [sys.executable, '-m', module, *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **variables, 'PYTHONUNBUFFERED': '1'},
                start_new_session=True,
            )
        process.log_path = log_path  # type: ignore[attr-defined]
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    for process in processes:
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
