from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest
from hardware.conftest import ALL_MOTION, make_description, make_request

from cnoid_control.body import Body, Device, JointType, Link, StateFlag
from cnoid_control.body.devices import AccelerationSensor, ForceSensor, Imu, RateGyroSensor
from cnoid_control.body.formats.load import load_body
from cnoid_control.hardware.disturbance import DisturbanceParameters
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.share import shared_file

Simulate = Callable[..., MujocoHardware]
GRAVITY = np.array([0.0, 0.0, -9.80665])
MOUNTING = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.7, 1.1), np.array([0.1, 0.05, -0.2])).homogeneous
READ = StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY | StateFlag.JOINT_ACCELERATION


def make_arm(*devices: tuple[str, Device], root: JointType = JointType.FREE) -> Body:
    """Arm in motion with devices on links."""
    description = make_description(root)
    description.devices = list(devices)
    body = Body(description)
    body.q[:], body.dq[:] = [0.1, 0.4, -0.3], [0.5, -1.0, 2.0]
    body.root_link.w = np.array([0.3, -0.5, 0.8])
    body.root_link.v = np.array([0.1, 0.2, -0.3])
    return body


def run(body: Body, simulate: Simulate, **options: object) -> tuple[Body, Body]:
    """Simulate a little; give the state at the beginning and at the end of the last step."""
    request = make_request(body, inputs=READ | ALL_MOTION)
    request.devices = {device.name for device in body.devices}
    hardware = simulate(body, request, floor=False, **options)
    for _ in range(30):
        hardware.read()
        hardware.write()
    before = body.clone()
    hardware.read()
    before.ddq[:] = body.ddq
    before.root_link.dv, before.root_link.dw = body.root_link.dv, body.root_link.dw
    before.calc_forward_kinematics(velocity=True, acceleration=True)
    after = body.clone()
    after.calc_forward_kinematics(velocity=True)
    return before, after


def transmitted_wrench(link: Link, point: np.ndarray) -> np.ndarray:
    """Wrench that the parent must put on a link so that all it carries moves as it does."""
    arm = link.wc - link.p
    acceleration = link.dv + np.cross(link.dw, arm) + np.cross(link.w, np.cross(link.w, arm))
    force = link.m * (acceleration - GRAVITY)
    inertia = link.R @ link.I @ link.R.T
    torque = inertia @ link.dw + np.cross(link.w, inertia @ link.w)
    total = np.concatenate([force, torque + np.cross(link.wc - point, force)])
    return total + sum((transmitted_wrench(child, point) for child in link.children), np.zeros(6))


@pytest.mark.parametrize('name', ['slider', 'mount', 'hand'])
def test_force_sensor_feels_what_hangs_on_it(name: str, simulate: Simulate) -> None:
    """F is minus the wrench that the parent transmits, in sensor axes, about the sensor."""
    sensor = ForceSensor('force', T_local=MOUNTING)
    body = make_arm((name, sensor))
    before, _ = run(body, simulate)
    link = before.link(name)
    axes = link.R @ MOUNTING[:3, :3]
    expected = -transmitted_wrench(link, link.p + link.R @ MOUNTING[:3, 3])
    found = body.devices[0]
    assert isinstance(found, ForceSensor)
    np.testing.assert_allclose(found.f, axes.T @ expected[:3], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.tau, axes.T @ expected[3:], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize('exact', [False, True])
def test_inertial_sensors_feel_the_link_or_their_own_place(
    exact: bool, simulate: Simulate
) -> None:
    """Gyro, accelerometer and IMU are in sensor axes; the lever arm counts only if asked for."""
    body = make_arm(
        ('hand', RateGyroSensor('gyro', T_local=MOUNTING)),
        ('hand', AccelerationSensor('accelerometer', T_local=MOUNTING)),
        ('hand', Imu('imu', T_local=MOUNTING)),
    )
    before, after = run(body, simulate, exact_accelerometer=exact)
    gyro, accelerometer, imu = body.devices
    assert isinstance(gyro, RateGyroSensor)
    assert isinstance(accelerometer, AccelerationSensor)
    assert isinstance(imu, Imu)
    link = after.link('hand')
    np.testing.assert_allclose(gyro.w, MOUNTING[:3, :3].T @ link.R.T @ link.w, atol=1e-12)
    link = before.link('hand')
    acceleration = link.dv - GRAVITY
    if exact:
        arm = link.R @ MOUNTING[:3, 3]
        acceleration += np.cross(link.dw, arm) + np.cross(link.w, np.cross(link.w, arm))
    expected = MOUNTING[:3, :3].T @ link.R.T @ acceleration
    np.testing.assert_allclose(accelerometer.dv, expected, atol=1e-8)
    np.testing.assert_array_equal(imu.w, gyro.w)
    np.testing.assert_array_equal(imu.dv, accelerometer.dv)


def test_falling_accelerometer_reads_zero(simulate: Simulate) -> None:
    """In free fall nothing is felt."""
    body = Body(make_description(JointType.FREE))
    body.description.devices.append(('base', AccelerationSensor('accelerometer')))
    body = Body(body.description)
    run(body, simulate)
    sensor = body.devices[0]
    assert isinstance(sensor, AccelerationSensor)
    np.testing.assert_allclose(sensor.dv, 0.0, atol=1e-9)


def test_hanging_payload_pulls_down(simulate: Simulate) -> None:
    """A weight at rest below a wrist gives f_z = -m g, and the accelerometer +g upwards."""
    description = make_description(JointType.FIXED)
    description.devices = [
        ('hand', ForceSensor('wrist')),
        ('hand', AccelerationSensor('accelerometer')),
    ]
    body = Body(description)
    request = make_request(body, StateFlag.JOINT_DISPLACEMENT)
    request.devices = {'wrist', 'accelerometer'}
    hardware = simulate(body, request, floor=False)
    for _ in range(3000):
        hardware.read()
        hardware.write()
    wrist, accelerometer = body.devices
    assert isinstance(wrist, ForceSensor)
    assert isinstance(accelerometer, AccelerationSensor)
    assert wrist.f[2] == pytest.approx(-body.link('hand').m * 9.80665, rel=1e-3)
    np.testing.assert_allclose(accelerometer.dv, -GRAVITY, atol=1e-2)


def test_limits_saturate(simulate: Simulate) -> None:
    """No value exceeds what the sensor can give."""
    body = make_arm(('hand', RateGyroSensor('gyro', w_max=np.array([0.01, np.inf, 0.02]))))
    _, after = run(body, simulate)
    gyro = body.devices[0]
    assert isinstance(gyro, RateGyroSensor)
    true = after.link('hand').R.T @ after.link('hand').w
    np.testing.assert_allclose(np.abs(gyro.w[[0, 2]]), [0.01, 0.02])
    assert gyro.w[1] == pytest.approx(true[1])


def test_devices_not_requested_stay_cleared(simulate: Simulate) -> None:
    """A sensor that nobody reads, or that is off, keeps its cleared state."""
    body = make_arm(
        ('hand', RateGyroSensor('unread')),
        ('hand', RateGyroSensor('off', on=False)),
    )
    request = make_request(body)
    request.devices = {'off'}
    hardware = simulate(body, request)
    for _ in range(3):
        hardware.read()
        hardware.write()
    for gyro in body.devices_of(RateGyroSensor):
        np.testing.assert_array_equal(gyro.w, 0.0)


def test_noise_repeats_and_has_its_size(simulate: Simulate) -> None:
    """Noise has the given deviation and bias, and is the same in every run of one seed."""
    errors = {'gyro': DisturbanceParameters(noise=[0.1, 0.0, 0.2], bias=[0.0, 5.0, 0.0])}
    series = []
    for seed in (1, 1, 2):
        description = make_description(JointType.FIXED)
        description.devices = [('base', RateGyroSensor('gyro'))]
        body = Body(description)
        request = make_request(body)
        request.devices = {'gyro'}
        hardware = simulate(body, request, sensors=errors, seed=seed)
        values = []
        for _ in range(2000):
            hardware.read()
            hardware.write()
            values.append(body.devices[0].w.copy())  # type: ignore[attr-defined]
        series.append(np.array(values))
    np.testing.assert_array_equal(series[0], series[1])
    assert np.abs(series[0] - series[2]).max() > 0.1
    np.testing.assert_allclose(series[0].std(axis=0), [0.1, 0.0, 0.2], rtol=0.1)
    np.testing.assert_allclose(series[0].mean(axis=0), [0.0, 5.0, 0.0], atol=0.02)


def test_sensor_delay_gives_old_values(simulate: Simulate) -> None:
    """Delayed joint angles are those of so many ticks ago; the first one until then."""
    body = make_arm(root=JointType.FIXED)
    late = {'q': DisturbanceParameters(delay=0.003)}
    exact = simulate(body.clone())
    delayed = simulate(body, sensors=late)
    history = []
    for tick in range(20):
        for hardware in (exact, delayed):
            hardware.read()
            hardware.write()
        history.append(exact.body.q.copy())
        np.testing.assert_array_equal(delayed.body.q, history[max(0, tick - 3)])


def test_errors_of_unknown_sensors_are_refused(simulate: Simulate) -> None:
    """An unknown sensor, an unknown device and a wrong size are named."""
    body = make_arm(('hand', RateGyroSensor('gyro')))
    with pytest.raises(HardwareError, match=r'unknown device .wheel.*gyro'):
        simulate(body, sensors={'wheel': DisturbanceParameters()})
    request = make_request(body)
    request.devices = {'eye'}
    with pytest.raises(HardwareError, match=r'unknown device .eye'):
        simulate(body, request)
    request.devices = {'gyro'}
    with pytest.raises(HardwareError, match=r'sensors\.gyro\.noise has 2 values, gyro has 3'):
        simulate(body, request, sensors={'gyro': DisturbanceParameters(noise=[1.0, 2.0])})


def test_standing_robot_weighs_on_its_ankles(simulate: Simulate) -> None:
    """SR1's ankle sensors together carry all but the feet, upwards; the waist feels +g."""
    body = load_body(shared_file('urdf', 'sr1.urdf'))
    posture = [0, -2.1, 0, 4.5, -2.4, 0, 10, -0.2, 0, -90, 0, 0, 0]
    body.q[:] = np.deg2rad([*posture, *posture, 0, 0, 0])
    body.q_target[:] = body.q
    request = make_request(body, StateFlag.JOINT_DISPLACEMENT)
    request.devices = {
        device.name for device in body.devices if not device.name.endswith('Camera')
    }
    hardware = simulate(body, request, 0.002, collision=['LLEG_ANKLE_R/box', 'RLEG_ANKLE_R/box'])
    for _ in range(1500):
        hardware.read()
        hardware.write()
    forces = [sensor.f[2] for sensor in body.devices_of(ForceSensor)]
    feet = 2 * body.link('LLEG_ANKLE_R').m
    assert sum(forces) == pytest.approx((body.mass - feet) * 9.80665, rel=1e-3)
    assert sum(forces) == pytest.approx(1245.0, rel=0.01)
    assert min(forces) > 0.4 * sum(forces)
    imu = body.find_device(Imu, 'WaistIMU')
    assert imu is not None
    np.testing.assert_allclose(imu.dv, [-0.08, 0.0, 9.81], atol=0.1)
