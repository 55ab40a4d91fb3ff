"""Small robots, and what it takes to run them in a hardware by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.description import BodyDescription, Box, LinkDescription, Shape
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.parameters import MujocoParameters

ALL_MOTION = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST | StateFlag.LINK_ACCELERATION


def make_description(root: JointType) -> BodyDescription:
    """Root with an arm of three joints, one of them prismatic, ids against the tree order."""
    inertia = np.diag([0.3, 0.2, 0.25]) + 0.02
    return BodyDescription(
        name='arm',
        links=[
            LinkDescription(
                'base',
                joint_type=root,
                mass=4.0,
                inertia=inertia,
                translation=np.array([0.1, -0.2, 2.0]),
                shapes=[Shape(Box((0.2, 0.2, 0.2)))],
            ),
            LinkDescription(
                'upper',
                parent='base',
                joint_name='shoulder',
                joint_type=JointType.REVOLUTE,
                joint_id=2,
                joint_axis=np.array([0.0, 1.0, 0.0]),
                translation=np.array([0.0, 0.1, 0.2]),
                mass=2.0,
                center_of_mass=np.array([0.1, 0.02, -0.2]),
                inertia=inertia,
            ),
            LinkDescription(
                'slider',
                parent='upper',
                joint_type=JointType.PRISMATIC,
                joint_id=0,
                joint_axis=np.array([0.6, 0.0, 0.8]),
                translation=np.array([0.0, 0.0, -0.4]),
                mass=1.0,
                inertia=inertia,
            ),
            LinkDescription(
                'mount', parent='slider', translation=np.array([0.0, 0.0, 0.1]), mass=0.5
            ),
            LinkDescription(
                'hand',
                parent='mount',
                joint_type=JointType.REVOLUTE,
                joint_id=1,
                joint_axis=np.array([1.0, 0.0, 0.0]),
                translation=np.array([0.05, 0.0, -0.2]),
                mass=1.5,
                center_of_mass=np.array([0.0, 0.1, -0.1]),
                inertia=inertia,
            ),
        ],
    )


def make_request(
    body: Body,
    outputs: StateFlag | dict[str, StateFlag] = StateFlag.JOINT_EFFORT,
    inputs: StateFlag = StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY,
    no_delay: bool = False,
) -> IORequest:
    """Request for all joints, or for the links given by name."""
    request = IORequest()
    request.inputs = {link.name: inputs for link in body.links}
    if isinstance(outputs, dict):
        request.outputs = dict(outputs)
    else:
        request.outputs = {joint.name: outputs for joint in body.joints}
    if no_delay:
        request.no_delay = set(request.outputs)
    return request


@pytest.fixture
def fixed_arm() -> Body:
    """Return an arm that is bolted to the world."""
    body = Body(make_description(JointType.FIXED))
    body.q[:] = [0.1, 0.4, -0.3]
    body.initialize_state()
    return body


@pytest.fixture
def free_arm() -> Body:
    """Return an arm on a base that floats."""
    body = Body(make_description(JointType.FREE))
    body.q[:] = [0.1, 0.4, -0.3]
    body.initialize_state()
    return body


@pytest.fixture
def simulate() -> Callable[..., MujocoHardware]:
    """Return a function that opens a body in MuJoCo."""

    def start(
        body: Body, request: IORequest | None = None, time_step: float = 0.001, **options: object
    ) -> MujocoHardware:
        hardware = MujocoHardware(body, MujocoParameters(**options), time_step)  # type: ignore[arg-type]
        hardware.open(request or make_request(body))
        return hardware

    return start
