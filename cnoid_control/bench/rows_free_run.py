"""How many ticks are late or lost when SR1 stands in real time, two processes on DDS."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from cnoid_control.bench.bare_timer import BaselineTimers
from cnoid_control.bench.row import MetricRow

PERIOD = 0.001
DURATION = 60.0
# The robot is held for the first second, and discovery takes its time.
WARM_UP = 5.0
START_TIMEOUT = 60.0


class LoopWatch:
    """The counts of the control node's loop, as it tells them on /diagnostics.

    Attributes:
        ticks: ticks so far; 0 before the loop has told anything.
        bad: late ticks and lost states so far.
        controller: what the controllers do.
    """

    def __init__(self, domain: int) -> None:
        """Subscribe."""
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.node import Node

        self.ticks = self.bad = 0
        self.controller = ''
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = Node('late_ticks', context=self._context)
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._see, 10)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def _see(self, message: Any) -> None:
        for status in message.status:
            values = {one.key: one.value for one in status.values}
            if status.name.endswith(': loop') and 'ticks' in values:
                self.ticks = int(values['ticks'])
                self.bad = int(values['late ticks']) + int(values['lost states'])
            elif status.name.endswith(': controller'):
                self.controller = status.message

    def look(self, duration: float) -> None:
        """Take in what comes for so long [s]."""
        end = time.monotonic() + duration
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def close(self) -> None:
        """Unsubscribe."""
        import rclpy

        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)


def free_run(duration: float = DURATION) -> tuple[float, float]:
    """Let SR1 stand in real time, with timers that do nothing beside it.

    Args:
        duration: time that is looked at [s].

    Returns:
        Share of the ticks that were late or lost, and of the periods that the timers missed.

    Raises:
        DemoFailed: a process ended, or the controller did not go on.
    """
    from cnoid_control.demo.process import NODE, SIMULATOR, DemoFailed, Process
    from cnoid_control.ros.transport import reserved_domain
    from cnoid_control.runtime.realtime import DEFAULT_PRIORITY

    with reserved_domain() as domain, tempfile.TemporaryDirectory() as folder:
        robot = Process(SIMULATOR, domain, Path(folder, 'robot.log'), 'pacing:=free')
        node = Process(NODE, domain, Path(folder, 'node.log'))
        watch = LoopWatch(domain)
        try:
            begin = time.monotonic()
            while not watch.ticks and time.monotonic() < begin + START_TIMEOUT:
                robot.check()
                node.check()
                watch.look(0.5)
            watch.look(WARM_UP)
            timers = BaselineTimers(PERIOD, duration, DEFAULT_PRIORITY)
            ticks, bad = watch.ticks, watch.bad
            missed = timers.missed()
            watch.look(1.5)
            if not watch.controller.endswith('runs') or watch.ticks <= ticks:
                raise DemoFailed(f'the controller did not go on: {watch.controller}')
            share = (watch.bad - bad) / (watch.ticks - ticks + watch.bad - bad)
            return share, missed
        finally:
            watch.close()
            node.stop()
            robot.stop()


def late_ticks() -> float:
    """Share of the ticks that were late or lost, less what the machine itself missed [%]."""
    bad, missed = free_run()
    return 100.0 * max(0.0, bad - missed)


ROWS = (
    MetricRow(
        'late_ticks',
        f'SR1 at 1 kHz on DDS for {DURATION:g} s: ticks that were late or lost',
        'less the periods that timers with nothing to do missed at the same time',
        late_ticks,
        '%',
        goal=0.5,
        needs='rclpy',
    ),
)
