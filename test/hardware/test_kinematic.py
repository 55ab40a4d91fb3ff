from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hardware.conftest import ALL_MOTION, make_description, make_request

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.devices import (
    AccelerationSensor,
    ForceSensor,
    GenericDevice,
    Imu,
    RangeSensor,
)
from cnoid_control.hardware.disturbance import DisturbanceParameters
from cnoid_control.hardware.exceptions import (
    HardwareError,
    UnsupportedChannel,
)
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.kinematic import KinematicHardware, KinematicParameters
from cnoid_control.hardware.mujoco.parameters import ObjectParameters


def start(body: Body, request: IORequest, **options: object) -> KinematicHardware:
    """Open a body as an ideal robot with a period of 10 ms."""
    hardware = KinematicHardware(body, KinematicParameters(**options), 0.01)  # type: ignore[arg-type]
    hardware.open(request)
    return hardware


@pytest.mark.parametrize(('no_delay', 'ticks'), [(False, 2), (True, 1)])
def test_targets_are_reached_at_once(fixed_arm: Body, no_delay: bool, ticks: int) -> None:
    """A displacement target is the displacement as soon as the delay allows."""
    hardware = start(
        fixed_arm, make_request(fixed_arm, StateFlag.JOINT_DISPLACEMENT, no_delay=no_delay)
    )
    hardware.read()
    before = fixed_arm.q.copy()
    target = before + np.array([0.1, -0.2, 0.3])
    for tick in range(1, 4):
        fixed_arm.q_target[:] = target
        hardware.write()
        hardware.read()
        np.testing.assert_array_equal(fixed_arm.q, target if tick >= ticks else before)
        moved = (target - before) / 0.01 if tick == ticks else np.zeros(3)
        np.testing.assert_allclose(fixed_arm.dq, moved, atol=1e-12)


def test_velocity_targets_are_integrated(fixed_arm: Body) -> None:
    """A joint in velocity mode moves by dq_target in each tick; a free one stays."""
    outputs = {'hand': StateFlag.JOINT_VELOCITY}
    hardware = start(fixed_arm, make_request(fixed_arm, outputs))
    q = fixed_arm.q.copy()
    for _ in range(12):
        hardware.read()
        fixed_arm.dq_target[:] = 2.0
        hardware.write()
    np.testing.assert_allclose(fixed_arm.q, q + np.array([0.0, 10 * 2.0 * 0.01, 0.0]), atol=1e-12)
    assert fixed_arm.dq[1] == pytest.approx(2.0)


def test_root_goes_where_it_is_put(fixed_arm: Body) -> None:
    """A commanded pose is taken over, with the velocity of getting there."""
    request = make_request(fixed_arm, {'base': StateFlag.LINK_POSITION}, ALL_MOTION, no_delay=True)
    hardware = start(fixed_arm, request)
    hardware.read()
    root = fixed_arm.root_link
    place = root.p.copy()
    turn = pin.rpy.rpyToMatrix(0.1, 0.0, 0.0)
    root.p, root.R = place + np.array([0.01, 0.0, 0.0]), turn
    hardware.write()
    hardware.read()
    np.testing.assert_allclose(root.p, place + np.array([0.01, 0.0, 0.0]))
    np.testing.assert_allclose(root.R, turn)
    np.testing.assert_allclose(root.v, [1.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(root.w, [10.0, 0.0, 0.0], atol=1e-9)
    # Links that it carries go along.
    np.testing.assert_allclose(
        fixed_arm.link('upper').p, root.p + turn @ fixed_arm.link('upper').b, atol=1e-12
    )


def test_root_moves_with_a_twist(free_arm: Body) -> None:
    """A commanded twist is integrated in world axes."""
    request = make_request(free_arm, {'base': StateFlag.LINK_TWIST}, ALL_MOTION)
    hardware = start(free_arm, request)
    place = free_arm.root_link.p.copy()
    for _ in range(12):
        hardware.read()
        free_arm.root_link.v = np.array([0.5, 0.0, 0.0])
        free_arm.root_link.w = np.array([0.0, 0.0, 1.0])
        hardware.write()
    hardware.read()
    np.testing.assert_allclose(
        free_arm.root_link.p, place + np.array([0.055, 0.0, 0.0]), atol=1e-12
    )
    np.testing.assert_allclose(
        free_arm.root_link.R, pin.rpy.rpyToMatrix(0.0, 0.0, 0.11), atol=1e-9
    )


def test_inertial_sensors_follow_the_motion() -> None:
    """An accelerometer feels +g at rest, and the acceleration of the root on top."""
    description = make_description(JointType.FREE)
    description.devices = [('base', AccelerationSensor('a')), ('hand', Imu('imu'))]
    body = Body(description)
    request = make_request(body, {'base': StateFlag.LINK_POSITION})
    request.devices = {'a', 'imu'}
    hardware = start(body, request)
    sensor, imu = body.devices
    assert isinstance(sensor, AccelerationSensor)
    assert isinstance(imu, Imu)
    np.testing.assert_allclose(sensor.dv, [0.0, 0.0, 9.80665])
    place = body.root_link.p.copy()
    for k in range(20):
        hardware.read()
        body.root_link.p = place + np.array([0.5 * 3.0 * (0.01 * k) ** 2, 0.0, 0.0])
        body.root_link.R = np.eye(3)
        hardware.write()
    np.testing.assert_allclose(sensor.dv, [3.0, 0.0, 9.80665], atol=1e-9)
    np.testing.assert_allclose(imu.dv, sensor.dv, atol=1e-9)
    np.testing.assert_allclose(imu.w, 0.0, atol=1e-9)


def test_reset_and_errors_repeat(fixed_arm: Body) -> None:
    """After a reset the robot is back at its start and errs as before."""
    request = make_request(fixed_arm, StateFlag.JOINT_DISPLACEMENT)
    hardware = start(fixed_arm, request, sensors={'q': DisturbanceParameters(noise=0.1)})
    runs = []
    for _ in range(2):
        series = []
        for _ in range(5):
            hardware.read()
            fixed_arm.q_target[:] = [0.5, 0.6, 0.7]
            hardware.write()
            series.append(fixed_arm.q.copy())
        runs.append(np.array(series))
        hardware.reset()
        assert hardware.time == 0.0
    np.testing.assert_array_equal(runs[0], runs[1])
    assert np.abs(runs[0][-1] - [0.5, 0.6, 0.7]).max() > 0.01


def test_what_needs_physics_is_refused(fixed_arm: Body) -> None:
    """Efforts and link poses but the root's are refused, and unknown devices are named."""
    with pytest.raises(UnsupportedChannel, match=r'JOINT_EFFORT.*JOINT_DISPLACEMENT'):
        start(fixed_arm, make_request(fixed_arm, StateFlag.JOINT_EFFORT))
    with pytest.raises(UnsupportedChannel, match='hand'):
        start(fixed_arm, make_request(fixed_arm, {'hand': StateFlag.LINK_POSITION}))
    request = make_request(fixed_arm, {})
    request.devices = {'eye'}
    with pytest.raises(HardwareError, match='eye'):
        start(fixed_arm, request)
    with pytest.raises(HardwareError, match='eye'):
        start(fixed_arm, make_request(fixed_arm, {}), sensors={'eye': DisturbanceParameters()})


@pytest.mark.parametrize('root', [JointType.FIXED, JointType.FREE])
def test_forces_are_those_of_inverse_dynamics(root: JointType) -> None:
    """Efforts and a wrist's force sensor tell what the motion takes, by pinocchio's recursion."""
    description = make_description(root)
    description.devices = [('hand', ForceSensor('wrist'))]
    body = Body(description)
    inputs = StateFlag.JOINT_EFFORT | StateFlag.JOINT_ACCELERATION
    request = make_request(body, StateFlag.JOINT_DISPLACEMENT, inputs)
    request.devices = {'wrist'}
    hardware = start(body, request)
    for k in range(10):
        hardware.read()
        body.q_target[:] = np.array([0.1, -0.4, 0.3]) * np.sin(0.2 * k)
        hardware.write()
    model = body.clone()
    model.calc_forward_kinematics(velocity=True, acceleration=True)
    efforts = pin.rnea(model.model, model.data, model.pin_q(), model.pin_v(), model.pin_a())[6:]
    np.testing.assert_allclose(body.u[model.tree.slots_in_pin_order], efforts, atol=1e-8)
    hand = model.link('hand')
    transmitted = model.data.f[model.tree.pin_joints[hand.index]]
    wrist = body.devices_of(ForceSensor)[0]
    np.testing.assert_allclose(wrist.f, -transmitted.linear, atol=1e-8)
    np.testing.assert_allclose(wrist.tau, -transmitted.angular, atol=1e-8)


def test_eyes_move_with_a_bolted_root() -> None:
    """A laser on a root that is put nearer to a wall measures so."""
    description = make_description(JointType.FIXED)
    turned = np.eye(4)
    turned[:3, :3] = [[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    turned[0, 3] = 0.2
    laser = RangeSensor('laser', yaw_range=0.2, yaw_step=0.1, frame_rate=100.0, T_local=turned)
    description.devices = [('base', laser)]
    body = Body(description)
    request = make_request(body, {'base': StateFlag.LINK_POSITION}, no_delay=True)
    request.devices = {'laser'}
    wall = ObjectParameters(size=[0.2, 9.0, 9.0], position=[3.1, 0.0, 1.0])
    hardware = start(body, request, objects={'wall': wall})
    for x in (0.0, 0.5, 1.0):
        hardware.read()
        body.root_link.p = np.array([x, 0.0, 2.0])
        hardware.write()
    hardware.read()
    assert body.devices_of(RangeSensor)[0].range_data[1] == pytest.approx(1.8)
    hardware.close()


def test_no_delay_of_the_root_is_its_own(free_arm: Body) -> None:
    """A root without delay leaves the joints theirs, and needs no joints at all."""
    outputs = dict.fromkeys(('upper', 'slider', 'hand'), StateFlag.JOINT_DISPLACEMENT)
    root = {'base': StateFlag.LINK_POSITION}
    hardware = start(free_arm, IORequest(outputs=outputs | root, no_delay={'base'}))
    hardware.read()
    before = free_arm.q.copy()
    free_arm.q_target[:] = before + 0.1
    free_arm.root_link.p = [1.0, 2.0, 3.0]
    hardware.write()
    hardware.read()
    np.testing.assert_array_equal(free_arm.q, before)
    np.testing.assert_array_equal(free_arm.root_link.p, [1.0, 2.0, 3.0])
    lonely = make_description(JointType.FREE)
    del lonely.links[1:]
    start(Body(lonely), IORequest(outputs=root, no_delay={'base'}))


def test_device_that_nothing_measures_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """Values that stay zero are not passed off as measured ones."""
    description = make_description(JointType.FIXED)
    description.devices = [
        ('hand', GenericDevice('attitude', 'framequat', size=4)),
        ('hand', Imu('imu')),
    ]
    start(Body(description), IORequest(devices={'attitude', 'imu'}))
    told = [record.getMessage() for record in caplog.records]
    assert told == ["nothing measures device 'attitude' here: it stays zero"]
