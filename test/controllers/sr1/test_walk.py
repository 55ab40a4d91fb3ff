from __future__ import annotations

import io

import numpy as np
import pytest

from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config


@pytest.mark.parametrize('mode', ['torque', 'position', 'velocity'])
def test_sr1_walks(mode: str) -> None:
    """SR1 walks 0.45 m straight ahead, stays upright, and the motion ends the run."""
    loop = make_loop(load_config('sr1_walk', {'sr1_walk.mode': mode}), os=io.StringIO())
    outcome = loop.run()
    body = loop.hardware.body
    assert outcome.exit == 'finished'
    x, y, z = body.root_link.p
    assert x == pytest.approx(0.45, abs=0.02)
    assert abs(y) < 0.03
    assert z > 0.65
    assert body.root_link.R[2, 2] > np.cos(np.radians(3.0))


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'motion': 'waltz'}, "'waltz' is neither a file nor in"),
        ({'motion': 'sr1_walk_1'}, 'sr1_walk_1 moves 29 joints, arm has 7'),
    ],
)
def test_motion_that_does_not_fit_is_refused(options: dict[str, str], message: str) -> None:
    """A missing motion or one for another robot is named."""
    messages = io.StringIO()
    config = load_config('pd', {'controller': 'sr1_walk', 'sr1_walk': options})
    assert make_loop(config, os=messages).run(0.01).exit == 'failed'
    assert message in messages.getvalue()
