import numpy as np
import pytest
from body.models import mixed, sr1

from cnoid_control.body.exceptions import ModelError, UnknownJoint


def test_all_joints_are_a_group() -> None:
    """The group 'all' always exists and has every joint in the order of the ids."""
    body = sr1()
    group = body.joint_group('all')
    assert group.joint_names == body.joint_names
    assert group.dofs == 29
    np.testing.assert_array_equal(body.q[group.ids], body.q)


def test_selection_matrices() -> None:
    """Vectors go from group to group by name: missing joints are zero, others are dropped."""
    body = mixed()
    wide = body.add_joint_group('wide', ['slide', 'wrist', 'wag'])
    narrow = body.add_joint_group('narrow', ['wag', 'shoulder', 'slide'])
    picked = narrow.selection_matrix_from(wide) @ [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(picked, [3.0, 0.0, 1.0])
    np.testing.assert_array_equal(
        wide.selection_matrix_to(narrow), narrow.selection_matrix_from(wide)
    )
    assert 'wag' in wide
    assert body.joint('shoulder') not in wide


def test_free_root_has_six_rows() -> None:
    """A joint with several degrees of freedom takes several rows, in their order."""
    body = mixed()
    whole = body.add_joint_group('whole', ['wag', 'base', 'grip'])
    root = body.add_joint_group('root', ['base'])
    assert whole.dofs == 8
    assert whole.rows_of('base') == slice(1, 7)
    found = root.selection_matrix_from(whole) @ np.arange(8.0)
    np.testing.assert_array_equal(found, np.arange(1.0, 7.0))


def test_groups_are_cloned() -> None:
    """A clone has the same groups, of its own joints."""
    body = mixed()
    body.add_joint_group('arm', ['slide', 'wrist'])
    twin = body.clone()
    assert twin.joint_group('arm').joints == [twin.joint('slide'), twin.joint('wrist')]


def test_bad_groups_are_refused() -> None:
    """Unknown groups and joints, joints twice and joints that do not move are refused."""
    body = mixed()
    with pytest.raises(ModelError, match='choose from: all'):
        body.joint_group('legs')
    with pytest.raises(UnknownJoint, match='shoulder'):
        body.add_joint_group('a', ['elbow'])
    with pytest.raises(UnknownJoint):
        body.add_joint_group('a', ['mounting'])
    with pytest.raises(ModelError):
        body.add_joint_group('a', ['wag', 'wag'])
    with pytest.raises(ModelError):
        body.add_joint_group('all', ['wag'])
    with pytest.raises(UnknownJoint, match='wag'):
        body.joint_group('all').rows_of('elbow')
