"""Joints with PID actuators: their gains are commands, with limits, a safe value and a blend."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from fake_hardware import fake_loop, two_joint_body

from cnoid_control import SimpleController, StateFlag
from cnoid_control.body.channels import DRIVE_MODES, GAINS, channels_of, mode_of
from cnoid_control.parameters import parse_parameters
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import parse_config
from cnoid_control.runtime.hot_swap import HotSwap
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.recorder import Recorder
from cnoid_control.runtime.replay import replay
from cnoid_control.runtime.safety.limits import CommandLimiter, LimitsParameters
from cnoid_control.runtime.safety.safe_command import final_values, write_final_command
from cnoid_control.runtime.safety.safe_state import SafeState, SafeStateParameters
from cnoid_control.runtime.safety.watchdog import WatchdogParameters

DT = 0.01
PID, EFFORT = StateFlag.JOINT_PID, StateFlag.JOINT_EFFORT


def pid_body():
    """Two joints with PID actuators."""
    body = two_joint_body()
    for joint in body.joints:
        joint.actuation_mode = PID
    return body


def limiter_of(body, **options) -> CommandLimiter:
    """Limiter with options."""
    return CommandLimiter(body, parse_parameters(LimitsParameters, options), DT)


def test_the_interfaces_of_a_joint_say_its_mode():
    """Every mode is found by its interfaces, and what is no mode is none."""
    for mode in DRIVE_MODES:
        interfaces = [one.interface for one in channels_of(mode) if one.interface]
        assert mode_of(interfaces) == mode
    assert mode_of(['position', 'velocity', 'effort', 'stiffness', 'damping']) == PID
    assert mode_of(['position', 'stiffness', 'damping']) is None
    assert not set(GAINS) & set(channels_of(PID | StateFlag.HIGH_GAIN_ACTUATION))


@pytest.mark.parametrize(('gain', 'kind'), [('kp', 'stiffness'), ('kd', 'damping')])
def test_gains_stay_within_their_limits(gain, kind):
    """Too large ones are cut, by joint and for all; negative ones are none."""
    body = pid_body()
    options = {f'max_{kind}': 50.0, 'joints': {'joint0': {f'max_{kind}': 20.0}}}
    limiter = limiter_of(body, **options)
    values = getattr(body, gain)
    values[:] = 60.0, 60.0
    assert limiter.apply(DT)
    assert values.tolist() == [20.0, 50.0]
    values[:] = 10.0, -5.0
    assert limiter.apply(DT)
    assert values.tolist() == [10.0, 0.0]
    assert limiter.report() == {kind: {'joint0': 1, 'joint1': 2}}
    values[:] = 10.0, 20.0
    assert limiter.apply(DT)
    assert values.tolist() == [10.0, 20.0]


@pytest.mark.parametrize(
    ('gain', 'value'),
    [
        *((gain, value) for gain in ('kp', 'ki', 'kd') for value in (math.nan, math.inf)),
        ('kp', 1e5),
        ('kd', 1e5),
    ],
)
def test_a_gain_that_could_not_be_meant_is_never_sent(gain, value):
    """The last command is repeated; then there is no stiffness any more, and the damping stays."""
    body = pid_body()
    limiter = limiter_of(body, max_bad_commands=2, max_stiffness=1e3, max_damping=1e3)
    good = {'q_target': 0.5, 'dq_target': 0.1, 'u': 3.0, 'kp': 40.0, 'ki': 1.0, 'kd': 2.0}
    for name, number in good.items():
        getattr(body, name)[:] = number
    assert limiter.apply(DT)
    getattr(body, gain)[1] = value
    assert limiter.apply(DT)
    assert {name: getattr(body, name).tolist() for name in good} == {
        name: [number] * 2 for name, number in good.items()
    }
    assert "of joint 'joint1'" in str(limiter.bad_command)
    getattr(body, gain)[1] = value
    assert not limiter.apply(DT)
    relaxed = {**good, 'dq_target': 0.0, 'u': 0.0, 'kp': 0.0, 'ki': 0.0}
    assert {name: getattr(body, name).tolist() for name in good} == {
        name: [number] * 2 for name, number in relaxed.items()
    }


def test_without_states_stiffness_fades_and_damping_stays():
    """An actuator damps by itself; what it was pulled to is not known to be right any more."""
    body = pid_body()
    body.kp[:], body.kd[:], body.u[:] = 70.0, 3.0, 8.0
    parameters = SafeStateParameters(kp=100.0, kd=4.0, effort_fade_time=0.1)
    state = SafeState(body, parameters, DT)
    state.enter('no joint states')
    seen = []
    for _ in range(12):
        state.apply(DT, fresh=False)
        seen.append((body.kp[0], body.u[0], body.kd[0]))
    kp, u, kd = np.array(seen).T
    ramp = np.clip(1.0 - np.arange(1, 13) / 10.0, 0.0, 1.0)
    np.testing.assert_allclose(kp, 70.0 * ramp, atol=1e-9)
    np.testing.assert_allclose(u, 8.0 * ramp, atol=1e-9)
    assert kd.tolist() == [4.0] * 12
    state.apply(DT, fresh=True)
    assert (body.kp[0], body.kd[0]) == (100.0, 4.0)
    np.testing.assert_array_equal(body.q_target, body.q)


def test_a_hold_stays_within_the_limits_of_the_gains():
    """What the inertia asks for may be more than a drive can do."""
    body = pid_body()
    limiter = limiter_of(body, max_stiffness=30.0, max_damping=2.0)
    state = SafeState(body, SafeStateParameters(kp=900.0, kd=80.0), DT, limits=limiter.limits)
    state.enter('test')
    state.apply(DT)
    assert (body.kp.tolist(), body.kd.tolist()) == ([30.0] * 2, [2.0] * 2)
    assert limiter.apply(DT)
    assert limiter.report() == {}


def test_the_final_command_leaves_damping():
    """No stiffness, no effort; the damping is what was commanded last."""
    body = pid_body()
    body.kp[:], body.ki[:], body.kd[:], body.u[:] = 70.0, 5.0, 3.0, 11.0
    write_final_command(body)
    assert not np.any([body.kp, body.ki, body.u])
    assert body.kd.tolist() == [3.0, 3.0]
    # Whatever ends a run in the middle of a tick: no limiter has seen these.
    for value in (-3.0, np.nan, np.inf):
        body.kd[:] = [3.0, value]
        write_final_command(body)
        assert body.kd.tolist() == [3.0, 0.0]
    position = np.array([0.4, -0.2])
    assert final_values('position', position).tolist() == [0.4, -0.2]
    for interface in ('velocity', 'effort', 'stiffness'):
        assert final_values(interface, position).tolist() == [0.0, 0.0]
    assert final_values('damping', position) is None


class Pid(SimpleController):
    """Pulls to a position with gains, or gives the same effort itself."""

    def __init__(self, kp: float, target: float, mode: StateFlag = PID) -> None:
        self.kp, self.target, self.mode = kp, target, mode

    def initialize(self, io):
        """Command all joints."""
        self.body = io.body
        for joint in io.body.joints:
            joint.actuation_mode = self.mode
            io.enable_io(joint)
        return True

    def control(self):
        """Command the same in every tick."""
        body = self.body
        if self.mode == PID:
            body.kp[:], body.kd[:], body.q_target[:] = self.kp, 0.0, self.target
            body.u[:] = 0.0
        else:
            body.u[:] = self.kp * self.target
        return True


def swap_rig(first: SimpleController, second: SimpleController, still: bool = True):
    """Loop on a fake robot that stands at 0, with a swap from the first to the second."""
    loop = fake_loop(first, watchdog=WatchdogParameters(control_timeout=10.0))
    hardware = loop.hardware
    read = hardware.read

    def stand() -> bool:
        alive = read()
        if still:
            hardware.body.q[:] = hardware.body.dq[:] = 0.0
        return alive

    hardware.read = stand
    loop.open()
    swap = HotSwap(loop, 0.1, SafeStateParameters(kp=10.0, kd=1.0))
    efforts = []

    def step() -> None:
        assert loop.step()
        body = hardware.body
        gains = body.kp if body.joints[0].actuation_mode == PID else np.zeros(2)
        efforts.append(float(gains[0] * (body.q_target[0] - body.q[0]) + body.u[0]))

    for _ in range(3):
        step()
    swap.begin([ManagedController('second', second)])
    for _ in range(14):
        step()
    return efforts, hardware.body


@pytest.mark.parametrize(
    ('first', 'second'),
    [
        (Pid(40.0, 0.5), Pid(80.0, -0.5)),
        (Pid(40.0, 0.5), Pid(20.0, -1.0, EFFORT)),
        (Pid(20.0, 1.0, EFFORT), Pid(80.0, -0.5)),
    ],
    ids=['gains to gains', 'gains to effort', 'effort to gains'],
)
def test_a_swap_moves_the_effort_without_a_step(first, second):
    """The joint's effort goes from 20 to the new one's, by no more in a tick than a blend may."""
    efforts, body = swap_rig(first, second)
    end = second.kp * second.target
    assert efforts[:3] == pytest.approx([20.0] * 3)
    assert efforts[-1] == pytest.approx(end)
    # A blend of 10 ticks has a largest slope of 1.5 / 10; a product of two blends twice that.
    assert np.abs(np.diff(efforts)).max() < 0.31 * abs(end - 20.0)
    if second.mode == PID:
        assert body.kp.tolist() == [second.kp] * 2


GAINS_CONTROLLER = """
from cnoid_control import SimpleController, StateFlag


class Mine(SimpleController):
    def initialize(self, io):
        self.io, self.body = io, io.body
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_PID
            io.enable_io(joint)
        return True

    def control(self):
        self.body.kp[:] = 40.0 + FACTOR * self.io.current_time
        self.body.kd[:] = 2.0
        self.body.q_target[:] = 0.3
        return True
"""


def test_gains_are_recorded_and_compared(tmp_path):
    """A controller with other gains than those of the log is found out."""
    file = tmp_path / 'mine.py'
    file.write_text(GAINS_CONTROLLER.replace('FACTOR', '5.0'))
    config = parse_config(
        {
            'robot': {'model': 'package://cnoid_control/urdf/arm.urdf'},
            'rate': 500.0,
            'controller': f'{file}:Mine',
        },
        'test',
        tmp_path,
    )
    loop = make_loop(config, os=io.StringIO())
    loop.recorder = Recorder(tmp_path / 'run.mcap', loop.hardware.body, config.to_text())
    assert loop.run(0.1).reason == ''
    assert replay(tmp_path / 'run.mcap', io.StringIO()).identical
    file.write_text(GAINS_CONTROLLER.replace('FACTOR', '6.0'))
    result = replay(tmp_path / 'run.mcap', io.StringIO())
    assert not result.identical
    assert result.first_difference.channel == 'kp'
