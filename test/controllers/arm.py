"""A two-joint arm in MuJoCo for tests of controllers, and a loop around it."""

from __future__ import annotations

import io

import numpy as np

from cnoid_control.body import Body, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.devices import ForceSensor
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.parameters import MujocoParameters
from cnoid_control.plugin import SimpleController
from cnoid_control.runtime.build import wire_loop
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.managed_controller import ManagedController

NAMES = ('shoulder', 'elbow')


def make_arm() -> Body:
    """Fixed base with two joints about y, a force sensor at the elbow, limits and masses."""
    links = [LinkDescription('base', joint_type=JointType.FIXED)]
    for i, (name, parent) in enumerate(zip(NAMES, ('base', 'upper'), strict=True)):
        links.append(
            LinkDescription(
                ('upper', 'lower')[i],
                parent=parent,
                joint_name=name,
                joint_type=JointType.REVOLUTE,
                joint_id=i,
                joint_axis=np.array([0.0, 1.0, 0.0]),
                translation=np.array([0.0, 0.0, 1.0 if i == 0 else -0.3]),
                center_of_mass=np.array([0.0, 0.0, -0.15]),
                mass=2.0,
                inertia=0.05 * np.eye(3),
                q_lower=-2.0,
                q_upper=2.0,
                dq_lower=-4.0,
                dq_upper=4.0,
                u_lower=-80.0,
                u_upper=80.0,
            )
        )
    return Body(BodyDescription('arm', links, devices=[('lower', ForceSensor('elbow_force'))]))


def make_loop(
    controller: SimpleController,
    options: dict | None = None,
    time_step: float = 0.005,
    physics_step: float = 0.001,
    gravity: float = 0.0,
) -> ControlLoop:
    """Loop of a controller with the arm, opened; messages go to `loop.host.os`."""
    parameters = MujocoParameters(time_step=physics_step, gravity=gravity, floor=False)
    hardware = MujocoHardware(make_arm(), parameters, time_step)
    managed = ManagedController('test', controller, options or {})
    host = ControllerHost([managed], hardware.body, time_step, io.StringIO())
    loop = wire_loop(hardware, host)
    loop.open()
    return loop


def run(loop: ControlLoop, duration: float) -> np.ndarray:
    """Take ticks for a time; the measured positions, one row a tick."""
    rows = []
    for _ in range(round(duration / loop.hardware.time_step)):
        loop.step()
        rows.append(loop.hardware.body.q.copy())
    return np.array(rows)
