import numpy as np
import pytest
from body.models import mixed, shake, sr1

from cnoid_control.body import Body, JointPath, Rows, calc_link_jacobian, get_joint_path

BENT = {'RARM_SHOULDER_P': 0.4, 'RARM_SHOULDER_R': -0.3, 'RARM_ELBOW': -1.2, 'RLEG_KNEE': 0.8}


def bent_sr1() -> Body:
    """Return SR1 with its right arm and leg bent, away from singular postures."""
    body = sr1()
    for name, angle in BENT.items():
        body.joint(name).q = angle
    body.joint('RLEG_HIP_P').q = -0.4
    body.joint('RLEG_ANKLE_P').q = -0.4
    body.calc_forward_kinematics()
    return body


def test_way_down() -> None:
    """From an ancestor the joints come in the order of the chain, all downward."""
    body = sr1()
    path = get_joint_path(body.link('WAIST'), body.link('RLEG_ANKLE_R'))
    assert [joint.joint_id for joint in path.joints] == [0, 1, 2, 3, 4, 5]
    assert all(path.is_joint_downward(i) for i in range(6))


def test_way_over_an_ancestor() -> None:
    """Between branches the way leads up first, against the joints' direction, then down."""
    body = sr1()
    path = JointPath(body.link('RLEG_HIP_P'), body.link('LLEG_HIP_R'))
    assert [joint.name for joint in path.joints] == ['RLEG_HIP_P', 'RLEG_HIP_R', 'LLEG_HIP_R']
    assert [path.is_joint_downward(i) for i in range(3)] == [False, False, True]
    ids = [joint.joint_id for joint in path.joints_in_id_order]
    assert ids == sorted(ids)


def test_fixed_joints_do_not_count() -> None:
    """Joints without an id are passed but are no joints of the path."""
    body = mixed()
    path = JointPath(body.link('base'), body.link('tool'))
    assert [joint.joint_name for joint in path.joints] == ['shoulder', 'slide', 'wrist']


@pytest.mark.parametrize(
    ('base', 'end'), [('base', 'finger'), ('tail', 'tool'), ('hand', 'base'), ('tool', 'tail')]
)
def test_jacobian_agrees_with_finite_differences(base: str, end: str) -> None:
    """Columns are the motion of the end, seen from a base that stays, prismatic joints too."""
    body = mixed()
    shake(body)
    path = JointPath(body.link(base), body.link(end))
    point = np.array([0.1, 0.2, -0.1])
    J = path.calc_jacobian(local_point=point)
    for column, joint in enumerate(path.joints):
        ends = []
        for step in (1e-6, -1e-6):
            moved = body.clone()
            moved.q[joint.joint_id] += step
            other = JointPath(moved.link(base), moved.link(end))
            other.calc_forward_kinematics()
            np.testing.assert_allclose(moved.link(base).T, body.link(base).T, atol=1e-9)
            ends.append(moved.link(end).T)
        slope = (ends[0] - ends[1]) / 2e-6
        spin = slope[:3, :3] @ body.link(end).R.T
        linear = slope[:3, 3] + slope[:3, :3] @ point
        angular = [spin[2, 1], spin[0, 2], spin[1, 0]]
        np.testing.assert_allclose(J[:, column], [*linear, *angular], atol=1e-6)


def test_jacobian_rows() -> None:
    """The mask picks rows of the Jacobian."""
    body = bent_sr1()
    path = JointPath(body.link('CHEST'), body.link('RARM_WRIST_R'))
    J = path.calc_jacobian()
    assert J.shape == (6, 7)
    np.testing.assert_array_equal(path.calc_jacobian(Rows.X | Rows.WZ), J[[0, 5]])
    whole = calc_link_jacobian(body.link('RARM_WRIST_R'), base=body.link('CHEST'))
    np.testing.assert_array_equal(path.calc_jacobian(Rows.LINEAR), whole[:3, 6:13])


@pytest.mark.parametrize(
    ('base', 'end'),
    [
        ('CHEST', 'RARM_WRIST_R'),
        ('WAIST', 'RLEG_ANKLE_R'),
        ('RLEG_ANKLE_R', 'WAIST'),
        ('RLEG_ANKLE_R', 'RARM_WRIST_R'),
    ],
)
def test_inverse_kinematics_reach_a_pose(base: str, end: str) -> None:
    """The end is brought to a pose that exists, the base stays, q stays near."""
    body = bent_sr1()
    path = JointPath(body.link(base), body.link(end))
    start = path.q
    goal_body = body.clone()
    random = np.random.default_rng(3)
    goal_path = JointPath(goal_body.link(base), goal_body.link(end))
    for joint in goal_path.joints:
        joint.q += 0.15 * random.normal()
    goal_path.calc_forward_kinematics()
    goal = goal_body.link(end).T
    base_pose = body.link(base).T
    assert path.calc_inverse_kinematics(goal)
    np.testing.assert_array_equal(body.link(end).T, goal)
    np.testing.assert_allclose(body.link(base).T, base_pose, atol=1e-9)
    found = body.clone()
    np.testing.assert_allclose(found.link(end).T, goal, atol=1e-6)
    assert np.all(np.abs(path.q - start) <= np.pi)


def test_failure_restores() -> None:
    """A pose out of reach gives False and leaves posture and root as they were."""
    body = bent_sr1()
    for base, end in (('CHEST', 'RARM_WRIST_R'), ('RLEG_ANKLE_R', 'WAIST')):
        before = body.save_state()
        end_pose = body.link(end).T
        goal = end_pose.copy()
        goal[:3, 3] += [5.0, 0.0, 0.0]
        assert not JointPath(body.link(base), body.link(end)).calc_inverse_kinematics(goal)
        after = body.save_state()
        np.testing.assert_array_equal(after.joints['q'], before.joints['q'])
        np.testing.assert_allclose(after.root_q, before.root_q, atol=1e-12)
        np.testing.assert_allclose(body.link(end).T, end_pose, atol=1e-12)


def test_best_effort_keeps_the_nearest() -> None:
    """With best effort a pose out of reach gives False, but the arm points there."""
    body = bent_sr1()
    path = JointPath(body.link('CHEST'), body.link('RARM_WRIST_R'))
    path.best_effort = True
    path.customize_target(
        lambda: np.array([5.0, 0.0, 0.7]) - body.link('RARM_WRIST_R').p,
        lambda: path.calc_jacobian(Rows.LINEAR),
    )
    before = np.linalg.norm(np.array([5.0, 0.0, 0.7]) - body.link('RARM_WRIST_R').p)
    assert not path.calc_inverse_kinematics()
    after = np.linalg.norm(np.array([5.0, 0.0, 0.7]) - body.link('RARM_WRIST_R').p)
    assert after < before


def test_custom_target() -> None:
    """A target of one's own, here the position alone, is reached."""
    body = bent_sr1()
    link = body.link('RARM_WRIST_R')
    path = JointPath(body.link('CHEST'), link)
    goal = link.p + np.array([0.05, 0.05, 0.1])
    path.customize_target(lambda: goal - link.p, lambda: path.calc_jacobian(Rows.LINEAR))
    assert path.calc_inverse_kinematics()
    np.testing.assert_allclose(link.p, goal, atol=1e-6)


def test_limits_are_kept_where_asked() -> None:
    """With the option on, no joint leaves its limits on the way to a goal."""
    body = bent_sr1()
    path = JointPath(body.link('CHEST'), body.link('RARM_WRIST_R'))
    path.within_limits = path.best_effort = True
    goal = body.link('RARM_WRIST_R').T.copy()
    goal[:3, 3] += [0.3, 0.0, 0.4]
    path.calc_inverse_kinematics(goal)
    ids = [joint.joint_id for joint in path.joints]
    assert np.all(path.q >= body.q_lower[ids] - 1e-12)
    assert np.all(path.q <= body.q_upper[ids] + 1e-12)


def test_base_goal_moves_the_base_first() -> None:
    """A goal for the base puts it there, the whole body with it."""
    body = bent_sr1()
    path = JointPath(body.link('WAIST'), body.link('RLEG_ANKLE_R'))
    base_goal = body.link('WAIST').T.copy()
    base_goal[:3, 3] += [0.02, 0.0, -0.03]
    foot = body.link('RLEG_ANKLE_R').T
    path.set_base_link_goal(base_goal)
    assert path.calc_inverse_kinematics(foot)
    np.testing.assert_allclose(body.link('WAIST').T, base_goal, atol=1e-9)
    np.testing.assert_allclose(body.clone().link('RLEG_ANKLE_R').T, foot, atol=1e-6)


def test_misuse_is_refused() -> None:
    """Links of two bodies and a missing goal are refused."""
    one, two = sr1(), sr1()
    with pytest.raises(ValueError, match='different bodies'):
        JointPath(one.root_link, two.root_link)
    with pytest.raises(ValueError, match='custom target'):
        JointPath(one.root_link, one.link('CHEST')).calc_inverse_kinematics()
