"""Runs the demonstration: `python -m cnoid_control.demo`."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack
from pathlib import Path

import cnoid_control.demo
from cnoid_control.demo.process import CONFIG, NODE, SIMULATOR, Process, exit_status
from cnoid_control.demo.report import FORCE_SENSORS, measure, print_table, save_pictures
from cnoid_control.demo.watching import Progress, watch
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot

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
        progress = Progress(duration)
        wall_time = watch(observer, duration, (simulator, node), progress)
        progress.end()
    found = measure(body, observer.samples, observer.latencies, wall_time)
    print_table(found, config.parameters.rate)
    save_pictures(out, body, observer.samples)
    found.judge()


def main() -> int:
    """Run the demonstration; the exit status is 1 where it failed, 130 where it was ended."""
    parser = argparse.ArgumentParser(
        prog='python -m cnoid_control.demo', description=cnoid_control.demo.__doc__
    )
    parser.add_argument('--duration', type=float, default=10.0, help='simulated time [s]')
    parser.add_argument('--out', type=Path, default=Path('out'), help='folder for the results')
    arguments = parser.parse_args()
    print(f'SR1 stands for {arguments.duration:g} s: MuJoCo and the ROS node, in lock-step')
    return exit_status('demo', lambda: run(arguments.duration, arguments.out))


if __name__ == '__main__':
    sys.exit(main())
