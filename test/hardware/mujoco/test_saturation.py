"""Clamps inside MuJoCo: what its servos, PIDs and motors cut off is counted by joint."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from hardware.conftest import make_request

from cnoid_control import SimpleController, StateFlag, run
from cnoid_control.body import Body
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.parameters import MujocoParameters
from cnoid_control.hardware.mujoco.world import MujocoWorld
from cnoid_control.runtime.safety.limit_rules import CLAMP_KINDS

FOLLOWING = StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY
MODES = [
    StateFlag.JOINT_EFFORT,
    StateFlag.JOINT_DISPLACEMENT,
    StateFlag.JOINT_VELOCITY,
    FOLLOWING,
    StateFlag.JOINT_PID,
]


def unclamped(hardware: MujocoHardware) -> np.ndarray:
    """What each actuator's law gives in MuJoCo's present state, without its range."""
    model, data = hardware.model, hardware.data
    gain, bias = model.actuator_gainprm, model.actuator_biasprm
    length, velocity = data.actuator_length, data.actuator_velocity
    return gain[:, 0] * data.ctrl + bias[:, 0] + bias[:, 1] * length + bias[:, 2] * velocity


def saturated(hardware: MujocoHardware) -> np.ndarray:
    """Joints whose actuators ask for more than their range now, shape (num_joints,)."""
    model = hardware.model
    asked = unclamped(hardware)
    low, high = model.actuator_forcerange.T
    beyond = ((asked < low) | (asked > high)) & (model.actuator_forcelimited > 0)
    names = {model.joint(model.actuator_trnid[i, 0]).name: beyond[i] for i in range(model.nu)}
    return np.array([names[joint.joint_name] for joint in hardware.body.joints])


def counting(hardware: MujocoHardware, body: Body) -> dict[str, np.ndarray]:
    """Have the clamps of a simulation counted."""
    hardware.limit_counts = {kind: np.zeros(body.num_joints, dtype=int) for kind in CLAMP_KINDS}
    return hardware.limit_counts


@pytest.mark.parametrize('steps', [1, 3])
@pytest.mark.parametrize('mode', MODES)
def test_saturated_ticks_are_those_of_the_law(fixed_arm: Body, mode: StateFlag, steps: int):
    """For each mode a tick counts where any of its physics steps asks for more than the range."""
    body = fixed_arm
    body.u_lower[:], body.u_upper[:] = [-30.0, -9.0, -14.0], [30.0, 9.0, 14.0]
    parameters = MujocoParameters(
        time_step=0.002 / steps, servo_stiffness=400.0, servo_damping=30.0
    )
    hardware = MujocoHardware(body, parameters, 0.002)
    counts = counting(hardware, body)
    body.kp[:], body.kd[:], body.q_target[:] = 200.0, 10.0, body.q
    hardware.open(make_request(body, mode, FOLLOWING))
    ticks, expected, start = 157, np.zeros(3, dtype=int), body.q.copy()
    hit = np.zeros(3, dtype=bool)
    forces, physics = [], mujoco.mj_step2

    def watched(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        hit[:] |= saturated(hardware)
        physics(model, data)
        forces.append(data.actuator_force.copy())

    calls = hardware._calls
    assert [getattr(call, 'func', None) for call in calls].count(mujoco.mj_step2) == steps
    hardware._calls = [
        (lambda: watched(hardware.model, hardware.data))
        if getattr(call, 'func', None) is mujoco.mj_step2
        else call
        for call in calls
    ]
    for tick in range(ticks):
        hit[:] = False
        hardware.read()
        expected += hit
        phase = np.sin(0.05 * tick + np.arange(3.0))
        body.q_target[:] = start + 0.3 * phase
        body.dq_target[:] = 2.0 * phase
        body.u[:] = 20.0 * phase
        hardware.write()
    hardware.count_limits()
    assert counts['effort'].tolist() == expected.tolist()
    assert 0 < expected.max() < ticks
    # MuJoCo itself has held the forces in their ranges.
    low, high = hardware.model.actuator_forcerange.T
    assert (np.array(forces) >= low).all()
    assert (np.array(forces) <= high).all()


def test_an_effort_at_its_limit_is_not_counted_again(fixed_arm: Body):
    """What was limited to the range before it came here counts where it was limited."""
    body = fixed_arm
    body.u_lower[:], body.u_upper[:] = -5.0, 5.0
    for mode in (StateFlag.JOINT_EFFORT, StateFlag.JOINT_PID):
        hardware = MujocoHardware(body, MujocoParameters(), 0.001)
        counts = counting(hardware, body)
        body.kp[:], body.kd[:] = 0.0, 0.0
        body.u[:] = [5.0, -5.0, 5.1]
        hardware.open(make_request(body, mode, FOLLOWING))
        for _ in range(50):
            hardware.read()
            hardware.write()
        hardware.count_limits()
        assert counts['effort'].tolist() == [0, 0, 49], mode


@pytest.mark.parametrize('mode', [StateFlag.JOINT_EFFORT, StateFlag.JOINT_DISPLACEMENT])
def test_robots_in_one_world_count_their_own(fixed_arm: Body, mode: StateFlag):
    """What saturates is the second robot's last joint, and the third's first one."""
    bodies = {name: fixed_arm.clone() for name in ('one', 'two', 'three')}
    for body in bodies.values():
        body.u_lower[:], body.u_upper[:] = -50.0, 50.0
    given = MujocoParameters(gravity=0.0, servo_stiffness=10.0)
    world = MujocoWorld({name: (body, given) for name, body in bodies.items()}, given, 0.001)
    counts = {}
    for name, body in bodies.items():
        counts[name] = counting(world.robots[name], body)['effort']
        world.robots[name].open(make_request(body, mode, FOLLOWING))
        body.q_target[:] = body.q
    bodies['two'].u[2], bodies['two'].q_target[2] = 51.0, bodies['two'].q[2] + 30.0
    bodies['three'].u[0], bodies['three'].q_target[0] = -51.0, bodies['three'].q[0] - 30.0
    for _ in range(20):
        for robot in world.robots.values():
            robot.read()
            robot.write()
    for robot in world.robots.values():
        robot.count_limits()
    assert {name: np.sign(count).tolist() for name, count in counts.items()} == {
        'one': [0, 0, 0],
        'two': [0, 0, 1],
        'three': [1, 0, 0],
    }


def test_without_effort_limits_nothing_is_counted(fixed_arm: Body):
    """Where the options free the actuators, there is nothing to saturate."""
    body = fixed_arm
    body.u_lower[:], body.u_upper[:] = -1.0, 1.0
    hardware = MujocoHardware(body, MujocoParameters(effort_limits=False), 0.001)
    counts = counting(hardware, body)
    hardware.open(make_request(body, StateFlag.JOINT_DISPLACEMENT, FOLLOWING))
    for _ in range(70):
        hardware.read()
        body.q_target[:] = body.q + 1.0
        hardware.write()
    hardware.count_limits()
    assert not any(count.any() for count in counts.values())


def test_full_integrals_and_targets_at_the_end_of_the_range_are_counted(fixed_arm: Body):
    """An integral that is held back counts as such, a velocity into the end as a position."""
    body = fixed_arm
    body.u_lower[:], body.u_upper[:] = -2.0, 2.0
    body.kp[:], body.kd[:], body.ki[:] = 0.0, 1.0, [100.0, 0.0, 100.0]
    body.q_target[:] = body.q + 10.0
    hardware = MujocoHardware(body, MujocoParameters(), 0.001)
    counts = counting(hardware, body)
    hardware.open(make_request(body, StateFlag.JOINT_PID, FOLLOWING))
    for _ in range(41):
        hardware.read()
        hardware.write()
    # 2 / 100 rad s is full after two steps of 10 rad ms each.
    assert counts['integral'].tolist() == [pytest.approx(38, abs=1), 0, pytest.approx(38, abs=1)]
    for joint in body.joints:
        joint.description.q_lower, joint.description.q_upper = -0.1, 0.1
    body.q[:] = 0.0
    hardware = MujocoHardware(body, MujocoParameters(), 0.001)
    counts = counting(hardware, body)
    body.dq_target[:] = [1.0, 0.0, -1.0]
    hardware.open(make_request(body, StateFlag.JOINT_VELOCITY, FOLLOWING))
    for _ in range(201):
        hardware.read()
        hardware.write()
    assert counts['position'].tolist() == [pytest.approx(100, abs=1), 0, pytest.approx(100, abs=1)]


ARM = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body pos="0 0 1">
      <joint name="strong" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="1"/>
      <body pos="0.4 0 0">
        <joint name="weak" axis="0 1 0" damping="0.1"/>
        <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="1"/>
      </body>
    </body>
  </worldbody>
  <actuator>{actuators}</actuator>
</mujoco>
"""


class Still(SimpleController):
    """Asks for the present place, far beyond what the weak joint bears."""

    def initialize(self, io) -> bool:
        for joint in io.body.joints:
            io.enable_io(joint)
        io.body.q_target[:] = 0.0
        return True

    def control(self) -> bool:
        return True


@pytest.mark.parametrize(
    'weak',
    [
        '<position name="w" joint="weak" kp="500" kv="20" forcerange="-1 1"/>',
        '<position name="w" joint="weak" kp="5" kv="0.2" gear="10" forcerange="-0.1 0.1"/>',
        """<general name="w" joint="weak" gainprm="500" biastype="affine" biasprm="0 -500 -20"
        forcerange="-1 1"/>""",
    ],
)
def test_a_servo_of_an_mjcf_file_that_saturates_is_named(weak: str, tmp_path: Path):
    """The joint whose servo cannot hold the load is in the summary, with all of its ticks."""
    file = tmp_path / 'arm.xml'
    strong = '<position name="s" joint="strong" kp="2000" kv="80" forcerange="-300 300"/>'
    file.write_text(ARM.format(actuators=strong + weak))
    summary = run(file, Still(), duration=2.0).summary()
    assert set(summary['limited']) == {'effort'}
    assert set(summary['limited']['effort']) == {'weak'}
    # The weight asks for 2 N m where there is 1: it falls at once and does not come back.
    assert summary['limited']['effort']['weak'] > 0.8 * summary['ticks']
