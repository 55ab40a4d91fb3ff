"""Policies: what is computed in one piece for speed is what the plain formula says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('onnxruntime', reason='needs onnxruntime')
pytest.importorskip('onnx', reason='needs onnx')

from networks import linear

from cnoid_control.body import load_body
from cnoid_control.controllers.policy.network import Network
from cnoid_control.controllers.policy.observation import _joined
from cnoid_control.controllers.policy.pd_follower import PDFollower

SR1 = 'package://cnoid_control/urdf/sr1.urdf'


def test_efforts_are_those_of_pd_control() -> None:
    """To the bit, whatever the velocity of the root is; gains may change."""
    body, random = load_body(SR1), np.random.default_rng(2)
    follower = PDFollower(body)
    u = np.zeros(body.num_joints)
    for _ in range(3):
        kp, kd, target, body.q, body.dq = random.normal(size=(5, body.num_joints))
        body.root_link.v = random.normal(size=3)
        follower.use(kp, kd)
        follower.q_target[:] = target
        follower.compute(u)
        np.testing.assert_array_equal(u, kp * (target - body.q) - kd * body.dq)


def test_only_neighbours_are_copied_as_one() -> None:
    """Pieces of one array that follow each other are; others are not."""
    whole = np.arange(6.0).reshape(2, 3)
    joined = _joined(whole[0], whole[1])
    assert joined is not None
    assert np.shares_memory(joined, whole)
    np.testing.assert_array_equal(joined, np.arange(6.0))
    assert _joined(whole[1], whole[0]) is None
    assert _joined(whole[0][:2], whole[1]) is None
    assert _joined(whole[:, 0], whole[:, 1]) is None
    assert _joined(whole[0], np.zeros(3)) is None


def test_a_network_runs_where_onnxruntime_has_other_objects_inside(tmp_path: Path) -> None:
    """The public call does the same as the one below it."""
    random = np.random.default_rng(3)
    network = Network(linear(tmp_path / 'policy.onnx', random.normal(size=(4, 6)), np.ones(4)))
    values = random.normal(size=6)
    quick = network(obs=values)['actions']

    class OtherSession:
        """A session without anything but what is documented."""

        def __init__(self, session: object) -> None:
            self.io_binding = session.io_binding
            self.get_outputs = session.get_outputs
            self.run_with_iobinding = session.run_with_iobinding

    network._session = OtherSession(network._session)
    run = network._bind()
    assert run is not None
    network._run = run
    np.testing.assert_array_equal(network(obs=values)['actions'], quick)
