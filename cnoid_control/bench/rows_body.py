"""Kinematics of a body against the same calls of pinocchio made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pinocchio as pin

from cnoid_control.bench.row import BenchRow, Work
from cnoid_control.body import load_body

SR1 = 'package://cnoid_control/urdf/sr1.urdf'


@contextmanager
def forward_kinematics() -> Iterator[tuple[Work, Work]]:
    """SR1 in motion: links' positions and velocities, and the centre of mass."""
    body = load_body(SR1)
    random = np.random.default_rng(0)
    body.q[:] = 0.3 * random.normal(size=body.num_joints)
    body.dq[:] = random.normal(size=body.num_joints)
    body.root_link.w = random.normal(size=3)
    model, data = body.model, body.model.createData()
    q, v = body.pin_q().copy(), body.pin_v().copy()

    def ours() -> None:
        body.calc_forward_kinematics(velocity=True)
        body.calc_center_of_mass()

    def by_hand() -> None:
        pin.forwardKinematics(model, data, q, v)
        pin.centerOfMass(model, data, pin.POSITION, False)

    yield ours, by_hand


ROWS = (
    BenchRow(
        name='body_kinematics',
        subject='SR1: forward kinematics with velocity, and the centre of mass',
        reference='the two pinocchio calls on vectors that are ready',
        make=forward_kinematics,
        kind='time',
        comparison='<=',
        goal=1.5,
        calls=2000,
        why='of the 1 µs beyond pinocchio 0.25 turn the velocity of the root into its own axes, '
        '0.2 put the joints into the order of pinocchio, 0.1 keep the centre of mass from being '
        'written to, and the rest are the two calls of methods: how much that is of 1.7 µs is '
        'decided by the processor',
    ),
)
