"""The motion queue against ruckig alone, and its times against Klamp't where that is there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.bench.row import BenchRow, MetricRow, Work
from cnoid_control.controllers.motion_queue import MotionQueue, MotionState, make_limits
from cnoid_control.controllers.motion_queue.planner import plan_ramp

JOINTS = 29
VELOCITY, ACCELERATION = (2.0, 1.0), (6.98, 4.0)

INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


@contextmanager
def new_target() -> Iterator[tuple[Work, Work]]:
    """A new milestone from a moving state and a tick, and the same by ruckig."""
    import ruckig

    rng = np.random.default_rng(1)
    goals = rng.uniform(-1.0, 1.0, (64, JOINTS))
    names = [f'joint {i}' for i in range(JOINTS)]
    queue = MotionQueue(make_limits(names, velocity=2.0, acceleration=6.0), np.zeros(JOINTS))
    otg = ruckig.Ruckig(JOINTS)
    state = ruckig.InputParameter(JOINTS)
    state.max_velocity, state.max_acceleration = [2.0] * JOINTS, [6.0] * JOINTS
    state.current_position = [0.0] * JOINTS
    place = [0, 0]

    def by_queue() -> None:
        queue.set_milestone(goals[place[0] % 64])
        place[0] += 1
        queue.advance(0.01)

    def by_ruckig() -> None:
        state.target_position = goals[place[1] % 64].tolist()
        place[1] += 1
        trajectory = ruckig.Trajectory(JOINTS)
        otg.calculate(state, trajectory)
        position, velocity, _ = trajectory.at_time(0.01)
        state.current_position, state.current_velocity = position, velocity

    yield by_queue, by_ruckig


def klampt_difference() -> float:
    """Largest difference of the times of 50 milestones from Klamp't's, in per cent."""
    rng = np.random.default_rng(2)
    limits = make_limits(['a', 'b'], velocity=VELOCITY, acceleration=ACCELERATION)
    theirs, sim = _klampt_controller()
    rest = np.zeros(2)
    worst = 0.0
    for _ in range(50):
        goal = rng.uniform(-2.0, 2.0, 2)
        # Both from the same state: joints that wait for others may do so in different ways.
        state = MotionState(
            np.array(theirs.getCommandedConfig()[1:]),
            np.array(theirs.getCommandedVelocity()[1:]),
            rest,
        )
        ours = plan_ramp(state, goal, rest, limits).duration
        theirs.setMilestone([0.0, *goal])
        expected = theirs.remainingTime()
        worst = max(worst, abs(ours / expected - 1.0))
        # Half of the milestones are interrupted by the next one.
        for _ in range(round(expected * rng.choice([0.4, 1.2]) / 0.01)):
            sim.simulate(0.01)
    return 100.0 * worst


def _klampt_controller() -> tuple[Any, Any]:
    """Klamp't's controller of an arm of two joints, and the simulation that it is in."""
    import klampt

    joints = ''.join(
        f'<link name="{name}">{INERTIAL}</link><joint name="j{name}" type="revolute">'
        f'<parent link="{parent}"/><child link="{name}"/><origin xyz="0 0 0.3"/>'
        f'<axis xyz="0 {i} {1 - i}"/>'
        f'<limit lower="-3" upper="3" effort="500" velocity="{VELOCITY[i]}"/></joint>'
        for i, (name, parent) in enumerate((('a', 'base'), ('b', 'a')))
    )
    text = (
        '<robot name="arm"><klampt freeze_root_link="1"/><link name="world"/>'
        '<joint name="fixed" type="fixed"><parent link="world"/><child link="base"/></joint>'
        f'<link name="base">{INERTIAL}</link>{joints}</robot>'
    )
    world = klampt.WorldModel()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'arm.urdf'
        path.write_text(text, encoding='utf-8')
        world.loadElement(str(path))
    robot = world.robot(0)
    robot.setAccelerationLimits([0.0, *ACCELERATION])
    sim = klampt.Simulator(world)
    sim.setGravity([0.0, 0.0, 0.0])
    controller = sim.controller(0)
    controller.setRate(0.01)
    return controller, sim


ROWS = (
    BenchRow(
        'queue_target',
        f'motion queue, new milestone of {JOINTS} moving joints and a tick',
        'ruckig alone, the same',
        new_target,
        kind='time',
        comparison='<=',
        goal=3.0,
        calls=300,
    ),
    MetricRow(
        'klampt_times',
        'motion queue, times of 50 milestones, half of them interrupted',
        "Klamp't",
        klampt_difference,
        '%',
        goal=1.0,
        needs='klampt',
    ),
)
