"""The story through DDS: robot, node and heartbeat monitor in processes of their own."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from cnoid_control.demo.g1 import story
from cnoid_control.demo.g1.operator import Operator
from cnoid_control.demo.g1.track import FALLEN, Row, Track, dance_row, limit_row, speed_row
from cnoid_control.demo.process import MONITOR, NODE, SIMULATOR, DemoFailed, Process
from cnoid_control.demo.robot_observer import RobotObserver
from cnoid_control.demo.watching import Progress, watch
from cnoid_control.ros.transport import reserved_domain

# The robot waits for each command, so that a slow machine gives the same result as a fast one.
SIMULATOR_PARAMETERS = (
    'pacing:=lockstep',
    'real_time_factor:=0.0',
    f'root_rate:={story.RATE}',
    f'push.link:={story.PUSHED}',
    f'push.force:={story.FORCE}',
    f'push.duration:={story.PUSH_TIME}',
)
NODE_PARAMETERS = (
    'hardware.ros2_control.lock_step:=true',
    'hardware.ros2_control.allow_scripts:=true',
)
# Silence of the node that the monitor takes for its death [s]: a busy machine is no fault here.
SILENCE = 0.25
MONITOR_PARAMETERS = (f'heartbeat.timeout:={SILENCE}',)
# Time between two looks at the robot [s].
PAUSE = 0.005
# Latest time at which it may have stopped the robot [s].
LATEST = 1.0
# How long the robot is watched after its node was killed [s].
AFTERWARDS = 3.0
FIRED = re.compile(r'no commands of .* for ([\d.e+]+) ms .*the robot is stopped')
DEACTIVATED = re.compile(r'deactivated: (.*)')


@dataclass
class DdsRun:
    """What came of it.

    Attributes:
        track: the robot's way.
        rows: lines of the table.
        dance: when the dance began and ended [s].
        killed: when the node was killed [s].
    """

    track: Track
    rows: list[Row]
    dance: tuple[float, float]
    killed: float


class DdsStory:
    """Plays the story with three processes."""

    def __init__(self, out: Path, joints: list[str], dance_steps: int) -> None:
        """Write the configuration.

        Args:
            out: folder for it and for the logs.
            joints: names of the robot's joints.
            dance_steps: length of the dance.
        """
        self._logs = out / 'log'
        self._logs.mkdir(parents=True, exist_ok=True)
        os.environ.setdefault('ROS_LOG_DIR', str(self._logs))
        self._config = out / 'g1_demo.yaml'
        values = {'/**': {'ros__parameters': story.configuration(dance_steps)}}
        # ROS reads no aliases, which stand for what is in several places.
        apart = json.loads(json.dumps(values))
        self._config.write_text(yaml.safe_dump(apart, sort_keys=False))
        self._joints = joints
        self._dance_time = dance_steps * story.PERIOD
        self._total = story.DANCE_BEGINS + self._dance_time
        self._total += story.STAND_AGAIN + story.WALK_AGAIN + AFTERWARDS

    def play(self) -> DdsRun:
        """Play it from the beginning to the end.

        Raises:
            DemoFailed: a process failed, or somebody does not answer.
        """
        with reserved_domain() as domain, ExitStack() as closing:
            observer = RobotObserver(
                domain,
                self._joints,
                'cnoid_control_mujoco/root',
                'cnoid_control/joint_commands',
                [],
            )
            closing.callback(observer.close)
            operator = Operator(domain)
            closing.callback(operator.close)
            simulator = self._start(closing, SIMULATOR, domain, *SIMULATOR_PARAMETERS)
            # In lock-step the simulator waits at its first state: nothing is missed.
            watch(observer, 0.0, (simulator,))
            monitor = self._start(closing, MONITOR, domain, *MONITOR_PARAMETERS)
            node = self._start(closing, NODE, domain, *NODE_PARAMETERS)
            processes = (simulator, monitor, node)
            return self._run(observer, operator, processes)

    def _start(self, closing: ExitStack, module: str, domain: int, *parameters: str) -> Process:
        log = self._logs / f'g1_{module.rsplit(".", 1)[1]}.log'
        process = Process(module, domain, log, *parameters, config=self._config)
        closing.callback(process.stop)
        return process

    def _run(
        self, observer: RobotObserver, operator: Operator, processes: tuple[Process, ...]
    ) -> DdsRun:
        simulator, monitor, node = processes
        progress = Progress(self._total)

        def follow(until: float) -> float:
            """Watch until a time; the time that was reached [s]."""
            watch(observer, until, processes, progress, PAUSE)
            return observer.samples[-1].time

        begin = time.monotonic()
        pushed = follow(story.PUSH)
        operator.push()
        swapped = follow(story.SWAP)
        operator.swap('walk_sac')
        began = follow(max(story.DANCE_BEGINS, swapped + story.DANCE_BEGINS - story.SWAP))
        operator.swap('dance')
        ended = follow(began + self._dance_time)
        while operator.controller() != 'walk_ppo':
            ended = follow(ended + 0.2)
            if ended > began + self._dance_time + 5.0:
                raise DemoFailed('the dance has ended, and nobody has taken over')
        killed = follow(ended + story.STAND_AGAIN + story.WALK_AGAIN)
        factor = killed / (time.monotonic() - begin)
        node.kill()
        watch(observer, killed + AFTERWARDS, (simulator, monitor), progress, PAUSE)
        progress.end()
        track = Track(list(observer.samples))
        said = monitor.log.read_text(errors='replace')
        rows = self._rows(track, (pushed, swapped, began, ended, killed), said)
        latency = 1e3 * float(np.median(observer.latencies or [np.nan]))
        rows.append(Row('latency, median', f'{latency:.2f} ms', '', True))
        rows.append(Row('real-time factor', f'{factor:.2f}', '', True))
        return DdsRun(track, rows, (began, ended), killed)

    def _rows(self, track: Track, times: tuple[float, ...], said: str) -> list[Row]:
        pushed, swapped, began, ended, killed = times
        # The monitor has stopped the robot once, and not before the node was killed.
        fired, controllers = FIRED.findall(said), DEACTIVATED.findall(said)
        silence = float(fired[0]) if len(fired) == 1 else float('nan')
        stopped = len(controllers[0].split(',')) if controllers else 0
        walk, stop = story.WALK, swapped + story.STOP - story.SWAP
        heights = track.positions[track.times > killed, 2]
        return [
            limit_row('stands: moves by', track.drift(1.0, walk), 0.1, 'm', 2),
            speed_row('walks (PPO)', track.forward(walk + 1.0, pushed), story.SPEED),
            limit_row('pushed, 50 N: leans', track.tilt(pushed, pushed + 2.0), 15.0, '°'),
            speed_row('goes on', track.forward(pushed + 1.5, swapped), story.SPEED),
            speed_row('walks (SAC)', track.forward(swapped + 1.0, stop), story.SPEED),
            limit_row('stops: moves by', track.drift(stop + 1.0, began), 0.15, 'm', 2),
            dance_row(ended - began, self._dance_time),
            speed_row('walks again (PPO)', track.forward(killed - 3.0, killed), story.SPEED),
            limit_row('largest tilt', track.tilt(0.0, killed), FALLEN, '°'),
            Row(
                'node killed: stopped in',
                f'{silence:.0f} ms',
                f'{1e3 * SILENCE:.0f} to {1e3 * LATEST:.0f} ms',
                1e3 * SILENCE <= silence <= 1e3 * LATEST,
            ),
            Row('  stops controllers', str(stopped), 'some', stopped > 0),
            Row('  height at last', f'{heights[-1]:.2f} m', '', True),
        ]
