"""MJCF robots of others, where they are in the cache, against MuJoCo itself."""

from __future__ import annotations

import numpy as np
import pytest
from mjcf_reference import MujocoReference

from cnoid_control.body.formats.load import load_body
from cnoid_control.catalog.models import cached_model

ROBOTS = ('g1', 'go1', 'yam', 'g1_holosoma', 't1')


@pytest.mark.parametrize('name', ROBOTS)
def test_published_robot_agrees_with_mujoco(name):
    """Mass, CoM, poses, Jacobians, mass matrix and inverse dynamics are MuJoCo's to 1e-9."""
    path = cached_model(name)
    if path is None:
        pytest.skip(f'{name} is not in the cache: cnoid_control get {name}')
    body = load_body(path)
    reference = MujocoReference(body)
    rng = np.random.default_rng(7)
    for _ in range(5):
        reference.check(rng)
