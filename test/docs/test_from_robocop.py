"""The pages on RoboCoP: their programs run, and the tutorial's configuration does what it says."""

import io
import re
from pathlib import Path

import numpy as np
import pytest

from cnoid_control.body import load_body
from cnoid_control.controllers.tasks import BodyVelocityTask, JointVelocityTask, TaskSolver
from cnoid_control.controllers.tasks.sum_solver import SumSolver
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config

DOCS = Path(__file__).resolve().parents[2] / 'docs'


def programs(page):
    """Run the Python of a page from top to bottom; returns its names."""
    names = {}
    text = (DOCS / page).read_text(encoding='utf-8')
    for block in re.findall(r'```python\n(.*?)```', text, re.DOTALL):
        exec(compile(block, page, 'exec'), names)
    return names


def test_the_tutorial_in_python_runs_as_printed():
    """With its own assertions; its control law moves a link the way it should."""
    names = programs('robocop_tutorial.md')
    body = load_body('package://cnoid_control/urdf/arm.urdf')
    body.q[:] = [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]
    solver = TaskSolver(body, body.joint_group('all'), 0.01, names['TransposeSolver']())
    task = solver.create_task(BodyVelocityTask, 'hand', body.link('hand'))
    task.target.set([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])
    solver.compute()
    jacobian = solver.kinematics.jacobian(body.link('hand'))
    assert (jacobian @ solver.velocity)[0] > 0.0


def test_their_classes_written_here_are_the_shipped_ones():
    """The task and the constraint side by side give what ours give."""
    names = programs('from_robocop.md')
    body = load_body('package://cnoid_control/urdf/arm.urdf')
    body.q[:] = [0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]
    wanted = [0.1, 0.05, 0.0, 0.0, 0.2, 0.0]
    velocities = []
    for kind in (names['OwnBodyVelocityTask'], BodyVelocityTask):
        solver = TaskSolver(body, body.joint_group('all'), 0.01, SumSolver())
        solver.create_task(kind, 'hand', body.link('hand')).target.set(wanted)
        solver.compute()
        velocities.append(solver.velocity)
    np.testing.assert_allclose(velocities[0], velocities[1])
    solver = TaskSolver(body, body.joint_group('all'), 0.01, SumSolver())
    solver.create_task(JointVelocityTask, 'v', body.joint_group('all')).target.set([0.5] * 7)
    limit = solver.create_constraint(
        names['OwnJointVelocityConstraint'], 'limit', body.joint_group('all')
    )
    limit.max_velocity[:] = 1.0
    limit.max_velocity[3] = 0.1
    solver.compute()
    np.testing.assert_allclose(solver.velocity, 0.1)


def test_the_shipped_tutorial_follows_its_law():
    """Sum of pseudo-inverses times the smallest ratio, by numpy; the hand comes back."""
    loop = make_loop(load_config('robocop_tutorial'), os=io.StringIO())
    loop.open()
    body = loop.hardware.body
    controller = loop.host.controllers[0].controller
    body.calc_forward_kinematics()
    start = body.link('lwr_hand').p.copy()
    for tick in range(4000):
        loop.step()
        if tick not in (250, 1000, 2000, 2250):
            continue
        tasks = controller.tasks
        jacobian = tasks.kinematics.jacobian(controller.model.link('lwr_hand'))
        wanted = np.linalg.pinv(jacobian) @ tasks.tasks['hand'].target.output
        wanted[6] += tasks.tasks['spin'].target.output[0]
        limits = [0.08, 0.08, 0.08, 0.5, 0.5, 0.5]
        ratios = np.concatenate([limits, [0.5] * 7]) / np.maximum(
            np.abs(np.concatenate([jacobian @ wanted, wanted])), 1e-12
        )
        factor = min(ratios.min(), 1.0)
        np.testing.assert_allclose(tasks.velocity, factor * wanted, atol=1e-9)
        assert tasks.scaling_factor == pytest.approx(factor, abs=1e-9)
        assert factor == pytest.approx(0.8 if tick == 1000 else 1.0, abs=1e-3)
    body.calc_forward_kinematics()
    np.testing.assert_allclose(body.link('lwr_hand').p, start, atol=1e-3)
    loop.close()
