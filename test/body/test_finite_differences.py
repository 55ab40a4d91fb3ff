"""Dynamics against what positions alone tell: energies and momenta by finite differences."""

import numpy as np
import pytest
from body import reference_recursion as reference
from body.models import shake
from body.test_kinematics import advanced, difference

from cnoid_control.body import (
    Body,
    calc_angular_momentum_jacobian,
    calc_inverse_dynamics,
    calc_mass_matrix,
)


def still_if_fixed(body: Body) -> None:
    """Take the motion of the root away where it is fixed to the world."""
    if body.is_fixed_root:
        for name in ('v', 'w', 'dv', 'dw'):
            setattr(body.root_link, name, np.zeros(3))
        body.calc_forward_kinematics(velocity=True, acceleration=True)


def motions(body: Body):
    """Give the velocity of the centre of mass and the spin of each link by differences."""
    step = 1e-6
    later, before = advanced_or_still(body, step), advanced_or_still(body, -step)
    for link, a, b in zip(body.links, later.links, before.links, strict=True):
        spin = (a.R - b.R) / (2 * step) @ link.R.T
        w = np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]])
        yield link, (a.wc - b.wc) / (2 * step), 0.5 * w


def advanced_or_still(body: Body, time: float) -> Body:
    """Return the body a little later; a root that does not turn has no axis to turn about."""
    if np.linalg.norm(body.root_link.w) > 0.0:
        return advanced(body, time)
    later = body.clone()
    later.q += time * body.dq
    later.dq[:] = body.dq + time * body.ddq
    later.calc_forward_kinematics(velocity=True, acceleration=True)
    return later


def energy_by_differences(body: Body) -> float:
    """Kinetic energy from positions alone; rotors turn with their joints."""
    total = 0.0
    for link, v, w in motions(body):
        total += 0.5 * link.m * v @ v + 0.5 * w @ link.R @ link.I @ link.R.T @ w
    return total + rotor_energy(body)


def energy(body: Body) -> float:
    """Kinetic energy from the links' velocities."""
    total = 0.0
    for link in body.links:
        v = link.v + np.cross(link.w, link.R @ link.c)
        total += 0.5 * link.m * v @ v + 0.5 * link.w @ link.R @ link.I @ link.R.T @ link.w
    return total + rotor_energy(body)


def rotor_energy(body: Body) -> float:
    """Kinetic energy of the rotors."""
    return sum(0.5 * joint.rotor_inertia * joint.dq**2 for joint in body.all_joints)


@pytest.mark.parametrize('seed', range(3))
def test_mass_matrix_gives_the_kinetic_energy(body: Body, seed: int) -> None:
    """Half of the velocities times M times the velocities is the energy of all links."""
    shake(body, seed)
    still_if_fixed(body)
    velocity = np.concatenate([body.root_link.v, body.root_link.w, body.dq])
    velocity = velocity[6:] if body.is_fixed_root else velocity
    found = 0.5 * velocity @ calc_mass_matrix(body) @ velocity
    assert found == pytest.approx(energy_by_differences(body), rel=1e-6)


@pytest.mark.parametrize('seed', range(3))
def test_inverse_dynamics_gives_the_power(body: Body, seed: int) -> None:
    """What efforts and the root's wrench put in is what the kinetic energy gains."""
    shake(body, seed)
    still_if_fixed(body)
    wrench = calc_inverse_dynamics(body.root_link)
    root = body.root_link
    torque = wrench[3:] - reference.cross(root.p) @ wrench[:3]
    power = wrench[:3] @ root.v + torque @ root.w + body.u @ body.dq
    step = 1e-6
    gain = energy(advanced_or_still(body, step)) - energy(advanced_or_still(body, -step))
    assert power == pytest.approx(gain / (2 * step), rel=1e-6, abs=1e-5)


@pytest.mark.parametrize('seed', range(3))
def test_angular_momentum_jacobian_gives_the_momentum(body: Body, seed: int) -> None:
    """Times the velocities it is the angular momentum about the centre of mass."""
    shake(body, seed)
    com = body.calc_center_of_mass().copy()
    momentum = np.zeros(3)
    for link, v, w in motions(body):
        momentum += np.cross(link.wc - com, link.m * v) + link.R @ link.I @ link.R.T @ w
    velocity = np.concatenate([body.dq, body.root_link.v, body.root_link.w])
    found = calc_angular_momentum_jacobian(body) @ velocity
    np.testing.assert_allclose(found, momentum, rtol=1e-6, atol=1e-5)


def test_the_center_of_mass_moves_with_its_velocity(body: Body) -> None:
    """Its velocity is the linear momentum over the mass."""
    linear, _ = body.calc_total_momentum()
    rate = difference(body, lambda later: later.calc_center_of_mass().copy())
    np.testing.assert_allclose(linear / body.mass, rate, atol=1e-6)
