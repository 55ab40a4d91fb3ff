"""The scale of speed and gain: what controllers command is made smaller, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from cnoid_control import SimpleController
from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.parameters import ParameterError
from cnoid_control.runtime.exceptions import SwapFailed
from cnoid_control.runtime.safety.limits import (
    SCALE_RISE,
    SCALE_STEP,
    CommandLimiter,
    LimitsParameters,
)
from cnoid_control.simulation import Simulation

DT = 0.01
ARM = """
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 1"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="20" velocity="{speed}"/></joint>
</robot>
"""


class ByPosition(SimpleController):
    """Commands positions."""

    def initialize(self, io) -> bool:
        """Enable all joints."""
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_DISPLACEMENT
            io.enable_io(joint)
        return True

    def control(self) -> bool:
        """Leave them."""
        return True


def make_limiter(mode: StateFlag, scale: float, speed: float = 2.0) -> tuple[Body, CommandLimiter]:
    """Limiter of a joint that is commanded in this way."""
    body = Body(parse_urdf(ARM.format(speed=speed), 'arm', JointType.FIXED))
    body.joint('shoulder').actuation_mode = mode
    limiter = CommandLimiter(body, LimitsParameters(), DT, scale)
    limiter.restart()
    return body, limiter


def send(body: Body, limiter: CommandLimiter, array: str, value: float) -> float:
    """What is sent for a command, as the loop does it."""
    getattr(body, array)[0] = value
    limiter.scale_commands(DT)
    limiter.apply(DT)
    return float(getattr(body, array)[0])


def test_efforts_are_multiplied_and_their_limit_too() -> None:
    """A share of every effort, and never more than that share of the limit."""
    body, limiter = make_limiter(StateFlag.JOINT_EFFORT, 0.25)
    assert send(body, limiter, 'u', 8.0) == pytest.approx(2.0)
    assert send(body, limiter, 'u', -100.0) == pytest.approx(-5.0)


def test_a_joint_that_is_faster_than_the_scaled_speed_is_not_pushed_on() -> None:
    """The speed limit of effort commands is scaled; braking is not cut."""
    body, limiter = make_limiter(StateFlag.JOINT_EFFORT, 0.25)
    body.dq[0] = 0.6
    assert send(body, limiter, 'u', 8.0) == 0.0
    assert send(body, limiter, 'u', -8.0) == pytest.approx(-2.0)
    body.dq[0] = -0.6
    assert send(body, limiter, 'u', -8.0) == 0.0
    assert send(body, limiter, 'u', 8.0) == pytest.approx(2.0)


def test_velocities_are_multiplied() -> None:
    """Also below the limit, where clamping alone would change nothing."""
    body, limiter = make_limiter(StateFlag.JOINT_VELOCITY, 0.1)
    assert send(body, limiter, 'dq_target', 1.0) == pytest.approx(0.1)
    assert send(body, limiter, 'dq_target', 5.0) == pytest.approx(0.2)


def test_the_torque_of_a_joint_with_gains_is_scaled_as_a_whole() -> None:
    """kp, kd and the effort are multiplied, targets are not: a share of every torque."""
    body, limiter = make_limiter(StateFlag.JOINT_PID, 0.25, speed=0.0)
    body.kp[0], body.kd[0], body.u[0] = 40.0, 2.0, 6.0
    body.q_target[0], body.dq_target[0] = 0.3, 0.8
    limiter.scale_commands(DT)
    assert limiter.apply(DT)
    assert (body.kp[0], body.kd[0], body.u[0]) == (10.0, 0.5, 1.5)
    assert (body.q_target[0], body.dq_target[0]) == (0.3, 0.8)


def test_positions_are_followed_at_a_share_of_the_speed() -> None:
    """Ten periods of a tenth of 2 rad/s are 0.02 rad."""
    body, limiter = make_limiter(StateFlag.JOINT_DISPLACEMENT, 0.1)
    for _ in range(10):
        sent = send(body, limiter, 'q_target', 1.0)
    assert sent == pytest.approx(10 * 0.1 * 2.0 * DT)
    for _ in range(10):
        sent = send(body, limiter, 'q_target', -1.0)
    assert sent == pytest.approx(0.0)


def test_a_joint_without_speed_limit_cannot_be_slowed_down() -> None:
    """It is refused by name, at the start and later; at 1 it does not matter."""
    with pytest.raises(ParameterError, match=r"scale.*'shoulder'.*max_velocity"):
        make_limiter(StateFlag.JOINT_DISPLACEMENT, 0.5, speed=0.0)
    _, limiter = make_limiter(StateFlag.JOINT_DISPLACEMENT, 1.0, speed=0.0)
    with pytest.raises(ParameterError, match='shoulder'):
        limiter.set_scale(0.5)
    assert limiter.scale == 1.0
    body, limiter = make_limiter(StateFlag.JOINT_VELOCITY, 0.5, speed=0.0)
    assert send(body, limiter, 'dq_target', 1.0) == pytest.approx(0.5)


def test_a_lower_scale_acts_at_once_and_a_higher_one_little_by_little() -> None:
    """The way from 0.1 to 1 takes 0.9 / SCALE_RISE."""
    body, limiter = make_limiter(StateFlag.JOINT_VELOCITY, 1.0)
    assert send(body, limiter, 'dq_target', 1.0) == 1.0
    limiter.set_scale(0.1)
    assert send(body, limiter, 'dq_target', 1.0) == pytest.approx(0.1)
    limiter.set_scale(1.0)
    sent = [send(body, limiter, 'dq_target', 1.0) for _ in range(250)]
    steps = np.diff([0.1, *sent])
    assert steps.max() == pytest.approx(SCALE_RISE * DT)
    assert sent[99] == pytest.approx(0.1 + 100 * SCALE_RISE * DT)
    assert sent[-1] == 1.0
    # The speed limit has come along: it does not cut what may pass.
    assert send(body, limiter, 'dq_target', 5.0) == pytest.approx(2.0)


@pytest.mark.parametrize('scale', [0.0, 0.02, 0.5])
def test_implausible_commands_are_noticed_all_the_same(scale: float) -> None:
    """A command far beyond the limits does not become a good one by being scaled."""
    body, limiter = make_limiter(StateFlag.JOINT_EFFORT, scale)
    for value in (1e9, np.nan, 210.0):
        before = limiter.bad_commands
        assert abs(send(body, limiter, 'u', value)) <= 20.0
        assert limiter.bad_commands == before + 1


def test_no_scale_changes_nothing() -> None:
    """At 1 every bit of a command passes."""
    body, limiter = make_limiter(StateFlag.JOINT_EFFORT, 1.0)
    assert send(body, limiter, 'u', 0.1 + 0.2) == 0.1 + 0.2


def test_the_loop_scales_controllers_and_not_the_safe_state(tmp_path) -> None:
    """The log of a run holds what the controller wanted; what was sent is a share of it."""
    model = tmp_path / 'arm.urdf'
    model.write_text(ARM.format(speed=2.0))
    changes = {
        'robot.base': 'fixed',
        'robot.posture': [0.5],
        'rate': 500.0,
        'scale': 0.2,
        'hardware.mujoco.floor': False,
    }
    with Simulation(model, 'pd', changes=changes, record=False) as simulation:
        for _ in range(20):
            simulation.step()
            asked = simulation.loop.host.ios()[0].body.u[0]
            sent = simulation.robot.u[0]
            assert sent == pytest.approx(0.2 * np.clip(asked, -20.0, 20.0))


def test_a_swap_to_what_cannot_be_slowed_down_is_refused(tmp_path) -> None:
    """A controller that commands positions of joints without speed limit does not take over."""
    model = tmp_path / 'arm.urdf'
    model.write_text(ARM.format(speed=0.0))
    changes = {'robot.base': 'fixed', 'scale': 0.5, 'hardware.mujoco.floor': False}
    with Simulation(model, 'pd', changes=changes, record=False) as simulation:
        simulation.step()
        with pytest.raises(SwapFailed, match="'shoulder' is commanded by position"):
            simulation.swap(ByPosition)
        simulation.loop.limiter.set_scale(1.0)
        simulation.swap(ByPosition)


def test_a_scale_during_a_blend_is_one_for_both_controllers(tmp_path) -> None:
    """The one that is blended out may get the robot back: it must be one that can be slowed."""
    model = tmp_path / 'arm.urdf'
    model.write_text(ARM.format(speed=0.0))
    changes = {'robot.base': 'fixed', 'hardware.mujoco.floor': False}
    with Simulation(model, ByPosition, changes=changes, record=False) as simulation:
        simulation.step()
        simulation.swap('pd')
        loop = simulation.loop
        assert loop.transition is not None
        with pytest.raises(ParameterError, match="'shoulder' is commanded by position"):
            loop.set_scale(0.5)
        assert loop.limiter.wanted_scale == 1.0
        while loop.transition is not None:
            simulation.step()
        loop.set_scale(0.5)
        assert loop.limiter.wanted_scale == 0.5


def test_the_safe_state_is_not_scaled(tmp_path) -> None:
    """A robot without any gain is held all the same once something is wrong."""
    model = tmp_path / 'arm.urdf'
    model.write_text(ARM.format(speed=20.0).replace('xyz="0 0 1"/>\n', 'xyz="0 1 0"/>\n'))
    changes = {
        'robot.base': 'fixed',
        'rate': 500.0,
        'scale': 0.0,
        'on_fault': 'hold',
        'hardware.mujoco.floor': False,
    }
    with Simulation(model, 'pd', changes=changes, record=False) as simulation:
        for _ in range(50):
            simulation.step()
            assert simulation.robot.u[0] == 0.0
        assert abs(simulation.robot.q[0]) > 0.01
        simulation.loop.safe_state.enter('a test')
        for _ in range(400):
            simulation.step()
        weight = 2.0 * 9.81 * 0.2 * np.cos(simulation.robot.q[0])
        assert abs(simulation.robot.u[0]) == pytest.approx(weight, rel=0.02)


def test_the_speed_limits_follow_the_scale_in_small_steps() -> None:
    """Never a step behind, but not anew in every tick, which would take time."""
    body, limiter = make_limiter(StateFlag.JOINT_DISPLACEMENT, 1.0)
    changes = []
    change_modes = limiter.change_modes
    limiter.change_modes = lambda: changes.append(limiter.scale) or change_modes()
    limiter.set_scale(0.1)
    assert send(body, limiter, 'q_target', 1.0) == pytest.approx(0.1 * 2.0 * DT)
    assert changes == [0.1]
    limiter.set_scale(1.0)
    ticks = 0
    while limiter.scale < 1.0:
        send(body, limiter, 'q_target', 0.0)
        ticks += 1
        behind = limiter.scale - limiter._limited_scale
        assert 0.0 <= behind < SCALE_STEP
    assert behind == 0.0
    assert len(changes) - 1 <= 0.55 * ticks
    send(body, limiter, 'q_target', 0.0)
    assert len(changes) - 1 <= 0.55 * ticks
