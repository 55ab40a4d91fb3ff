"""The control node's ticks while it is asked for something, beside quiet ones."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cnoid_control.bench.ros_loop.compare import StoodStill, require_valid, retried
from cnoid_control.bench.ros_loop.rig import HELD, KP, OURS, RATE, Drive, driven
from cnoid_control.exceptions import CnoidControlError

NODE = '/cnoid_control'
ROUNDS, TICKS = 9, 1000
# Time between two requests, and the longest wait for an answer [s].
PAUSE, TIMEOUT = 0.2, 10.0


class Stretch(NamedTuple):
    """Ticks with and without requests.

    Attributes:
        quiet: the ticks before.
        disturbed: the ticks while requests were answered.
        requests: how many were.
    """

    quiet: Drive
    disturbed: Drive
    requests: int


def largest(drive: Drive) -> float:
    """Longest time from a state to the next command [s]."""
    return float(np.nanmax(drive.waits))


class Requests:
    """What can be asked of a control node: a swap, a reset, a parameter."""

    def __init__(self, domain: int) -> None:
        """Make a node on this domain, and wait for the services."""
        import rclpy
        from rcl_interfaces.srv import SetParameters
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.node import Node
        from std_srvs.srv import Trigger

        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = Node('requests', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._parameters = self._node.create_client(SetParameters, f'{NODE}/set_parameters')
        self._stop = self._node.create_client(Trigger, f'{NODE}/stop')
        self._reset = self._node.create_client(Trigger, f'{NODE}/reset')
        for client in (self._parameters, self._stop, self._reset):
            if not client.wait_for_service(TIMEOUT):
                raise CnoidControlError(f'no service {client.srv_name}')
        # The first of `HELD` has the robot.
        self._names = cycle(HELD[::-1])
        self._gains = cycle((KP * (1.0 + 1e-9), KP))

    def swap(self) -> None:
        """Have the other controller take over, once the swap before it has ended."""
        name, deadline = next(self._names), time.monotonic() + TIMEOUT
        while True:
            try:
                self._set('controller', name)
                return
            except CnoidControlError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(PAUSE)

    def set_gain(self) -> None:
        """Give both controllers another gain, which acts as the one before."""
        gain = next(self._gains)
        for name in HELD:
            self._set(f'{name}.kp', gain)

    def reset(self) -> None:
        """Stop the robot, and have fresh controllers take over."""
        from std_srvs.srv import Trigger

        for client in (self._stop, self._reset):
            answer = self._call(client, Trigger.Request())
            if not answer.success:
                raise CnoidControlError(f'{client.srv_name}: {answer.message}')

    def _set(self, name: str, value: Any) -> None:
        from rcl_interfaces.srv import SetParameters
        from rclpy.parameter import Parameter

        request = SetParameters.Request()
        request.parameters = [Parameter(name, value=value).to_parameter_msg()]
        (result,) = self._call(self._parameters, request).results
        if not result.successful:
            raise CnoidControlError(f'{name}: {result.reason}')

    def _call(self, client: Any, request: Any) -> Any:
        future = client.call_async(request)
        self._executor.spin_until_future_complete(future, TIMEOUT)
        if not future.done():
            raise CnoidControlError(f'{client.srv_name} does not answer')
        return future.result()

    def close(self) -> None:
        """Take the node down."""
        import rclpy

        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)


class Repeated:
    """A request, again and again in a thread.

    Attributes:
        count: how often it was answered.
    """

    def __init__(self, request: Callable[[], None]) -> None:
        """Take a request."""
        self.count = 0
        self._request = request
        self._end = threading.Event()
        self._error: Exception | None = None

    def _run(self) -> None:
        while not self._end.is_set():
            try:
                self._request()
            except Exception as error:
                self._error = error
                return
            self.count += 1
            self._end.wait(PAUSE)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Ask until the block ends.

        Raises:
            Exception: what a request has raised.
        """
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join()
        if self._error is not None:
            raise self._error


def disturb(what: str, priority: int, rounds: int = ROUNDS, ticks: int = TICKS) -> list[Stretch]:
    """Drive a control node, quietly and while it is asked for something, by turns.

    Args:
        what: name of a method of `Requests`.
        priority: real-time priority of the node; 0 for none.
        rounds: number of turns.
        ticks: states in a stretch, at 1 kHz.

    Raises:
        StoodStill: the machine did, again and again.
    """
    with tempfile.TemporaryDirectory() as folder, driven(OURS, priority, Path(folder)) as pair:
        requests = Requests(pair.domain)

        def take() -> Stretch:
            repeated = Repeated(getattr(requests, what))
            try:
                quiet = require_valid(pair.drive(RATE, ticks))
                with repeated.running():
                    disturbed = require_valid(pair.drive(RATE, ticks))
            except CnoidControlError as error:
                # Where the machine stands still the watchdog stops the robot, and a request that
                # comes then is refused.
                requests.reset()
                raise StoodStill(str(error)) from error
            return Stretch(quiet, disturbed, repeated.count)

        try:
            return [retried(take) for _ in range(rounds)]
        finally:
            requests.close()


disturbed_by = cache(disturb)
