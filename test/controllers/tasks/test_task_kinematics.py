"""Poses looked at in place, and Jacobians that are not computed twice."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest

from cnoid_control.controllers.tasks import kinematics as task_kinematics
from cnoid_control.controllers.tasks.controller import TasksController
from cnoid_control.controllers.tasks.kinematics import TaskKinematics
from cnoid_control.simulation import Simulation


def calls_of_jacobians(monkeypatch):
    """List that grows with each computation of all Jacobians."""
    calls = []
    compute = pin.computeJointJacobians
    monkeypatch.setattr(
        pin, 'computeJointJacobians', lambda *given: (calls.append(1), compute(*given))[1]
    )
    return calls


@pytest.mark.parametrize('robot', ['sr1', 'arm'])
def test_views_follow_the_links(robot, request):
    """Positions and axes of all links are those of the last update, and not to be written to."""
    body = request.getfixturevalue(robot)
    kinematics = TaskKinematics(body, body.joints, moving_root=True)
    for change in (0.0, 0.2):
        body.q[:] += change
        kinematics.update()
        for link in body.links:
            position, axes = kinematics.views(link)
            placement = kinematics.placement(link)
            np.testing.assert_array_equal(position, placement.translation)
            np.testing.assert_array_equal(axes, placement.rotation)
    position, _ = kinematics.views(body.links[-1 if robot == 'sr1' else 1])
    with pytest.raises(ValueError, match='read-only'):
        position[0] = 1.0


def test_positions_are_found_among_the_numbers_of_the_poses(sr1):
    """In the order of the links."""
    kinematics = TaskKinematics(sr1, sr1.joints, moving_root=True)
    kinematics.update()
    places = kinematics.position_places(sr1.links)
    positions = kinematics.pose_values.take(places).reshape(-1, 3)
    np.testing.assert_array_equal(positions, [link.p for link in sr1.links])


def test_poses_kept_in_another_way_are_asked_for_one_by_one(sr1, monkeypatch):
    """The same views, and no places."""
    monkeypatch.setattr(task_kinematics, '_pose_values', lambda data: (np.zeros(0), 0))
    kinematics = TaskKinematics(sr1, sr1.joints, moving_root=True)
    kinematics.update()
    assert kinematics.position_places(sr1.links) is None
    for link in sr1.links:
        position, axes = kinematics.views(link)
        np.testing.assert_array_equal(position, kinematics.placement(link).translation)
        np.testing.assert_array_equal(axes, kinematics.placement(link).rotation)


def test_what_is_current_is_left_for_one_update_and_one_configuration(sr1, monkeypatch):
    """Another configuration, the update after it and who takes it back compute anew."""
    calls = calls_of_jacobians(monkeypatch)
    kinematics = TaskKinematics(sr1, sr1.joints, moving_root=True)
    kinematics.update()
    kinematics.mark_current(sr1.pin_q())
    kinematics.update()
    assert len(calls) == 1
    kinematics.update()
    assert len(calls) == 2
    kinematics.mark_current(sr1.pin_q())
    sr1.q[3] += 1e-9
    kinematics.update()
    assert len(calls) == 3
    kinematics.mark_current(sr1.pin_q())
    kinematics.forget_current()
    kinematics.update()
    assert len(calls) == 4


def test_a_tick_computes_the_jacobians_once(monkeypatch):
    """Where torques need them for where the next tick begins; anew once options have changed."""
    calls = calls_of_jacobians(monkeypatch)
    found = []
    control = TasksController.control
    monkeypatch.setattr(
        TasksController, 'control', lambda own: (found.append(own), control(own))[1]
    )
    with Simulation('sr1_reach') as simulation:
        simulation.run(0.005)
        calls.clear()
        simulation.run(0.02)
        assert len(calls) == 20
        controller = found[-1]
        old = controller.parameters
        controller.update_parameters(old, dataclasses.replace(old, damping=2e-6))
        calls.clear()
        simulation.run(0.001)
        assert len(calls) == 2
