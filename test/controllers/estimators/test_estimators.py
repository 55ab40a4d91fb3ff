"""Estimators against the simulated truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from controllers.arm import make_loop as make_arm_loop
from controllers.arm import run

from cnoid_control.bench.rows_estimators import walk_errors, weight_error
from cnoid_control.body import load_body
from cnoid_control.body.devices import Imu
from cnoid_control.body.solids import lowest_points
from cnoid_control.controllers.composition import (
    CompositionController,
    LambdaController,
    MultiController,
)
from cnoid_control.controllers.estimators import (
    BaseEstimator,
    EncoderEstimator,
    MomentumObserver,
    TrueStateEstimator,
)
from cnoid_control.controllers.estimators.base_estimator import (
    BaseEstimatorParameters,
    ContactDetector,
    HeightDetector,
)
from cnoid_control.controllers.estimators.estimator import EncoderParameters, EstimatorError
from cnoid_control.controllers.estimators.momentum_observer import MomentumObserverParameters
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin import ControllerIO
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.runtime.exceptions import NoControllerLeft


class TestEncoder:
    """Velocities from positions."""

    def test_the_first_sample_gives_zero(self):
        """There is nothing to take a difference from, also after a reset."""
        estimator = EncoderEstimator(EncoderParameters(cutoff=0.0))
        assert estimator.output_and_advance(q=[1.0], dt=0.1)['dq'] == [0.0]
        assert estimator.output_and_advance(q=[1.2], dt=0.1)['dq'] == pytest.approx([2.0])
        estimator.signal('reset')
        assert estimator.output_and_advance(q=[5.0], dt=0.1)['dq'] == [0.0]

    def test_output_has_no_side_effects(self):
        """Asked three times, it answers three times the same."""
        estimator = EncoderEstimator(EncoderParameters(cutoff=0.0))
        estimator.advance(q=[1.0], dt=0.1)
        answers = [float(estimator.output(q=[1.5], dt=0.1)['dq'][0]) for _ in range(3)]
        assert answers == pytest.approx([5.0] * 3)

    def test_full_turns_are_seen_through(self):
        """From 3.1 to -3.1 an encoder that wraps has moved on, not back."""
        estimator = EncoderEstimator(EncoderParameters(cutoff=0.0, wrap=True))
        estimator.advance(q=[3.1], dt=0.1)
        moved = 2 * np.pi - 6.2
        assert estimator.output(q=[-3.1], dt=0.1)['dq'] == pytest.approx([moved / 0.1])

    @pytest.mark.parametrize(('frequency', 'gain'), [(2.0, 0.99), (20.0, 0.5), (200.0, 0.02)])
    def test_the_filter_has_the_response_of_two_poles(self, frequency: float, gain: float):
        """At the cut-off frequency half the amplitude is left, far above it next to nothing."""
        dt, cutoff = 1e-4, 20.0
        estimator = EncoderEstimator(EncoderParameters(cutoff=cutoff))
        t = np.arange(0.0, 1.0, dt)
        omega = 2 * np.pi * frequency
        answers = [
            estimator.output_and_advance(q=[x], dt=dt)['dq'][0] for x in np.sin(omega * t) / omega
        ]
        assert np.max(answers[len(t) // 2 :]) == pytest.approx(gain, abs=0.02)


def test_the_base_estimate_follows_the_walk() -> None:
    """Walking half a metre, it drifts less than 5 % of the way; its tilt is right to 1 degree."""
    errors = walk_errors()
    assert 0.0 < errors.drift < 0.05
    assert 0.0 < errors.tilt < 1.0
    assert 0.0 < errors.speed < 0.02
    assert 0.0 < errors.rate < 0.1


def test_the_base_estimate_needs_no_force_sensors() -> None:
    """The lowest feet are those that stand: about as good as with sensors on level ground."""
    errors = walk_errors('height')
    assert 0.0 < errors.drift < 0.1
    assert 0.0 < errors.tilt < 1.0
    assert 0.0 < errors.speed < 0.02


def test_the_imu_may_be_behind_joints(tmp_path: Path) -> None:
    """On the chest, which turns against the root and is half a metre above the hips."""
    given = Path('urdf/sr1.urdf').read_text()
    sensor = '<sensor name="WaistIMU" type="imu">'
    first, rest = given.split(sensor, 1)
    block, rest = rest.split('</sensor>', 1)
    moved = f'<gazebo reference="CHEST">{sensor}<pose>0.1 0 0.3 0.2 0 0.4</pose>{block}</sensor>'
    model = tmp_path / 'sr1.urdf'
    model.write_text(first + rest.replace('</robot>', f'{moved}</gazebo></robot>'))
    assert load_body(model).find_device(Imu, 'WaistIMU').link.name == 'CHEST'
    errors = walk_errors('auto', str(model))
    assert 0.0 < errors.drift < 0.05
    assert 0.0 < errors.tilt < 1.0
    assert 0.0 < errors.speed < 0.02


def test_the_lowest_feet_are_trusted() -> None:
    """And the less, the higher they are."""
    trust = HeightDetector(0.02).trust(np.array([0.11, 0.1, 0.115, 0.3]))
    np.testing.assert_allclose(trust, [0.5, 1.0, 0.25, 0.0])


def test_a_foot_that_slips_counts_little() -> None:
    """One of two feet moves at 1 m/s over the ground: the estimate stays with the other one."""
    body = make_robot(load_config('sr1_pd').parameters.robot, Path())
    estimator = BaseEstimator(BaseEstimatorParameters(contact='height'))
    estimator.attach(ControllerIO('test', body, 0.002))
    dq = np.zeros(body.num_joints)
    inputs = {
        'dt': 0.002,
        'q': body.q.copy(),
        'dq': dq,
        'WaistIMU': np.array([0.0, 0.0, 0.0, 0.0, 0.0, 9.80665]),
    }
    estimator.output_and_advance(**inputs)
    hip = body.link('RLEG_HIP_P')
    body.calc_forward_kinematics()
    length = hip.p[2] - lowest_points([body.link('RLEG_ANKLE_R')])['RLEG_ANKLE_R'][2]
    dq[hip.joint_id] = 1.0 / length
    for _ in range(50):
        answer = estimator.output_and_advance(**inputs)
    # Half of it, where both counted the same.
    assert np.linalg.norm(answer['root_v']) < 0.05
    np.testing.assert_array_equal(answer['contacts'] > 0.9, [True, True])


def test_the_height_is_that_above_the_feet() -> None:
    """Whatever the body's own position says."""
    body = make_robot(load_config('sr1_pd').parameters.robot, Path())
    body.root_link.p = np.array([1.0, 2.0, 3.0])
    body.calc_forward_kinematics()
    lowest = min(point[2] for point in lowest_points(body.links).values())
    estimator = BaseEstimator()
    io = ControllerIO('test', body, 0.01)
    estimator.attach(io)
    inputs = {name: np.zeros(6) for name in estimator.devices}
    answer = estimator.output(q=body.q, dq=body.dq, dt=0.01, **inputs)
    assert answer['root_height'] == pytest.approx(3.0 - lowest, abs=1e-9)
    np.testing.assert_allclose(answer['root_p'], [1.0, 2.0, 3.0], atol=1e-12)


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        ({'imu': 'Nose'}, "no IMU 'Nose'; .*WaistIMU"),
        ({'feet': ['Tail']}, "unknown foot 'Tail'; .*LeftAnkleForceSensor.*LLEG_ANKLE_R"),
        ({'feet': ['LLEG_KNEE'], 'contact': 'force'}, 'needs a force sensor at every foot'),
    ],
)
def test_sensors_that_are_not_there_are_named(values: dict, message: str) -> None:
    """With what there is."""
    io = ControllerIO('test', load_body('package://cnoid_control/urdf/sr1.urdf'), 0.01)
    with pytest.raises(CnoidControlError, match=message):
        BaseEstimator(BaseEstimatorParameters(**values)).attach(io)


def test_feet_are_trusted_by_their_load() -> None:
    """A foot in the air is not trusted, one that bears its share is, and in between it rises."""
    contacts = ContactDetector(50.0, 250.0)
    trust = contacts.trust(np.array([-5.0, 50.0, 150.0, 250.0, 900.0]))
    np.testing.assert_allclose(trust, [0.0, 0.0, 0.5, 1.0, 1.0])


def test_a_wrong_tilt_is_corrected_by_gravity() -> None:
    """Standing upright but believed to lean by 5 degrees, the belief comes to an end."""
    config = load_config('sr1_pd')
    body = make_robot(config.parameters.robot, config.folder)
    lean = pin.exp3(np.radians([3.0, -4.0, 0.0]))
    body.root_link.R = lean
    estimator = BaseEstimator()
    estimator.attach(ControllerIO('test', body, 0.01))
    weight = body.mass * 9.80665
    inputs = {
        'dt': 0.01,
        'q': body.q.copy(),
        'dq': np.zeros(body.num_joints),
        'WaistIMU': np.array([0.0, 0.0, 0.0, 0.0, 0.0, 9.80665]),
        'LeftAnkleForceSensor': np.array([0.0, 0.0, weight / 2, 0.0, 0.0, 0.0]),
        'RightAnkleForceSensor': np.array([0.0, 0.0, weight / 2, 0.0, 0.0, 0.0]),
    }
    leans = [np.degrees(np.arccos(estimator.output_and_advance(**inputs)['root_R'][2, 2]))]
    for _ in range(2000):
        answer = estimator.output_and_advance(**inputs)
    leans.append(np.degrees(np.arccos(min(1.0, answer['root_R'][2, 2]))))
    assert leans[0] == pytest.approx(5.0, abs=0.01)
    # The error falls by the factor e in 1 / tilt_gain seconds.
    assert leans[1] == pytest.approx(5.0 * np.exp(-0.2 * 20.0), rel=0.05)


def test_the_base_estimator_needs_an_imu() -> None:
    """A robot without one is refused at the start."""
    with pytest.raises(NoControllerLeft, match='an IMU is needed'):
        make_arm_loop(CompositionController(BaseEstimator()))


def test_the_observer_weighs_a_standing_robot() -> None:
    """The only force from outside on a robot that stands is the ground's: its weight."""
    assert weight_error() < 0.01


def test_the_observer_finds_a_push() -> None:
    """A force on a link appears as the torques J^T f on the joints, through the filter."""
    hold = LambdaController(lambda t: {'qcmd': np.array([0.4, 0.6])}, ['t'])
    observer = MomentumObserver(MomentumObserverParameters(link='lower', gain=100.0))
    multi = MultiController({'truth': TrueStateEstimator(), 'outside': observer, 'hold': hold})
    loop = make_arm_loop(
        CompositionController(multi), {'kp': 2000.0, 'kd': 60.0}, time_step=0.001, gravity=9.80665
    )
    run(loop, 1.0)
    np.testing.assert_allclose(multi.register['external_torque'], 0.0, atol=0.05)
    hardware, body = loop.hardware, loop.hardware.body
    force = np.array([5.0, 0.0, -3.0])
    # MuJoCo takes it at the centre of mass.
    link = hardware.model.body('lower').id
    hardware.data.xfrc_applied[link, :3] = force
    run(loop, 0.5)
    body.calc_forward_kinematics()
    point = body.link('lower').wc
    expected = [np.cross(point - body.link(name).p, force)[1] for name in ('upper', 'lower')]
    np.testing.assert_allclose(multi.register['external_torque'], expected, atol=0.05)
    assert multi.register['external_wrench'].shape == (6,)


def test_the_true_state_is_the_robots() -> None:
    """Joints and root are the simulated ones, at every tick."""
    estimator = TrueStateEstimator()
    multi = MultiController([estimator])
    loop = make_arm_loop(CompositionController(multi))
    run(loop, 0.1)
    np.testing.assert_array_equal(multi.register['q'], loop.hardware.body.q)
    np.testing.assert_array_equal(multi.register['root_p'], loop.hardware.body.root_link.p)


def test_bounds_of_contact_must_be_in_order() -> None:
    """A foot cannot stand firmly with less force than it has in the air."""
    io = ControllerIO('test', load_body('package://cnoid_control/urdf/sr1.urdf'), 0.01)
    bounds = BaseEstimatorParameters(contact_low=0.2, contact_high=0.2)
    with pytest.raises(EstimatorError, match='contact_low'):
        BaseEstimator(bounds).attach(io)


def test_the_estimated_pose_is_logged_now_and_then() -> None:
    """It is what was put out in that tick; most ticks log nothing."""
    body = make_robot(load_config('sr1_pd').parameters.robot, Path())
    estimator = BaseEstimator()
    io = ControllerIO('test', body, 0.01)
    estimator.attach(io)
    inputs = {name: np.zeros(6) for name in estimator.devices}
    logged = []
    for _ in range(10):
        answer = estimator.output_and_advance(q=body.q, dq=body.dq, dt=0.01, **inputs)
        if 'base_estimate' in io.log_fields:
            pose = io.log_fields.pop('base_estimate')
            np.testing.assert_allclose(pose[:3, 3], answer['root_p'])
            np.testing.assert_allclose(pose[:3, :3], answer['root_R'])
            logged.append(pose)
    assert 3 <= len(logged) <= 4
