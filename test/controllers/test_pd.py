from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from controllers.runs import main_controller, open_loop, run_for

from cnoid_control.body import StateFlag
from cnoid_control.body.gains import joint_gains
from cnoid_control.controllers.pd import PDController, PDParameters
from cnoid_control.parameters import ParameterError
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import config_from_model


def test_arm_goes_to_the_posture_and_holds_it() -> None:
    """With its weight carried by the model the arm arrives without an offset."""
    loop = open_loop('pd', pd__move_time=0.5)
    run_for(loop, 1.5)
    goal = [0.3, 0.6, 0.0, 1.2, 0.0, 0.8, 0.5]
    np.testing.assert_allclose(loop.hardware.body.q, goal, atol=2e-3)
    loop.close()


def test_without_compensation_the_arm_sags() -> None:
    """What gravity compensation is for: without it the shoulder hangs low."""
    loop = open_loop('pd', pd__gravity_compensation=[], pd__move_time=0.5)
    run_for(loop, 1.5)
    assert loop.hardware.body.q[1] > 0.62
    loop.close()


def test_integral_removes_the_sag() -> None:
    """The integral gain brings the arm to its posture in the end."""
    loop = open_loop(
        'pd', pd__gravity_compensation=[], pd__move_time=0.5, pd__ki_of={'shoulder': 1500.0}
    )
    run_for(loop, 3.0)
    assert loop.hardware.body.q[1] == pytest.approx(0.6, abs=5e-3)
    loop.close()


def test_gains_are_by_joint_before_group_before_all() -> None:
    """A joint's own gain wins over its group's, and that over the common one."""
    loop = open_loop('pd')
    controller = main_controller(loop)
    assert isinstance(controller, PDController)
    np.testing.assert_array_equal(controller.gains[0], [600, 600, 200, 200, 20, 20, 2])
    np.testing.assert_array_equal(controller.gains[2], [30, 30, 8, 8, 0.6, 0.6, 0.05])
    loop.close()


def test_parameters_change_while_running() -> None:
    """New gains act at once; a new posture is gone to from where the arm is."""
    loop = open_loop('pd', pd__move_time=0.2)
    controller = main_controller(loop)
    assert isinstance(controller, PDController)
    run_for(loop, 0.4)
    held = controller.q_ref.copy()
    old = controller.io.parameters
    stiffer = PDParameters(**{**vars(old), 'kp': 300.0})
    controller.update_parameters(old, stiffer)
    assert controller.gains[0, 2] == 300.0
    run_for(loop, 0.01)
    np.testing.assert_allclose(controller.q_ref, held, atol=1e-12)
    moved = PDParameters(**{**vars(old), 'posture': [0.0, 0.5, 0.0, 1.0, 0.0, 0.5, 0.0]})
    controller.update_parameters(old, moved)
    run_for(loop, 0.001)
    np.testing.assert_allclose(controller.q_ref, held, atol=1e-3)
    run_for(loop, 0.5)
    np.testing.assert_allclose(controller.q_ref, moved.posture, atol=1e-12)
    loop.close()


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'kp_of': {'knee': 1.0}}, "kp_of.knee: 'knee' is not allowed; choose from: all, "),
        ({'gravity_compensation': ['tail']}, 'gravity_compensation.tail'),
        ({'posture': [0.0]}, 'it needs 7 values'),
        ({'kp': [1.0, 2.0]}, 'it needs 1 or 7 values'),
        ({'groups': {'hand': ['joint9']}}, 'joint9'),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], message: str) -> None:
    """An unknown joint or group and a wrong size are refused with what would do."""
    config = load_config('pd', {f'pd.{key}': value for key, value in options.items()})
    outcome = make_loop(config, os=io.StringIO()).run(0.01)
    assert outcome.exit == 'failed'
    assert message in outcome.reason


def test_back_to_the_first_posture() -> None:
    """From A to B and back to A: what counts is the posture in force, not the first one."""
    loop = open_loop('pd', pd__move_time=0.05)
    managed = loop.host.controllers[0]
    first = managed.parameters
    run_for(loop, 0.1)
    second = replace(first, posture=[0.0, 0.5, 0.0, 1.0, 0.0, 0.5, 0.0])
    for parameters in (second, first, second, first):
        managed.change_options({}, parameters)
        run_for(loop, 0.1)
        np.testing.assert_allclose(managed.controller.q_ref, parameters.posture, atol=1e-12)
    loop.close()


def test_without_a_posture_it_returns_to_the_initial_one() -> None:
    """Also where it has moved away in the meantime."""
    loop = open_loop('pd', pd__move_time=0.05)
    managed = loop.host.controllers[0]
    initial = managed.controller.q_initial.copy()
    run_for(loop, 0.2)
    managed.change_options({}, replace(managed.parameters, posture=[]))
    run_for(loop, 0.1)
    np.testing.assert_allclose(managed.controller.q_ref, initial, atol=1e-12)
    loop.close()


def test_tracks_stand_still(tmp_path) -> None:
    """The surface of a track is not held: a vehicle that has nothing else runs all the same."""
    path = tmp_path / 'tank.body'
    path.write_text("""
links:
  - {name: base, joint_type: free, mass: 10, translation: [0, 0, 0.1]}
  - {name: left, parent: base, joint_type: pseudo_continuous_track, joint_id: 0, joint_axis: Y,
     elements: {Shape: {geometry: {type: Box, size: [1, 1, 0.2]}}}}
""")
    loop = make_loop(config_from_model(str(path)), os=io.StringIO())
    loop.open()
    run_for(loop, 0.2)
    assert abs(loop.hardware.body.root_link.p[0]) < 1e-3
    loop.close()


def test_posture_and_gains_by_joint_names() -> None:
    """Joints that are not named stay and have automatic gains; kd belongs to the kp in force."""
    options = {'posture': {'joint4': 1.3}, 'kp_of': {'joint2': 500.0}, 'move_time': 0.5}
    loop = make_loop(config_from_model('arm.urdf', {'pd': options}))
    start = loop.hardware.body.q.copy()
    automatic = joint_gains(loop.hardware.body, 0.001)
    assert loop.run(1.5).exit == 'completed'
    controller = loop.host.members()[0].controller
    goal = start.copy()
    goal[3] = 1.3
    np.testing.assert_allclose(controller.q_ref, goal)
    np.testing.assert_allclose(loop.hardware.body.q, goal, atol=0.01)
    kp, _, kd = controller.gains
    assert kp[1] == 500.0
    assert kd[1] == pytest.approx(automatic.damping_of(np.full(7, 500.0))[1])
    others = [i for i in range(7) if i != 1]
    np.testing.assert_allclose(kp[others], automatic.kp[others])
    np.testing.assert_allclose(kd[others], automatic.kd[others])
    assert controller.gains_of('joint2')['kp'] == 500.0


def test_unknown_joint_of_the_posture_is_refused() -> None:
    """With the choices."""
    loop = make_loop(load_config('pd', {'pd.posture': {'knee': 1.0}}), os=io.StringIO())
    outcome = loop.run(0.1)
    assert outcome.exit == 'failed'
    assert 'posture.knee: unknown joint; choose from: joint1, joint2' in outcome.reason


@pytest.mark.parametrize('wanted', [[], ['RARM_ELBOW']])
def test_a_floating_robot_needs_its_base_for_gravity_alone(wanted: list[str]) -> None:
    """Drivers of ros2_control say nothing about the base: PD without gravity asks for nothing."""
    config = load_config('sr1_pd', {'controller': 'pd', 'pd.gravity_compensation': wanted})
    loop = make_loop(config)
    loop.open()
    asked = loop.host.request().inputs.get('WAIST', StateFlag.NONE)
    assert bool(asked & StateFlag.LINK_POSITION) is bool(wanted)
    controller = main_controller(loop)
    assert isinstance(controller, PDController)
    old = controller.io.parameters
    new = replace(old, gravity_compensation=['LARM_ELBOW'])
    if wanted:
        controller.update_parameters(old, new)
        assert controller.weightless.sum() == 1
    else:
        with pytest.raises(ParameterError, match='orientation of the base is not read'):
            controller.update_parameters(old, new)
    loop.close()
