"""The tasks of the performance table do the same work as what they are compared with."""

import importlib.util

import numpy as np
import pytest

from cnoid_control.bench import rows_tasks, rows_tasks_placo, rows_tasks_tsid
from cnoid_control.bench.row import missing_modules
from cnoid_control.controllers.tasks.controller import TasksController


def test_one_task_moves_as_the_step_by_hand():
    """Both sides of the arm's row find the same velocities."""
    with rows_tasks.one_task() as (compute, by_hand):
        compute()
        np.testing.assert_allclose(compute.__self__.velocity, by_hand(), atol=1e-5)


@pytest.mark.skipif(importlib.util.find_spec('pink') is None, reason='pink is not installed')
def test_six_tasks_move_as_in_pink():
    """Both sides of the humanoid's row find the same velocities, with limits at work."""
    body = rows_tasks.humanoid()
    controller = rows_tasks.six_frames(body)
    controller.compute()
    velocities = rows_tasks.pink_solver(body)[1]()
    np.testing.assert_allclose(controller.velocity, velocities, atol=1e-4)
    assert controller.limitations()


@pytest.mark.skipif(importlib.util.find_spec('placo') is None, reason='placo is not installed')
def test_six_tasks_move_as_in_placo():
    """Both sides of the row find the same velocities, with limits at work."""
    body = rows_tasks.humanoid()
    controller = rows_tasks_placo.frame_tasks(body)
    controller.compute()
    velocities = rows_tasks_placo.placo_solver(body)[1]()
    np.testing.assert_allclose(controller.velocity, velocities, atol=rows_tasks_placo.TOLERANCE)
    assert controller.limitations()


def test_the_real_controller_is_timed_while_it_moves():
    """One duration a tick after the warm-up, and the controller is as it was afterwards."""
    control = TasksController.control
    times = rows_tasks.reach_times(duration=0.05, warm_up=0.01)
    assert len(times) == 50
    assert (times > 0.0).all()
    assert TasksController.control is control


def test_levels_and_weights_are_the_same_tasks():
    """Seven tasks on either side, in three levels and in one, that all ask for a motion."""
    with rows_tasks.strict_levels() as works:
        solvers = [work.__self__ for work in works]
        for solver in solvers:
            solver.compute()
            assert np.abs(solver.velocity).max() > 1e-3
    assert [len(solver.active_tasks) for solver in solvers] == [7, 7]
    levels = [{task.priority for task in solver.active_tasks} for solver in solvers]
    assert levels == [{0, 1, 2}, {0}]


@pytest.mark.skipif(missing_modules(rows_tasks_tsid.TSID) != [], reason='TSID is not installed')
def test_six_tasks_take_the_torques_of_tsid():
    """With limits of velocity that hold some joints back."""
    body = rows_tasks.humanoid()
    solver, torques = rows_tasks_tsid.torques_here(body)
    wanted = rows_tasks_tsid.torques_of_tsid(body)()
    np.testing.assert_allclose(
        torques(), wanted, atol=rows_tasks_tsid.TOLERANCE * np.abs(wanted).max()
    )
    limits = rows_tasks.speed_limits(body)[solver.kinematics.joint_slots]
    assert np.isclose(np.abs(solver.velocity), limits, rtol=1e-4).any()
