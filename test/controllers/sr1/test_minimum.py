from __future__ import annotations

import io

import numpy as np
from controllers.runs import open_loop, run_for

from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config


def test_sr1_stands() -> None:
    """SR1 keeps every joint within 0.01 rad and its body upright."""
    loop = open_loop('sr1_pd', rate=500.0)
    body = loop.hardware.body
    posture = body.q.copy()
    worst, upright = 0.0, 1.0
    for _ in range(2500):
        loop.step()
        worst = max(worst, float(np.abs(body.q - posture).max()))
        upright = min(upright, float(body.root_link.R[2, 2]))
    loop.close()
    assert worst < 0.01
    assert upright > np.cos(np.radians(1.5))
    np.testing.assert_allclose(body.root_link.p, [0.003, 0.0, 0.708], atol=0.003)


def test_run_repeats_to_the_last_bit() -> None:
    """Two runs of the whole loop end in the same bits."""
    ends = []
    for _ in range(2):
        loop = open_loop('sr1_pd')
        run_for(loop, 0.3)
        ends.append(loop.hardware.body.q.tobytes() + loop.hardware.body.root_q.tobytes())
        loop.close()
    assert ends[0] == ends[1]


def test_another_robot_is_refused() -> None:
    """A robot with another number of joints is named, not driven with SR1's gains."""
    messages = io.StringIO()
    config = load_config('pd', {'controller': 'sr1_minimum'})
    outcome = make_loop(config, os=messages).run(0.01)
    assert outcome.exit == 'failed'
    assert 'SR1 has 29 joints, arm 7' in messages.getvalue()
