"""Links that move on their own inside a model: tasks on them are refused, not wrong."""

import numpy as np
import pytest

from cnoid_control.body import Body, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.controllers.tasks import (
    BodyVelocityTask,
    ComTask,
    JointVelocityTask,
    MomentumTask,
    TaskSolver,
)
from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.qp_solver import QpSolver


@pytest.fixture
def body():
    """A fixed base with a lever on it, and a cart beside it that carries another one."""

    def lever(name, parent, joint_id):
        return LinkDescription(
            name, parent=parent, joint_type=JointType.REVOLUTE, joint_id=joint_id
        )

    links = [
        LinkDescription('base'),
        lever('near', 'base', 0),
        LinkDescription('cart', parent='base', joint_type=JointType.FREE),
        lever('far', 'cart', 1),
    ]
    return Body(BodyDescription('pair', links))


@pytest.mark.parametrize('kind', ['cart', 'far', ComTask, MomentumTask])
def test_what_a_free_joint_moves_is_refused_by_name(body, kind):
    """Its Jacobian would be that of a link which is fixed to its parent."""
    solver = TaskSolver(body, body.joint_group('all'), 0.01, QpSolver())
    if isinstance(kind, str):
        solver.add_task(BodyVelocityTask('t', body.link(kind)))
    else:
        solver.add_task(kind('t'))
    with pytest.raises(TaskError, match="'cart'"):
        solver.compute()


def test_joints_and_other_links_are_moved_as_ever(body):
    """The free link beside them changes nothing."""
    solver = TaskSolver(body, body.joint_group('all'), 0.01, QpSolver())
    solver.add_task(JointVelocityTask('j', body.joint_group('all'))).target.set([0.0, 0.3])
    turn = solver.add_task(BodyVelocityTask('t', body.link('near')))
    turn.selection = np.eye(6)[5]
    turn.priority = 0
    turn.target.set(0.2 * np.eye(6)[5])
    solver.tasks['j'].selection = np.array([0.0, 1.0])
    solver.compute()
    np.testing.assert_allclose(solver.velocity, [0.2, 0.3], atol=1e-5)
