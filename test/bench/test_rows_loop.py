"""The benchmark compares like with like."""

from __future__ import annotations

import numpy as np

from cnoid_control.bench.rows_loop import LinkByLink, hand_written_loop, open_loop
from cnoid_control.runtime.config import load_config


def test_hand_written_loop_does_the_same():
    """MuJoCo by hand, the loop in numpy and the loop joint by joint end in the same state."""
    config = load_config('sr1_pd')
    loops = [open_loop(config)]
    controller = f'{LinkByLink.__module__}:{LinkByLink.__name__}'
    loops.append(open_loop(load_config('sr1_pd', {'controller': controller})))
    for loop in loops:
        for _ in range(501):
            loop.step()
    tick = hand_written_loop()
    for _ in range(500):
        tick()
    data = next(
        cell.cell_contents
        for cell in tick.__closure__
        if type(cell.cell_contents).__name__ == 'MjData'
    )
    for loop in loops:
        np.testing.assert_allclose(loop.hardware.data.qpos, data.qpos, atol=1e-6)
        loop.close()
