"""Several robots in one ROS graph: how many this machine bears, and whether two last.

    python tools/robots.py [--config NAME] [--rate HZ] [--controller C] [--most N] [--duration S]

starts one robot after the other, each with a node of its own, in real time, until ticks are late
or lost, and says how many there were before, and how much of the processors they took.
`tools/soak.py --robots N` lets N of them run for long, with all cores taken by others.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cnoid_control.demo.process import NODE, SIMULATOR, DemoFailed, Process
from cnoid_control.faults.surroundings import SPIN, other_process
from cnoid_control.messages.cdr import read_stamp
from cnoid_control.ros.raw_dds import open_subscription
from cnoid_control.ros.transport import reserved_domain
from cnoid_control.runtime.realtime import DEFAULT_PRIORITY, request_realtime

MEGABYTE = 2**20
# A stall of the machine shows in the late ticks; it must not stop a robot.
PATIENT = ('watchdog.state_timeout:=5.0', 'watchdog.control_timeout:=5.0')
# Nobody needs the clocks, of which there would be one per robot.
SILENT = ('clock_rate:=0.0', 'pacing:=free')
# A program that starts has ordinary priority, and waits for what real-time threads leave [s].
START_TIMEOUT = 180.0
# The robot is held for the first second, and discovery takes its time [s].
SETTLING_TIME = 5.0
# Whoever looks must not be kept from it by those it looks at.
PRIORITY = DEFAULT_PRIORITY + 10
# Share of the ticks that may be late or lost.
ALLOWED = 0.01
# Growth of the memory of a node that is too much [MB], and part of a soak before it counts.
GROWTH, WARM_UP = 1.0, 0.1
# Number of looks of a soak.
LOOKS = 20


@dataclass
class Loop:
    """Counts of one robot's loop, as its node tells them on /diagnostics."""

    ticks: int = 0
    bad: int = 0
    controller: str = ''


class CommandCheck:
    """Looks that no state is answered by two different commands: two threads would command then.

    Attributes:
        count: commands so far.
        twice: states so far with two different ones.
    """

    def __init__(self, node: Any, name: str) -> None:
        """Subscribe the commands of a robot's node, which have the stamps of the states."""
        from rclpy.qos import QoSProfile
        from sensor_msgs.msg import JointState

        self.count = self.twice = 0
        self._last = b''
        topic = f'/{name}/cnoid_control/joint_commands'
        self._subscription = open_subscription(node, JointState, topic, QoSProfile(depth=500))

    def poll(self) -> None:
        """Look at what has come."""
        while (data := self._subscription.take()) is not None:
            self.count += 1
            if self._last and read_stamp(data) == read_stamp(self._last) and data != self._last:
                self.twice += 1
            self._last = data

    def close(self) -> None:
        """Unsubscribe."""
        self._subscription.close()


class Robots:
    """Robots in one graph, each in a namespace of its own.

    Attributes:
        loops: the counts of each robot's loop, by namespace.
        nodes: the process of each robot's node, by namespace.
        checks: looks at each robot's commands, by namespace.
        start_times: how long each robot took to start [s].
    """

    def __init__(
        self, domain: int, folder: Path, config: str, parameters: Sequence[str] = ()
    ) -> None:
        """Begin with none.

        Args:
            domain: ROS domain of all of them.
            folder: folder of their logs.
            config: configuration of each of them.
            parameters: further parameters of robot and node, `name:=value`.
        """
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.node import Node

        self.loops: dict[str, Loop] = {}
        self.nodes: dict[str, Process] = {}
        self.checks: dict[str, CommandCheck] = {}
        self.start_times: list[float] = []
        self._robots: list[Process] = []
        self._domain, self._folder, self._config = domain, folder, config
        self._parameters = tuple(parameters)
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = Node('robots', context=self._context)
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._see, 50)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

    def _see(self, message: Any) -> None:
        for status in message.status:
            path, _, what = status.name.partition(': ')
            name, _, node = path.rpartition('/')
            if node != 'cnoid_control':
                continue
            loop = self.loops.setdefault(name, Loop())
            values = {one.key: one.value for one in status.values}
            if what == 'loop' and 'ticks' in values:
                loop.ticks = int(values['ticks'])
                loop.bad = int(values['late ticks']) + int(values['lost states'])
            elif what == 'controller':
                loop.controller = status.message

    def add(self, *parameters: str) -> None:
        """Start one more robot, and wait until its controller runs; parameters are its node's.

        Raises:
            DemoFailed: it does not.
        """
        name = f'robot{len(self.nodes) + 1}'
        for module, given in ((SIMULATOR, SILENT), (NODE, parameters)):
            log = self._folder / f'{name}_{module}.log'
            with ordinary_priority():
                process = Process(
                    module,
                    self._domain,
                    log,
                    *given,
                    *self._parameters,
                    config=self._config,
                    namespace=name,
                )
            if module == NODE:
                self.nodes[name] = process
            else:
                self._robots.append(process)
        self.checks[name] = CommandCheck(self._node, name)
        began = time.monotonic()
        deadline = began + START_TIMEOUT
        while not self.loops.get(name, Loop()).ticks:
            self.look(0.2)
            if time.monotonic() > deadline:
                raise DemoFailed(
                    f'{name} did not start in {START_TIMEOUT:g} s; its node says:\n'
                    f'{self.nodes[name].tail()}\nand its robot:\n{self._robots[-1].tail()}'
                )
        self.start_times.append(time.monotonic() - began)

    def look(self, duration: float) -> None:
        """Take in what comes for so long [s].

        Raises:
            DemoFailed: a process has ended.
        """
        end = time.monotonic() + duration
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=min(left, 0.05))
            for check in self.checks.values():
                check.poll()
        for process in (*self._robots, *self.nodes.values()):
            process.check()

    def processor_times(self) -> list[tuple[float, float]]:
        """Processor time so far of each robot and of its node [s]."""
        return [
            (processor_time(robot.pid), processor_time(node.pid))
            for robot, node in zip(self._robots, self.nodes.values(), strict=True)
        ]

    def stopped(self) -> list[str]:
        """Robots whose controllers do not run, each with the reason."""
        return [
            f'{name}: {self.loops[name].controller}\n{self.nodes[name].tail()}'
            for name in self.nodes
            if not self.loops[name].controller.endswith('runs')
        ]

    def close(self) -> None:
        """End all of them."""
        import rclpy

        for process in (*self.nodes.values(), *self._robots):
            process.stop()
        for check in self.checks.values():
            check.close()
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)


@contextlib.contextmanager
def ordinary_priority() -> Iterator[None]:
    """Start processes without the priority of this thread, which they would inherit."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)


@contextlib.contextmanager
def graph(config: str, parameters: Sequence[str] = ()) -> Iterator[Robots]:
    """A graph without robots, on a domain of its own."""
    with reserved_domain() as domain, tempfile.TemporaryDirectory() as folder:
        robots = Robots(domain, Path(folder), config, parameters)
        try:
            yield robots
        finally:
            robots.close()


def find_load(
    config: str,
    most: int,
    duration: float,
    allowed: float = ALLOWED,
    parameters: Sequence[str] = (),
) -> int:
    """Number of robots with which no robot loses more than the allowed share of its ticks.

    Args:
        config: configuration of each robot.
        most: number of robots at most.
        duration: time for which each number is looked at [s].
        allowed: share of late or lost ticks that is allowed.
        parameters: further parameters of robot and node, `name:=value`.
    """
    borne, cores = 0, os.cpu_count() or 1
    print(f'{cores} cores; {" ".join((config, *parameters))}; observer: ', end='')
    print(request_realtime(PRIORITY), flush=True)
    with graph(config, parameters) as robots:
        for count in range(1, most + 1):
            try:
                robots.add(*PATIENT)
            except DemoFailed as error:
                print(f'{count} robots: {error}')
                break
            robots.look(SETTLING_TIME)
            before = {name: (loop.ticks, loop.bad) for name, loop in robots.loops.items()}
            used, began = robots.processor_times(), time.monotonic()
            robots.look(duration)
            elapsed = time.monotonic() - began
            taken = [
                [100.0 * (later - earlier) / elapsed for earlier, later in zip(*pair, strict=True)]
                for pair in zip(used, robots.processor_times(), strict=True)
            ]
            shares = [
                (loop.bad - before[name][1])
                / max(1, loop.ticks - before[name][0] + loop.bad - before[name][1])
                for name, loop in robots.loops.items()
            ]
            stopped = robots.stopped()
            listed = ', '.join(f'{100.0 * share:.2f}' for share in shares)
            took = robots.start_times[-1]
            print(
                f'{count} robots: {listed} % of the ticks late or lost; of a core each takes '
                f'{sum(one[0] for one in taken) / count:.0f} % for the robot and '
                f'{sum(one[1] for one in taken) / count:.0f} % for its node, all of them '
                f'{sum(map(sum, taken)) / cores:.0f} % of the machine; the last one started in '
                f'{took:.0f} s',
                flush=True,
            )
            if stopped or max(shares) > allowed:
                print('\n'.join(stopped), end='')
                break
            borne = count
    bound = '' if borne < most else ' or more'
    print(
        f'{borne}{bound} robots of {config}: each loses at most {100.0 * allowed:g} % of its ticks'
    )
    return borne


def processor_time(process: int) -> float:
    """Processor time of a process so far [s]."""
    with open(f'/proc/{process}/stat', encoding='ascii') as file:
        # After the name, which may hold anything.
        fields = file.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def resident_memory(process: int) -> float:
    """Memory of a process [MB]."""
    with open(f'/proc/{process}/statm', encoding='ascii') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / MEGABYTE


def soak_robots(count: int, duration: float, config: str) -> list[str]:
    """Let robots run for so long [s] with all cores taken by others; what was wrong."""
    with graph(config) as robots, contextlib.ExitStack() as stack:
        for _ in range(count):
            robots.add(*PATIENT)
        for _ in range(os.cpu_count() or 1):
            stack.enter_context(other_process(SPIN))
        robots.look(max(SETTLING_TIME, WARM_UP * duration))
        first = {name: resident_memory(node.pid) for name, node in robots.nodes.items()}
        wrong: list[str] = []
        for look in range(LOOKS):
            robots.look(duration * (1.0 - WARM_UP) / LOOKS)
            growth = {
                name: resident_memory(node.pid) - first[name]
                for name, node in robots.nodes.items()
            }
            told = ', '.join(
                f'{name} {loop.ticks} ticks ({loop.bad} late or lost) {growth[name]:+.2f} MB'
                for name, loop in robots.loops.items()
            )
            print(f'{look + 1:3d}/{LOOKS}  {told}', flush=True)
            wrong += robots.stopped()
            if wrong:
                break
        wrong += [
            f'{name}: memory grew by {grown:.2f} MB'
            for name, grown in growth.items()
            if grown >= GROWTH
        ]
        for name, check in robots.checks.items():
            print(f'{name}: {check.count} commands seen, {check.twice} states answered twice')
            if check.twice or not check.count:
                wrong.append(f'{name}: {check.twice} of {check.count} states answered twice')
    return wrong


def main() -> int:
    """Find the number of robots."""
    parser = argparse.ArgumentParser(description='How many robots this machine bears.')
    parser.add_argument('--config', default='sr1_pd', help='configuration of each robot')
    parser.add_argument('--rate', type=float, metavar='HZ', help='other than that configuration')
    parser.add_argument('--controller', metavar='C', help='other than that configuration')
    parser.add_argument('--most', type=int, default=8, metavar='N', help='robots at most')
    parser.add_argument(
        '--duration', type=float, default=10.0, metavar='S', help='for each number'
    )
    args = parser.parse_args()
    given = {'rate': args.rate, 'controller': args.controller}
    parameters = [f'{name}:={value}' for name, value in given.items() if value is not None]
    return 0 if find_load(args.config, args.most, args.duration, parameters=parameters) else 1


if __name__ == '__main__':
    sys.exit(main())
