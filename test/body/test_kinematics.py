import numpy as np
import pytest
from body import reference_recursion as reference
from body.models import mixed, shake, sr1

from cnoid_control.body import Body

STEP = 1e-6


def advanced(body: Body, time: float) -> Body:
    """Return the body a little later, by its velocities alone."""
    later = body.clone()
    later.q += time * body.dq
    root, moved = body.root_link, later.root_link
    moved.p = root.p + time * root.v
    speed = np.linalg.norm(root.w)
    moved.R = reference.rotation(root.w / speed, speed * time) @ root.R
    later.dq[:] = body.dq + time * body.ddq
    moved.v = root.v + time * root.dv
    moved.w = root.w + time * root.dw
    later.calc_forward_kinematics(velocity=True, acceleration=True)
    return later


def difference(body: Body, value) -> np.ndarray:
    """Return the time derivative of a value of the body by central differences."""
    return (value(advanced(body, STEP)) - value(advanced(body, -STEP))) / (2.0 * STEP)


def test_motion_agrees_with_recursion(body: Body) -> None:
    """Pose, velocity and acceleration of every link are those of the plain recursion."""
    for name, motion in reference.motions(body, reference.State.of(body)).items():
        link = body.link(name)
        for quantity in ('p', 'R', 'v', 'w', 'dv', 'dw'):
            np.testing.assert_allclose(
                getattr(link, quantity), getattr(motion, quantity), atol=1e-9, err_msg=name
            )


def test_motion_agrees_with_finite_differences(body: Body) -> None:
    """The velocity v is the derivative of p, and dv, the acceleration of the point, that of v."""
    for link in body.links:
        name = link.name
        v = difference(body, lambda later, name=name: later.link(name).p)
        np.testing.assert_allclose(link.v, v, atol=1e-6, err_msg=name)
        dv = difference(body, lambda later, name=name: later.link(name).v)
        np.testing.assert_allclose(link.dv, dv, atol=1e-6, err_msg=name)
        dw = difference(body, lambda later, name=name: later.link(name).w)
        np.testing.assert_allclose(link.dw, dw, atol=1e-6, err_msg=name)
        spin = difference(body, lambda later, name=name: later.link(name).R) @ link.R.T
        np.testing.assert_allclose(reference.cross(link.w), spin, atol=1e-6, err_msg=name)


def test_center_of_mass(body: Body) -> None:
    """The centre of mass is that of the recursion, and each link's wc is where it should be."""
    com = body.calc_center_of_mass()
    np.testing.assert_allclose(
        com, reference.center_of_mass(body, reference.State.of(body)), atol=1e-9
    )
    np.testing.assert_array_equal(body.center_of_mass, com)
    weighted = sum(link.m * link.wc for link in body.links)
    np.testing.assert_allclose(weighted / body.mass, com, atol=1e-9)


@pytest.mark.parametrize('about', ['world', 'root', 'com'])
def test_total_momentum(body: Body, about: str) -> None:
    """Momentum agrees with the recursion about the world, the root and the centre of mass."""
    points = {
        'world': np.zeros(3),
        'root': body.root_link.p,
        'com': body.calc_center_of_mass(),
    }
    P, L = body.calc_total_momentum(about)
    expected = reference.momentum(body, reference.State.of(body), points[about])
    np.testing.assert_allclose(P, expected[0], atol=1e-9)
    np.testing.assert_allclose(L, expected[1], atol=1e-9)
    velocity = difference(body, lambda later: later.calc_center_of_mass())
    np.testing.assert_allclose(P, body.mass * velocity, atol=1e-5)


def test_momentum_is_about_the_world_by_default() -> None:
    """Without a choice the angular momentum is about the world origin."""
    body = sr1()
    shake(body)
    np.testing.assert_array_equal(
        body.calc_total_momentum()[1], body.calc_total_momentum('world')[1]
    )
    with pytest.raises(ValueError, match='world, root, com'):
        body.calc_total_momentum('waist')


def test_link_values_can_be_set_until_the_next_kinematics() -> None:
    """What is set on a link that is not the root holds until kinematics are run again."""
    body = mixed()
    link = body.link('hand')
    found = link.p.copy()
    link.p = [1.0, 2.0, 3.0]
    link.rotation = ([0.0, 0.0, 1.0], np.pi / 2)
    np.testing.assert_array_equal(link.p, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(link.R @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-12)
    body.calc_forward_kinematics()
    np.testing.assert_allclose(link.p, found)
