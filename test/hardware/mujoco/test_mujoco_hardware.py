from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest
from hardware.conftest import ALL_MOTION, make_description, make_request

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.hardware.exceptions import (
    HardwareError,
    UnsupportedChannel,
)
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.parameters import MujocoParameters

Simulate = Callable[..., MujocoHardware]
EVERYTHING = (
    StateFlag.JOINT_ACCELERATION
    | StateFlag.JOINT_DISPLACEMENT
    | StateFlag.JOINT_VELOCITY
    | StateFlag.JOINT_EFFORT
)


def tick(hardware: MujocoHardware, count: int = 1) -> None:
    """Run whole ticks, the commands in the body unchanged."""
    for _ in range(count):
        hardware.read()
        hardware.write()


def test_first_read_gives_the_initial_state(fixed_arm: Body, simulate: Simulate) -> None:
    """No physics happens before the first state was read."""
    start = fixed_arm.q.copy()
    hardware = simulate(fixed_arm)
    assert hardware.read()
    assert hardware.time == 0.0
    np.testing.assert_array_equal(fixed_arm.q, start)


def test_accelerations_are_those_of_pinocchio(fixed_arm: Body, simulate: Simulate) -> None:
    """MuJoCo's joint accelerations equal the articulated-body algorithm's, joint by joint."""
    hardware = simulate(fixed_arm, make_request(fixed_arm, inputs=EVERYTHING, no_delay=True))
    for _ in range(5):
        hardware.read()
        fixed_arm.u[:] = [3.0, -2.0, 5.0]
        model = Body(fixed_arm.tree)
        model.q[:], model.dq[:] = fixed_arm.q, fixed_arm.dq
        # The base is bolted down: take its rows out of the equation of motion.
        mass = pin.crba(model.model, model.data, model.pin_q()).copy()
        bias = pin.nonLinearEffects(model.model, model.data, model.pin_q(), model.pin_v()).copy()
        order = model.tree.slots_in_pin_order
        effort = np.array([3.0, -2.0, 5.0])[order]
        expected = np.zeros(3)
        expected[order] = np.linalg.solve(mass[6:, 6:], effort - bias[6:])
        hardware.write()
        hardware.read()
        np.testing.assert_allclose(fixed_arm.ddq, expected, rtol=1e-9)
        hardware.write()


@pytest.mark.parametrize(('no_delay', 'ticks'), [(False, 2), (True, 1)])
def test_command_acts_one_tick_late_by_default(
    fixed_arm: Body, simulate: Simulate, no_delay: bool, ticks: int
) -> None:
    """An effort step moves the joint one tick later than in no-delay mode."""
    request = make_request(fixed_arm, inputs=EVERYTHING, no_delay=no_delay)
    hardware = simulate(fixed_arm, request, gravity=0.0)
    hardware.read()
    fixed_arm.u[:] = [0.0, 0.0, 1.0]
    seen = []
    for _ in range(3):
        hardware.write()
        hardware.read()
        seen.append(abs(fixed_arm.ddq[2]) > 1e-6)
        fixed_arm.u[:] = [0.0, 0.0, 1.0]
    assert seen.index(True) + 1 == ticks
    assert all(seen[ticks - 1 :])


def test_initial_commands_act_from_the_first_step(fixed_arm: Body, simulate: Simulate) -> None:
    """What the body holds when the channels open acts in the first physics step."""
    fixed_arm.u[:] = [0.0, 0.0, 1.0]
    hardware = simulate(fixed_arm, make_request(fixed_arm, inputs=EVERYTHING), gravity=0.0)
    tick(hardware)
    hardware.read()
    assert fixed_arm.u[2] == 1.0
    assert abs(fixed_arm.ddq[2]) > 1e-6


def test_modes_can_be_mixed_joint_by_joint(fixed_arm: Body, simulate: Simulate) -> None:
    """A servo, a velocity servo and a free joint live on one robot."""
    outputs = {
        'slider': StateFlag.JOINT_DISPLACEMENT,
        'hand': StateFlag.JOINT_VELOCITY,
        'upper': StateFlag.NONE,
    }
    hardware = simulate(fixed_arm, make_request(fixed_arm, outputs))
    fixed_arm.q_target[0] = 0.2
    fixed_arm.dq_target[1] = 0.5
    shoulder = fixed_arm.q[2]
    tick(hardware, 1000)
    hardware.read()
    assert fixed_arm.q[0] == pytest.approx(0.2, abs=2e-3)
    assert fixed_arm.dq[1] == pytest.approx(0.5, abs=0.05)
    # It began to act in the second of the 1001 ticks.
    assert fixed_arm.q[1] == pytest.approx(0.4 + 0.5 * 0.999, abs=5e-3)
    assert abs(fixed_arm.q[2] - shoulder) > 0.1


def test_modes_change_while_running(fixed_arm: Body, simulate: Simulate) -> None:
    """ResolvedIO again swaps the actuators and leaves the state alone."""
    hardware = simulate(fixed_arm)
    tick(hardware, 50)
    q, dq = fixed_arm.q.copy(), fixed_arm.dq.copy()
    fixed_arm.q_target[:] = q
    hardware.open(make_request(fixed_arm, StateFlag.JOINT_DISPLACEMENT))
    np.testing.assert_array_equal(fixed_arm.q, q)
    np.testing.assert_array_equal(fixed_arm.dq, dq)
    tick(hardware, 2000)
    np.testing.assert_allclose(fixed_arm.q, q, atol=2e-3)
    assert hardware.time == pytest.approx(2.049)


def test_servo_effort_is_read(fixed_arm: Body, simulate: Simulate) -> None:
    """The effort of a joint in displacement mode is what holds it up against gravity."""
    request = make_request(fixed_arm, StateFlag.JOINT_DISPLACEMENT, inputs=EVERYTHING)
    hardware = simulate(fixed_arm, request)
    tick(hardware, 4000)
    model = Body(fixed_arm.tree)
    model.q[:] = fixed_arm.q
    gravity = pin.computeGeneralizedGravity(model.model, model.data, model.pin_q())[6:]
    np.testing.assert_allclose(
        fixed_arm.u[model.tree.slots_in_pin_order], gravity, rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize('name', ['base', 'upper', 'slider', 'mount', 'hand'])
def test_link_motion_is_that_of_forward_kinematics(
    free_arm: Body, simulate: Simulate, name: str
) -> None:
    """Pose, twist and acceleration of a link equal pinocchio's for the same joint motion."""
    free_arm.root_link.w = np.array([0.3, -0.5, 0.8])
    free_arm.root_link.v = np.array([0.1, 0.2, -0.3])
    free_arm.dq[:] = [0.5, -1.0, 2.0]
    request = make_request(free_arm, inputs=EVERYTHING | ALL_MOTION)
    hardware = simulate(free_arm, request, floor=False)
    tick(hardware, 20)
    hardware.read()
    before = free_arm.clone()
    hardware.write()
    hardware.read()
    # The accelerations are those of the step that began in the state before.
    before.ddq[:] = free_arm.ddq
    before.root_link.dv = free_arm.root_link.dv
    before.root_link.dw = free_arm.root_link.dw
    before.calc_forward_kinematics(velocity=True, acceleration=True)
    link, expected = free_arm.link(name), before.link(name)
    np.testing.assert_allclose(link.dv, expected.dv, atol=1e-9)
    np.testing.assert_allclose(link.dw, expected.dw, atol=1e-9)
    after = Body(free_arm.tree)
    after.q[:], after.dq[:] = free_arm.q, free_arm.dq
    after.root_link.T = free_arm.root_link.T
    after.root_link.v, after.root_link.w = free_arm.root_link.v, free_arm.root_link.w
    after.calc_forward_kinematics(velocity=True)
    expected = after.link(name)
    np.testing.assert_allclose(link.T, expected.T, atol=1e-12)
    np.testing.assert_allclose(link.v, expected.v, atol=1e-12)
    np.testing.assert_allclose(link.w, expected.w, atol=1e-12)


def test_free_body_falls(free_arm: Body, simulate: Simulate) -> None:
    """Nothing holds the robot: its centre of mass accelerates with gravity."""
    hardware = simulate(free_arm, make_request(free_arm, inputs=ALL_MOTION), floor=False)
    height = free_arm.calc_center_of_mass()[2]
    tick(hardware, 101)
    free_arm.calc_forward_kinematics()
    fallen = height - free_arm.calc_center_of_mass()[2]
    # Semi-implicit Euler: g h^2 n (n + 1) / 2.
    assert fallen == pytest.approx(9.80665 * 1e-6 * 100 * 101 / 2, rel=1e-4)


def test_external_wrench_moves_the_centre_of_mass(free_arm: Body, simulate: Simulate) -> None:
    """A force on a link gives the whole robot its momentum, a torque about its origin too."""
    request = make_request(free_arm, {'hand': StateFlag.LINK_EXT_WRENCH}, ALL_MOTION)
    hardware = simulate(free_arm, request, floor=False, gravity=0.0)
    force, point = np.array([3.0, -2.0, 1.0]), np.array([0.3, 0.1, 1.9])
    for _ in range(101):
        hardware.read()
        free_arm.link('hand').add_external_force_at_global_position(force, point)
        hardware.write()
    free_arm.calc_forward_kinematics(velocity=True)
    momentum = pin.computeCentroidalMomentum(
        free_arm.model, free_arm.data, free_arm.pin_q(), free_arm.pin_v()
    )
    com = free_arm.calc_center_of_mass()
    # The wrench of tick k acts in the physics of tick k + 1: 99 steps of the 100.
    np.testing.assert_allclose(momentum.linear, force * 0.099, rtol=1e-4)
    angular = momentum.angular + np.cross(com, momentum.linear)
    np.testing.assert_allclose(angular, np.cross(point, force) * 0.099, rtol=2e-3)
    np.testing.assert_array_equal(free_arm.external_wrenches, 0.0)


def test_root_pose_is_imposed(free_arm: Body, simulate: Simulate) -> None:
    """A commanded root moves as it is told, and the joints feel how it moves."""
    request = make_request(free_arm, {'base': StateFlag.LINK_POSITION}, EVERYTHING | ALL_MOTION)
    free_arm.q[:] = 0.0
    hardware = simulate(free_arm, request, floor=False)
    start = free_arm.root_link.p.copy()
    acceleration = np.array([1.0, 0.0, 0.5])
    for k in range(200):
        hardware.read()
        p = start + acceleration * (0.001 * k) ** 2 / 2.0
        free_arm.root_link.p = p
        free_arm.root_link.R = pin.rpy.rpyToMatrix(0.0, 0.0, 0.2 * 0.001 * k)
        hardware.write()
    hardware.read()
    reached = start + acceleration * (0.001 * 198) ** 2 / 2.0
    np.testing.assert_allclose(free_arm.root_link.p, reached, atol=1e-6)
    np.testing.assert_allclose(free_arm.root_link.dv, acceleration, atol=1e-2)
    expected = pin.rpy.rpyToMatrix(0.0, 0.0, 0.2 * 0.198)
    np.testing.assert_allclose(free_arm.root_link.R, expected, atol=1e-6)
    # No effort acts on the joints: inverse dynamics with the root's motion gives none.
    free_arm.calc_forward_kinematics(velocity=True, acceleration=True)
    effort = pin.rnea(
        free_arm.model, free_arm.data, free_arm.pin_q(), free_arm.pin_v(), free_arm.pin_a()
    )
    np.testing.assert_allclose(effort[6:], 0.0, atol=2e-2)


def test_root_twist_is_imposed(free_arm: Body, simulate: Simulate) -> None:
    """A root commanded by its velocity moves so, whatever hangs on it."""
    request = make_request(free_arm, {'base': StateFlag.LINK_TWIST}, ALL_MOTION)
    hardware = simulate(free_arm, request, floor=False)
    place = free_arm.root_link.p.copy()
    for _ in range(202):
        hardware.read()
        free_arm.root_link.v = np.array([0.5, 0.0, 0.1])
        free_arm.root_link.w = np.array([0.0, 0.0, 1.0])
        hardware.write()
    hardware.read()
    # The first command was at rest.
    np.testing.assert_allclose(free_arm.root_link.p, place + np.array([0.1, 0.0, 0.02]), atol=1e-3)
    turned = pin.rpy.rpyToMatrix(0.0, 0.0, 0.2)
    np.testing.assert_allclose(free_arm.root_link.R, turned, atol=2e-3)
    np.testing.assert_allclose(free_arm.root_link.v, [0.5, 0.0, 0.1], atol=1e-5)


def test_pose_of_another_link_is_refused(fixed_arm: Body, simulate: Simulate) -> None:
    """Only a free root can be commanded by its pose."""
    for name in ('hand', 'base'):
        with pytest.raises(UnsupportedChannel, match=name):
            simulate(fixed_arm, make_request(fixed_arm, {name: StateFlag.LINK_POSITION}))


def test_contact_points_carry_the_weight(simulate: Simulate) -> None:
    """The contact forces on a resting robot point up, from the floor to it, and sum to m g."""
    body = Body(make_description(JointType.FREE))
    body.root_link.p = np.array([0.0, 0.0, 0.1])
    body.q_target[:] = body.q
    request = make_request(body, StateFlag.JOINT_DISPLACEMENT, StateFlag.LINK_CONTACT_STATE)
    hardware = simulate(body, request, friction=2.0)
    tick(hardware, 500)
    points = body.root_link.contact_points
    assert points
    total = sum(point.force for point in points)
    np.testing.assert_allclose(total[2], body.mass * 9.80665, rtol=0.05)
    for point in points:
        np.testing.assert_allclose(point.normal, [0.0, 0.0, 1.0], atol=1e-12)
        assert abs(point.position[2]) < 0.01
        assert point.depth > 0.0


def test_same_run_gives_the_same_bits(simulate: Simulate) -> None:
    """Two runs, and a run after a reset, are equal to the last bit."""
    runs = []
    for _ in range(2):
        body = Body(make_description(JointType.FREE))
        hardware = simulate(body)
        for _ in range(2):
            for k in range(300):
                hardware.read()
                body.u[:] = [np.sin(0.1 * k), 1.0, -0.5]
                hardware.write()
            runs.append(hardware.data.qpos.tobytes() + hardware.data.qvel.tobytes())
            body.u[:] = 0.0
            hardware.reset()
            assert hardware.time == 0.0
    assert len(set(runs)) == 1


def test_physics_runs_finer_than_the_control(fixed_arm: Body, simulate: Simulate) -> None:
    """Several physics steps a tick give what as many ticks give."""
    fine_body = fixed_arm.clone()
    coarse = MujocoHardware(fixed_arm, MujocoParameters(time_step=0.001), 0.01)
    coarse.open(make_request(fixed_arm))
    fine = simulate(fine_body)
    tick(coarse, 11)
    tick(fine, 101)
    assert coarse.time == pytest.approx(fine.time)
    np.testing.assert_array_equal(fixed_arm.q, fine_body.q)


def test_period_must_hold_whole_steps(fixed_arm: Body) -> None:
    """A physics step that does not divide the control period is refused."""
    with pytest.raises(HardwareError, match=r'0\.003'):
        MujocoHardware(fixed_arm, MujocoParameters(time_step=0.003), 0.01)


def test_unknown_collision_lists_what_there_is(fixed_arm: Body, simulate: Simulate) -> None:
    """A collision entry that selects nothing is refused with the entries that would."""
    with pytest.raises(HardwareError, match=r"'base/sphere'.*base/box"):
        simulate(fixed_arm, collision=['base/sphere'])


@pytest.mark.parametrize(
    ('effort', 'what'),
    [(1e9, 'something moves faster than 10000'), (np.nan, 'a command is not finite')],
)
def test_divergence_is_reported(
    fixed_arm: Body, simulate: Simulate, effort: float, what: str
) -> None:
    """An absurd speed or a command that is not finite stops the run with time and joint."""
    hardware = simulate(fixed_arm)
    fixed_arm.u[:] = effort
    with pytest.raises(HardwareError, match=rf's: {what}.*joint .* is the fastest'):
        tick(hardware, 1000)
