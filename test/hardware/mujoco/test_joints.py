from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hardware.conftest import make_request

from cnoid_control.body import Body, StateFlag
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.parameters import MujocoParameters

Simulate = Callable[..., MujocoHardware]
EVERYTHING = StateFlag.JOINT_PID


def request_pid(body: Body, **options: bool) -> object:
    """Request PID actuators on all joints and read everything."""
    return make_request(body, StateFlag.JOINT_PID, EVERYTHING, **options)


def tick(hardware: MujocoHardware, feedforward: np.ndarray, count: int = 1) -> None:
    """Run whole ticks with one and the same command."""
    for _ in range(count):
        hardware.read()
        hardware.body.u[:] = feedforward
        hardware.write()


def test_effort_is_that_of_the_law(fixed_arm: Body, simulate: Simulate) -> None:
    """The effort in the first step is kp e + kd de + u; the integral is empty."""
    fixed_arm.kp[:] = [100.0, 50.0, 80.0]
    fixed_arm.kd[:] = [5.0, 4.0, 6.0]
    fixed_arm.ki[:] = 10.0
    fixed_arm.q_target[:] = fixed_arm.q + np.array([0.1, -0.05, 0.02])
    fixed_arm.dq_target[:] = [0.3, 0.2, -0.1]
    error = fixed_arm.q_target - fixed_arm.q
    feedforward = np.array([1.0, 2.0, 3.0])
    fixed_arm.u[:] = feedforward
    hardware = simulate(fixed_arm, request_pid(fixed_arm))
    hardware.read()
    hardware.read()
    expected = fixed_arm.kp * error + fixed_arm.kd * fixed_arm.dq_target + feedforward
    np.testing.assert_allclose(fixed_arm.u, expected, rtol=1e-9)


def test_the_integral_holds_the_load(fixed_arm: Body, simulate: Simulate) -> None:
    """Under gravity a PD sags; with an integral the joints come back to the target."""
    fixed_arm.kp[:], fixed_arm.kd[:] = 300.0, 40.0
    target = fixed_arm.q.copy()
    fixed_arm.q_target[:] = target
    hardware = simulate(fixed_arm, request_pid(fixed_arm))
    tick(hardware, np.zeros(3), 3000)
    assert np.abs(fixed_arm.q - target).max() > 0.01
    fixed_arm.ki[:] = 400.0
    tick(hardware, np.zeros(3), 8000)
    np.testing.assert_allclose(fixed_arm.q, target, atol=2e-4)


def test_the_integral_and_the_whole_stay_within_the_effort_limits(
    fixed_arm: Body, simulate: Simulate
) -> None:
    """An unreachable target drives neither the effort nor the integral beyond the limit."""
    fixed_arm.u_lower[:], fixed_arm.u_upper[:] = -4.0, 4.0
    fixed_arm.ki[:] = 50.0
    fixed_arm.kp[:], fixed_arm.kd[:] = 10.0, 1.0
    fixed_arm.q_target[:] = fixed_arm.q + 100.0
    hardware = simulate(fixed_arm, request_pid(fixed_arm))
    for _ in range(500):
        tick(hardware, np.zeros(3))
        hardware.read()
        assert np.abs(fixed_arm.u).max() <= 4.0 + 1e-12
    # A wound-up integral, worth 2500 N m, would go on pushing for seconds.
    fixed_arm.kp[:], fixed_arm.kd[:] = 0.0, 0.0
    fixed_arm.q_target[:] = fixed_arm.q - 5.0
    tick(hardware, np.zeros(3), 50)
    hardware.read()
    assert (fixed_arm.u[[0, 2]] < 0.0).all()


def test_without_gains_it_is_a_motor(fixed_arm: Body, simulate: Simulate) -> None:
    """Gains of zero leave the feed-forward effort alone."""
    fixed_arm.u[:] = [1.0, -2.0, 0.5]
    hardware = simulate(fixed_arm, request_pid(fixed_arm))
    tick(hardware, np.array([1.0, -2.0, 0.5]), 5)
    hardware.read()
    np.testing.assert_allclose(fixed_arm.u, [1.0, -2.0, 0.5], rtol=1e-12)


def test_joints_can_be_mixed(fixed_arm: Body, simulate: Simulate) -> None:
    """A PID, a motor and a servo work side by side."""
    joints = {joint.joint_id: joint.name for joint in fixed_arm.joints}
    outputs = {
        joints[0]: StateFlag.JOINT_PID,
        joints[1]: StateFlag.JOINT_EFFORT,
        joints[2]: StateFlag.JOINT_DISPLACEMENT,
    }
    fixed_arm.kp[0], fixed_arm.kd[0] = 2000.0, 200.0
    target = fixed_arm.q + np.array([0.05, 0.0, 0.2])
    fixed_arm.q_target[:] = target
    hardware = simulate(fixed_arm, make_request(fixed_arm, outputs, EVERYTHING), gravity=0.0)
    tick(hardware, np.array([0.0, 0.05, 0.0]), 3000)
    np.testing.assert_allclose(fixed_arm.q[[0, 2]], target[[0, 2]], atol=2e-3)
    hardware.read()
    assert fixed_arm.u[1] == pytest.approx(0.05)


@pytest.mark.parametrize(('mode', 'holds'), [('pid', True), ('torque', False)])
def test_actuators_are_faster_than_the_controller(fixed_arm: Body, mode: str, holds: bool) -> None:
    """At 50 Hz a stiff PD is stable as an actuator and not as torques from the controller."""
    kp, kd = 4000.0, 200.0
    start = fixed_arm.q.copy()
    fixed_arm.q_target[:] = start
    request = make_request(fixed_arm, StateFlag.JOINT_EFFORT, EVERYTHING)
    if mode == 'pid':
        fixed_arm.kp[:], fixed_arm.kd[:] = kp, kd
        request = request_pid(fixed_arm)
    hardware = MujocoHardware(fixed_arm, MujocoParameters(time_step=0.001), 0.02)
    hardware.open(request)
    worst = 0.0
    for _ in range(60):
        hardware.read()
        worst = max(worst, float(np.abs(fixed_arm.q - start).max()))
        if worst > 1.0:
            break
        fixed_arm.u[:] = 0.0 if mode == 'pid' else kp * (start - fixed_arm.q) - kd * fixed_arm.dq
        hardware.write()
    assert (worst < 0.05) is holds
