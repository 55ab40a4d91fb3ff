"""What is assumed where a model file leaves something out, or cannot mean what it says."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cnoid_control.body.description import JointType, LinkDescription

# Radius of gyration that a mass without an inertia gets [m].
GYRATION = 0.02

# Mass that the end of a joint gets which has none [kg].
LEAST_END = 0.001


def take_zero_for_unknown(links: Iterable[LinkDescription], warnings: list[str]) -> None:
    """Take limits of 0 for unknown ones, as exporters write them.

    A velocity or effort limit of 0 would mean that the joint never moves. A range from 0 to 0 is
    taken for none only where both limits are 0 as well: alone, it locks the joint on purpose.
    """
    unknown: dict[str, list[str]] = {}
    for link in links:
        if not link.joint_type.has_displacement:
            continue
        no_effort = link.u_lower == link.u_upper == 0.0
        no_velocity = link.dq_lower == link.dq_upper == 0.0
        if no_effort and no_velocity and link.q_lower == link.q_upper == 0.0:
            link.q_lower, link.q_upper = -np.inf, np.inf
            unknown.setdefault('range', []).append(link.joint_name)
        if no_effort:
            link.u_lower, link.u_upper = -np.inf, np.inf
            unknown.setdefault('effort limit', []).append(link.joint_name)
        if no_velocity:
            link.dq_lower, link.dq_upper = -np.inf, np.inf
            unknown.setdefault('velocity limit', []).append(link.joint_name)
    for what, joints in unknown.items():
        listed = ', '.join(joints)
        warnings.append(f'{what} 0 is taken for unknown, and no limit: {listed}')


def complete_inertias(links: Iterable[LinkDescription], warnings: list[str]) -> None:
    """Give links inertias that a body can have.

    Negative moments of links that are fixed to others are slips in the values of covers and
    antennas: they are taken for 0. Those of links that move are raised to a thousandth of the
    largest one. A mass that moves and has no inertia gets that of a ball of the size of a fist.
    """
    for link in links:
        if not np.isfinite(link.inertia).all() or not np.isfinite(link.mass):
            continue
        moments, axes = np.linalg.eigh(link.inertia)
        # A fixed root may be set free.
        if link.joint_type is JointType.FIXED and link.parent is not None:
            if moments[0] < -1e-9 * abs(moments[2]) - 1e-15:
                warnings.append(
                    f'link {link.name!r} has moments of inertia {moments.tolist()}; negative ones '
                    'are taken for 0'
                )
                link.inertia = axes @ np.diag(np.maximum(moments, 0.0)) @ axes.T
            continue
        if link.mass > 0.0 and moments[2] > 0.0 and moments[0] < -1e-9 * moments[2] - 1e-15:
            link.inertia = axes @ np.diag(np.maximum(moments, 1e-3 * moments[2])) @ axes.T
            warnings.append(
                f'link {link.name!r} has moments of inertia {moments.tolist()}, which no solid '
                f'has; negative ones are taken for {1e-3 * moments[2]:.3g} kg m^2'
            )
        # Rounding of a file with zeros counts as zero.
        if link.mass > 0.0 and np.abs(moments).max() < 1e-15:
            link.inertia = link.mass * GYRATION**2 * np.eye(3)
            warnings.append(
                f'link {link.name!r} has a mass of {link.mass:g} kg and no inertia; '
                f'{link.inertia[0, 0]:.3g} kg m^2 are taken'
            )


def complete_masses(links: Iterable[LinkDescription], warnings: list[str]) -> None:
    """Give a gram to what moves and neither has nor carries a mass.

    Its joint could not be moved by any finite force otherwise.
    """
    by_name = {link.name: link for link in links}
    carrying: set[str] = set()
    for link in by_name.values():
        above = link if link.mass > 0.0 else None
        while above is not None and above.name not in carrying:
            carrying.add(above.name)
            above = by_name.get(above.parent or '')
    for link in by_name.values():
        if link.joint_type.has_displacement and link.name not in carrying and link.mass == 0.0:
            link.mass = LEAST_END
            if not link.inertia.any():
                link.inertia = link.mass * GYRATION**2 * np.eye(3)
            warnings.append(
                f'link {link.name!r} moves and has no mass; {LEAST_END:g} kg are taken'
            )


def collide_as_seen(links: Iterable[LinkDescription], warnings: list[str]) -> None:
    """Let the shapes that are seen collide where none does: a floating robot needs to stand."""
    shapes = [shape for link in links for shape in link.shapes]
    if shapes and not any(shape.collision for shape in shapes):
        for shape in shapes:
            shape.collision = True
        warnings.append('there is nothing that collides; what is seen is taken to collide')
