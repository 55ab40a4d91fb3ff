"""What the framework costs a tick, by the size of a robot and the number of robots."""

from __future__ import annotations

import gc
import io
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from cnoid_control.plugin import ControllerIO, SimpleController, StateFlag
from cnoid_control.runtime.config import RunConfig, parse_config
from cnoid_control.simulation import Simulation

PERIOD = 0.001
# Joints of a limb: the robot is a base with as many of these as it needs.
LIMB = 6
INERTIAL = (
    '<inertial><origin xyz="0 0 -0.05"/><mass value="0.5"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
)
AXES = ('1 0 0', '0 1 0', '0 0 1')
FORCE = '<frame>child</frame><measure_direction>child_to_parent</measure_direction>'
SENSORS = (
    '<sensor name="{name}" type="imu"/>',
    f'<sensor name="{{name}}" type="force_torque"><force_torque>{FORCE}</force_torque></sensor>',
)
# Part of the ticks that nothing else on the machine has disturbed, at least [%].
UNDISTURBED = 5
# The functions of MuJoCo that are the physics.
PHYSICS = ('mj_step', 'mj_step1', 'mj_step2')


class Case(NamedTuple):
    """What is simulated.

    Attributes:
        joints: joints of a robot.
        devices: devices of a robot.
        robots: robots in the world.
    """

    joints: int
    devices: int
    robots: int = 1


class HoldAll(SimpleController):
    """Reads all joints and devices, and holds the initial posture by efforts."""

    def initialize(self, io: ControllerIO) -> bool:
        """Ask for everything that the robot has."""
        self.body = io.body
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_EFFORT
            io.enable_input(joint, StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY)
            io.enable_output(joint)
        for device in self.body.devices:
            io.enable_input(device)
        self.q_ref = self.body.q.copy()
        return True

    def control(self) -> bool:
        """One tick of PD control."""
        body = self.body
        body.u[:] = 100.0 * (self.q_ref - body.q) - body.dq
        return True


def robot_text(joints: int, devices: int) -> str:
    """URDF of a base with limbs; devices are spread over the links."""
    links = [f'<link name="base">{INERTIAL}</link>']
    for i in range(joints):
        parent = 'base' if i % LIMB == 0 else f'link_{i - 1}'
        links.append(
            f'<link name="link_{i}">{INERTIAL}</link><joint name="joint_{i}" type="revolute">'
            f'<parent link="{parent}"/><child link="link_{i}"/><origin xyz="0.1 0 -0.1"/>'
            f'<axis xyz="{AXES[i % 3]}"/><dynamics damping="1"/>'
            '<limit lower="-3" upper="3" effort="500" velocity="20"/></joint>'
        )
    for i in range(devices):
        sensor = SENSORS[i % len(SENSORS)].format(name=f'sensor_{i}')
        links.append(f'<gazebo reference="link_{i * joints // devices}">{sensor}</gazebo>')
    return f'<robot name="limbs">{"".join(links)}</robot>'


def make_config(case: Case, folder: Path) -> RunConfig:
    """Configuration of a robot of a case, its model in a folder."""
    model = folder / f'limbs_{case.joints}_{case.devices}.urdf'
    model.write_text(robot_text(case.joints, case.devices), encoding='utf-8')
    values = {
        'robot': {'model': str(model), 'base': 'fixed', 'rotors': False},
        'rate': 1.0 / PERIOD,
        'controller': f'{HoldAll.__module__}:{HoldAll.__name__}',
    }
    return parse_config(values, model.stem, folder)


class TimedWorld:
    """A world whose ticks are timed, and the physics in them."""

    def __init__(self, case: Case) -> None:
        """Build it and take the first ticks."""
        self._spent = 0
        self._kept = ExitStack()
        folder = Path(self._kept.enter_context(tempfile.TemporaryDirectory()))
        config = make_config(case, folder)
        source: dict[str, Any] = {'source': config}
        if case.robots > 1:
            places = {f'robot_{i}': [3.0 * (i % 4), 3.0 * (i // 4)] for i in range(case.robots)}
            robots = {
                name: {'config': config, 'position': place} for name, place in places.items()
            }
            source = {'robots': robots}
        with self._timed_physics():
            simulation = Simulation(**source, record=False, os=io.StringIO())
            self._kept.enter_context(simulation)
            simulation.run(20 * PERIOD)
        self._steps = [robot.loop.step for robot in simulation.robots.values()]

    @contextmanager
    def _timed_physics(self) -> Iterator[None]:
        """Have the physics that is bound meanwhile add its time to `_spent`."""
        import mujoco

        def timed(function: Callable[..., None]) -> Callable[..., None]:
            clock = time.thread_time_ns

            def call(*arguments: Any) -> None:
                begin = clock()
                function(*arguments)
                self._spent += clock() - begin

            return call

        functions: dict[str, Any] = {name: timed(getattr(mujoco, name)) for name in PHYSICS}
        with mock.patch.multiple(mujoco, **functions):
            yield

    def take(self, ticks: int) -> np.ndarray:
        """Times of ticks of all robots [ns], shape (ticks, 2): the framework's, the physics'."""
        clock, steps = time.thread_time_ns, self._steps
        times = np.empty((ticks, 2))
        for row in times:
            self._spent = 0
            begin = clock()
            for step in steps:
                step()
            row[:] = clock() - begin - self._spent, self._spent
        return times

    def close(self) -> None:
        """Stop the controllers."""
        self._kept.close()


def tick_times(
    cases: Sequence[Case], ticks: int = 60, rounds: int = 7
) -> dict[Case, tuple[float, float]]:
    """Framework and physics time of a tick of all robots [µs], of cases by turns.

    CPU time of the thread, and of its ticks those that were disturbed least: other programs on
    the machine push a large world out of the caches more than a small one.
    """
    worlds = {case: TimedWorld(case) for case in cases}
    found: dict[Case, list[np.ndarray]] = {case: [] for case in cases}
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for case, world in worlds.items():
                found[case].append(world.take(ticks))
    finally:
        if enabled:
            gc.enable()
        for world in worlds.values():
            world.close()
    least = {
        case: np.percentile(np.concatenate(times), UNDISTURBED, axis=0) / 1e3
        for case, times in found.items()
    }
    return {case: (float(one), float(other)) for case, (one, other) in least.items()}


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Slope of a line through the logarithms: 1 for what grows in proportion."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
