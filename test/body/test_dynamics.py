import numpy as np
from body import reference_recursion as reference
from body.models import mixed, shake, sr1

from cnoid_control.body import Body, calc_inverse_dynamics, calc_mass_matrix

UP = np.array([0.0, 0.0, 9.8])


def generalized_force(body: Body, dv, dw, ddq, g=None) -> np.ndarray:
    """Return [force, torque about the root's origin, efforts] of the plain recursion."""
    state = reference.State.of(body)
    state.dv = np.asarray(dv, dtype=float) + (0.0 if g is None else g)
    state.dw = np.asarray(dw, dtype=float)
    by_id = dict(zip([joint.name for joint in body.joints], ddq, strict=True))
    for joint in body.all_joints:
        mimic = joint.description.mimic
        leader = joint if mimic is None else body.joint(mimic.joint)
        factor = 1.0 if mimic is None else mimic.multiplier
        state.ddq[joint.name] = factor * by_id[leader.name]
    efforts, needed = reference.inverse_dynamics(body, state)
    wrench = needed[body.root_link.name]
    force = wrench[:3]
    torque = wrench[3:] - np.cross(body.root_link.p, force)
    joint_efforts = [_with_followers(body, joint, efforts) for joint in body.joints]
    return np.concatenate([force, torque, joint_efforts])


def _with_followers(body: Body, joint, efforts) -> float:
    total = efforts[joint.name]
    for other in body.all_joints:
        mimic = other.description.mimic
        if mimic is not None and mimic.joint == joint.joint_name:
            total += mimic.multiplier * efforts[other.name]
    return total


def test_mass_matrix_agrees_with_unit_accelerations(body: Body) -> None:
    """Columns of M and the bias are those that the plain recursion finds, rotors once."""
    M, b = calc_mass_matrix(body, UP)
    size = 6 + body.num_joints
    first = 6 if body.is_fixed_root else 0
    zero = np.zeros(body.num_joints)
    bias = generalized_force(body, [0, 0, 0], [0, 0, 0], zero, UP)
    np.testing.assert_allclose(b, bias[first:], atol=1e-9)
    expected = np.zeros((size, size))
    for column in range(size):
        unit = np.zeros(size)
        unit[column] = 1.0
        needed = generalized_force(body, unit[:3], unit[3:6], unit[6:], UP)
        expected[:, column] = needed - bias
    np.testing.assert_allclose(M, expected[first:, first:], atol=1e-9)
    np.testing.assert_array_equal(calc_mass_matrix(body), M)


def test_inverse_dynamics_agrees_with_recursion(body: Body) -> None:
    """Efforts and the wrench on the root, with external forces, are those of the recursion."""
    random = np.random.default_rng(1)
    body.root_link.dv = body.root_link.dv + UP
    for link in body.links[::2]:
        link.F_ext = 10.0 * random.normal(size=6)
    wrench = calc_inverse_dynamics(body.root_link)
    state = reference.State.of(body)
    efforts, needed = reference.inverse_dynamics(body, state, body.external_wrenches)
    np.testing.assert_allclose(wrench, needed[body.root_link.name], atol=1e-9)
    expected = [_with_followers(body, joint, efforts) for joint in body.joints]
    np.testing.assert_allclose(body.u, expected, atol=1e-9)


def test_inverse_dynamics_from_any_link(body: Body) -> None:
    """Begun at a link, only the efforts from there on are written; the wrench is on that link."""
    calc_inverse_dynamics(body.root_link)
    everything = body.u.copy()
    _, needed = reference.inverse_dynamics(body, reference.State.of(body))
    for link in body.links:
        body.u[:] = -1.0
        wrench = calc_inverse_dynamics(link)
        np.testing.assert_allclose(wrench, needed[link.name], atol=1e-9, err_msg=link.name)
        ancestors = {id(joint) for joint in _with_descendants(link)}
        for joint in body.joints:
            expected = everything[joint.joint_id] if id(joint) in ancestors else -1.0
            assert joint.u == expected


def _with_descendants(link) -> list:
    found = [link]
    for child in link.children:
        found += _with_descendants(child)
    return found


def test_equation_of_motion_closes(body: Body) -> None:
    """M [dv, dw, ddq] + b is what inverse dynamics needs for the same motion."""
    root = body.root_link
    if body.is_fixed_root:
        for name in ('v', 'w', 'dv', 'dw'):
            setattr(root, name, np.zeros(3))
    first = 6 if body.is_fixed_root else 0
    body.calc_forward_kinematics(velocity=True)
    M, b = calc_mass_matrix(body, UP)
    motion = np.concatenate([root.dv, root.dw, body.ddq])
    root.dv = root.dv + UP
    wrench = calc_inverse_dynamics(root)
    force = np.concatenate([wrench[:3], wrench[3:] - np.cross(root.p, wrench[:3]), body.u])
    np.testing.assert_allclose(M @ motion[first:] + b, force[first:], atol=1e-9)


def test_weight_at_rest() -> None:
    """A robot at rest needs its weight upward at the centre of mass."""
    body = sr1()
    body.root_link.dv = UP
    wrench = calc_inverse_dynamics(body.root_link)
    weight = body.mass * UP
    np.testing.assert_allclose(wrench[:3], weight, atol=1e-9)
    np.testing.assert_allclose(wrench[3:], np.cross(body.calc_center_of_mass(), weight), atol=1e-9)


def test_rotor_is_counted_once() -> None:
    """A rotor adds its inertia to the diagonal of M and to the effort, once."""
    with_rotor = mixed()
    without = mixed()
    for link in without.tree.links:
        link.rotor_inertia = 0.0
    bare = Body(without.description)
    shake(with_rotor)
    shake(bare)
    extra = calc_mass_matrix(with_rotor) - calc_mass_matrix(bare)
    expected = np.zeros(6 + bare.num_joints)
    expected[6 + with_rotor.joint('shoulder').joint_id] = 0.3
    expected[6 + with_rotor.joint('wag').joint_id] = 0.2
    np.testing.assert_allclose(extra, np.diag(expected), atol=1e-9)
    calc_inverse_dynamics(with_rotor.root_link)
    calc_inverse_dynamics(bare.root_link)
    np.testing.assert_allclose(with_rotor.u - bare.u, expected[6:] * bare.ddq, atol=1e-9)
