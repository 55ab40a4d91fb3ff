import numpy as np
import pytest
from body.models import mixed, shake, sr1

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.exceptions import UnknownJoint, UnknownLink


def with_hole() -> Body:
    """Return a body with joint ids 0 and 2, and a joint without an id."""
    links = [LinkDescription('root', joint_type=JointType.FREE)]
    for name, joint_id in (('a', 2), ('virtual', -1), ('b', 0)):
        links.append(
            LinkDescription(name, 'root', joint_type=JointType.REVOLUTE, joint_id=joint_id)
        )
    return Body(BodyDescription('holes', links))


def test_links_are_in_depth_first_order() -> None:
    """Link indices go to the first child first, then to the sibling."""
    body = mixed()
    assert [link.name for link in body.links][:3] == ['base', 'mount', 'upper']
    assert body.links[-1].name == 'tail'
    assert all(body.link(link.index) is link for link in body.links)


def test_tree_of_links() -> None:
    """Parent, child, sibling and children fit together."""
    body = sr1()
    waist = body.root_link
    assert waist.parent is None
    assert waist.child is body.link('WAIST_P')
    assert waist.child.sibling is body.link('LLEG_HIP_R')
    assert [link.name for link in waist.children] == ['WAIST_P', 'LLEG_HIP_R', 'RLEG_HIP_R']
    assert body.link('RLEG_HIP_R').sibling is None
    assert waist.is_root


def test_holes_and_virtual_joints() -> None:
    """num_joints is the highest id + 1; ids beyond it are the joints without one."""
    body = with_hole()
    assert (body.num_joints, body.num_virtual_joints, body.num_all_joints) == (3, 1, 4)
    assert [joint.name for joint in body.all_joints] == ['b', '', 'a', 'virtual']
    assert body.joint(1).index == -1
    assert body.joint(3).name == 'virtual'
    assert body.joint_names == ['b', '', 'a']
    body.joint('virtual').q = 0.5
    assert body.q.tolist() == [0.0, 0.0, 0.0]


def test_joint_ids_by_name() -> None:
    """Ids come in the order of the names; a joint without one is refused."""
    body = with_hole()
    assert body.joint_ids(['a', 'b']).tolist() == [2, 0]
    with pytest.raises(UnknownJoint, match="'virtual'"):
        body.joint_ids(['a', 'virtual'])


def test_unknown_names() -> None:
    """A link or joint that does not exist is refused with the names that do."""
    body = mixed()
    with pytest.raises(UnknownLink, match='base, mount'):
        body.link('nose')
    with pytest.raises(UnknownLink):
        body.link(99)
    with pytest.raises(UnknownJoint, match='shoulder'):
        body.joint('nose')
    with pytest.raises(UnknownJoint):
        body.joint(-1)


def test_joint_and_arrays_are_one() -> None:
    """What is written to a joint is in the body's array, and the other way round."""
    body = sr1()
    body.joint('CHEST').q = 0.5
    assert body.q[28] == 0.5
    body.u[3] = 7.0
    assert body.joint(3).u == 7.0


def test_links_without_a_joint_have_values_of_their_own() -> None:
    """Joint values of the root and of fixed links are nobody else's, and unlimited."""
    body = mixed()
    before = {name: array.copy() for name, array in body.joint_arrays.items()}
    for link in (body.root_link, body.link('mount')):
        assert (link.q, link.q_upper, link.u_lower) == (0.0, np.inf, -np.inf)
        link.q = link.u = 3.0
        assert link.q == 3.0
    for name, array in body.joint_arrays.items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize('name', ['c', 'I', 'b', 'Rb'])
def test_the_model_cannot_be_changed_through_a_link(name: str) -> None:
    """What clones share is read only."""
    with pytest.raises(ValueError, match='read-only'):
        getattr(mixed().link('mount'), name)[...] = 1.0


def test_clone_is_equal_and_apart() -> None:
    """A clone has the same state, modes and devices, and shares nothing that changes."""
    body = sr1()
    shake(body)
    body.joint(0).actuation_mode = StateFlag.JOINT_VELOCITY
    body.q_upper[4] = 0.1
    body.link('CHEST').F_ext = np.arange(6.0)
    twin = body.clone()
    assert twin.joint(0).actuation_mode is StateFlag.JOINT_VELOCITY
    for name, array in body.joint_arrays.items():
        np.testing.assert_array_equal(array, twin.joint_arrays[name])
        assert not np.shares_memory(array, twin.joint_arrays[name])
    for link in body.links:
        for quantity in ('T', 'v', 'w', 'dv', 'dw', 'F_ext'):
            np.testing.assert_allclose(
                getattr(twin.link(link.name), quantity), getattr(link, quantity), atol=1e-12
            )
    twin.root_link.p = np.zeros(3)
    twin.calc_forward_kinematics()
    assert body.root_link.p.any()
    assert twin.devices[0] is not body.devices[0]
    assert twin.devices[0].link is twin.root_link


def test_state_can_be_restored() -> None:
    """A saved state brings everything back, links included."""
    body = mixed()
    shake(body, seed=1)
    state = body.save_state()
    end = body.link('tail').T
    shake(body, seed=2)
    body.u[:] = 1.0
    body.restore_state(state)
    np.testing.assert_allclose(body.link('tail').T, end, atol=1e-12)
    np.testing.assert_array_equal(body.joint_arrays['u'], state.joints['u'])
    assert not body.u.any()


def test_initial_state() -> None:
    """Initializing the state stops all motion and sets the targets to where the joints are."""
    body = mixed()
    shake(body)
    body.link('tail').F_ext = np.ones(6)
    body.initialize_state()
    assert not body.dq.any()
    assert not body.root_link.v.any()
    assert not body.link('tail').v.any()
    assert not body.link('tail').F_ext.any()
    np.testing.assert_array_equal(body.q_target, body.q)


def test_rotation_setter() -> None:
    """A rotation is set from a matrix, a quaternion, or an axis and an angle."""
    link = sr1().root_link
    half = np.sqrt(0.5)
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    for value in (quarter, [0.0, 0.0, half, half], ([0.0, 0.0, 2.0], np.pi / 2)):
        link.R = np.eye(3)
        link.rotation = value
        np.testing.assert_allclose(link.R, quarter, atol=1e-12)
    with pytest.raises(ValueError, match='quaternion'):
        link.rotation = [1.0, 2.0]
    with pytest.raises(ValueError, match='shape'):
        link.p = [1.0]


def test_pose_setter_of_the_root_is_an_input() -> None:
    """The root's pose is what kinematics start from."""
    body = mixed()
    before = body.link('tail').p.copy()
    pose = body.root_link.T.copy()
    pose[:3, 3] += [1.0, 2.0, 3.0]
    body.root_link.T = pose
    body.calc_forward_kinematics()
    np.testing.assert_allclose(body.link('tail').p - before, [1.0, 2.0, 3.0])


def test_external_forces() -> None:
    """Forces add up with their torque about the world origin, wherever they act."""
    body = sr1()
    shake(body)
    link = body.link('CHEST')
    f, point = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3])
    link.add_external_force_at_global_position(f, point)
    np.testing.assert_allclose(link.F_ext, [*f, *np.cross(point, f)])
    link.F_ext = np.zeros(6)
    link.add_external_force_at_local_position(f, point)
    world = link.p + link.R @ point
    np.testing.assert_allclose(link.F_ext, [*f, *np.cross(world, f)])
    link.add_external_force_at_local_position(f, point)
    np.testing.assert_allclose(link.F_ext[:3], 2.0 * f)


def test_joint_types() -> None:
    """Every link tells what kind of joint holds it."""
    body = mixed()
    assert body.root_link.is_free_joint
    assert body.link('mount').is_fixed_joint
    assert body.link('upper').is_revolute_joint
    assert body.link('tail').is_prismatic_joint
    assert not body.link('tail').is_revolute_joint
