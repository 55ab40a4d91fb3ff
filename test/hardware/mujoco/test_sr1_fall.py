"""SR1 without torques: it falls, and lies on the floor."""

from __future__ import annotations

import pytest

pytest.importorskip('mujoco', reason='needs MuJoCo')

from cnoid_control.body import Body, StateFlag
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot

# Half the thickness of its thinnest links [m].
HALF_LINK = 0.02


def effort_request(body: Body) -> IORequest:
    """Return what commands all joints by torques, and reads angles."""
    names = [joint.name for joint in body.joints]
    return IORequest(
        inputs=dict.fromkeys(names, StateFlag.JOINT_DISPLACEMENT),
        outputs=dict.fromkeys(names, StateFlag.JOINT_EFFORT),
    )


@pytest.mark.parametrize('name', ['sr1_pd', 'sr1_walk'])
def test_it_does_not_sink_through_the_floor(name: str) -> None:
    """After an emergency stop all links are above the floor, the head and the hands too."""
    config = load_config(name)
    body = make_robot(config.parameters.robot, config.folder)
    hardware = MujocoHardware(body, config.hardware_parameters, 0.002)
    for joint in body.joints:
        joint.actuation_mode = StateFlag.JOINT_EFFORT
    hardware.open(effort_request(body))
    lowest = 1.0
    for _ in range(1500):
        hardware.read()
        hardware.write()
    for _ in range(50):
        hardware.read()
        body.calc_forward_kinematics()
        lowest = min(lowest, *(float(link.p[2]) for link in body.links))
        hardware.write()
    assert body.root_link.p[2] < 0.5, 'it has fallen'
    assert lowest > -HALF_LINK
    hardware.close()
