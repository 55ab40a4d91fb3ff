"""Runs the demonstration: `python -m cnoid_control.demo`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import cnoid_control.demo
from cnoid_control.demo.process import CONFIG, NODE, SIMULATOR, DemoFailed, Process
from cnoid_control.demo.report import FORCE_SENSORS, measure, print_table, save_pictures
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot

if TYPE_CHECKING:
    from cnoid_control.demo.robot_observer import RobotObserver

# Longest time without any progress [s], and between two looks at the robot [s].
PATIENCE, PAUSE = 180.0, 0.05
# In lock-step a slow machine gives the same result as a fast one.
SIMULATOR_PARAMETERS = ('pacing:=lockstep', 'real_time_factor:=0.0')
NODE_PARAMETERS = ('hardware.ros2_control.lock_step:=true',)


def run(duration: float, out: Path) -> None:
    """Let the robot stand, and show what happened.

    Args:
        duration: simulated time [s].
        out: folder for the picture, the plot and the logs of the processes.

    Raises:
        DemoFailed: a process failed, or the robot does not stand.
    """
    from cnoid_control.demo.robot_observer import RobotObserver
    from cnoid_control.ros.transport import reserved_domain

    config = load_config(CONFIG)
    body = make_robot(config.parameters.robot, config.folder)
    logs = out / 'log'
    logs.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault('ROS_LOG_DIR', str(logs))
    with reserved_domain() as domain, ExitStack() as closing:
        observer = RobotObserver(
            domain,
            body.joint_names,
            'cnoid_control_mujoco/root',
            'cnoid_control/joint_commands',
            [f'{name}_broadcaster/wrench' for name in FORCE_SENSORS],
        )
        closing.callback(observer.close)
        simulator = Process(SIMULATOR, domain, logs / 'simulator.log', *SIMULATOR_PARAMETERS)
        closing.callback(simulator.stop)
        # In lock-step the simulator waits at its first state: the observer misses nothing.
        watch(observer, 0.0, (simulator,))
        node = Process(NODE, domain, logs / 'node.log', *NODE_PARAMETERS)
        closing.callback(node.stop)
        wall_time = watch(observer, duration, (simulator, node))
    found = measure(body, observer.samples, observer.latencies, wall_time)
    print_table(found, config.parameters.rate)
    save_pictures(out, body, observer.samples)
    found.judge()


def watch(observer: RobotObserver, until: float, processes: tuple[Process, ...]) -> float:
    """Follow the run with a line of progress.

    Args:
        observer: sees the robot.
        until: simulated time to wait for [s].
        processes: must all be alive.

    Returns:
        The wall-clock time from the first step to the last [s].

    Raises:
        DemoFailed: a process has ended, or nothing happens any more.
    """
    begin = changed = time.monotonic()
    last = shown = 0.0
    while True:
        sample = observer.look(PAUSE)
        now = time.monotonic()
        for process in processes:
            process.check()
        if sample is not None and sample.time > last:
            begin = begin if last else now
            last, changed = sample.time, now
        elif now - changed > PATIENCE:
            tails = '\n'.join(f'{process.module}:\n{process.tail()}' for process in processes)
            raise DemoFailed(f'nothing has happened for {PATIENCE:.0f} s\n{tails}')
        if sys.stdout.isatty() and last:
            print(f'\r  {bar(last / until)}  {last:5.2f} s of {until:g} s', end='', flush=True)
        elif until and last >= shown + until / 5:
            shown = last
            print(f'  {last:5.2f} s of {until:g} s', flush=True)
        if sample is not None and last >= until:
            break
        time.sleep(PAUSE)
    if sys.stdout.isatty() and last:
        print()
    return now - begin


def bar(fraction: float, width: int = 40) -> str:
    """Return a bar that is filled to a fraction."""
    filled = round(width * min(fraction, 1.0))
    return '█' * filled + '░' * (width - filled)


def main() -> int:
    """Run the demonstration; the exit status is 1 where it failed."""
    parser = argparse.ArgumentParser(
        prog='python -m cnoid_control.demo', description=cnoid_control.demo.__doc__
    )
    parser.add_argument('--duration', type=float, default=10.0, help='simulated time [s]')
    parser.add_argument('--out', type=Path, default=Path('out'), help='folder for the results')
    arguments = parser.parse_args()
    print(f'SR1 stands for {arguments.duration:g} s: MuJoCo and the ROS node, in lock-step')
    try:
        run(arguments.duration, arguments.out)
    except CnoidControlError as error:
        print(f'demo: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
