"""The arm that picks a box up: what is carried where, and what is refused."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from controllers.runs import main_controller, open_loop

from cnoid_control.controllers.samples.pick_and_place import PickAndPlaceController
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.loop import ControlLoop


def run_until(loop: ControlLoop, stage: str) -> bool:
    """Run until a stage begins, at most 20 s; False where the controller ended before."""
    controller = main_controller(loop)
    while controller.report()['stage'] != stage:
        if not loop.step() or loop.hardware.time > 20.0:
            return False
    return True


def box_pose(loop: ControlLoop) -> tuple[np.ndarray, np.ndarray]:
    """Place and axes of the box."""
    hardware: Any = loop.hardware
    box = hardware.data.body('object/box')
    return box.xpos.copy(), box.xmat.reshape(3, 3).copy()


def test_box_is_carried_to_the_shelf() -> None:
    """It hangs in the gripper without slipping, and stands upright where it was to be put."""
    loop = open_loop('pick_and_place')
    start, _ = box_pose(loop)
    assert run_until(loop, 'lift')
    np.testing.assert_allclose(box_pose(loop)[0], start, atol=2e-3)
    fingers = [loop.hardware.body.link(f'{side}_finger').q for side in ('left', 'right')]
    # Half the width of the box each.
    np.testing.assert_allclose(fingers, 0.025, atol=1e-3)
    assert run_until(loop, 'carry')
    np.testing.assert_allclose(box_pose(loop)[0], start + np.array([0.0, 0.0, 0.2]), atol=3e-3)
    assert run_until(loop, 'put down')
    np.testing.assert_allclose(box_pose(loop)[0], [0.1, -0.45, 0.44], atol=6e-3)
    while loop.step():
        assert loop.hardware.time < 20.0
    place, axes = box_pose(loop)
    np.testing.assert_allclose(place, [0.1, -0.45, 0.24], atol=5e-3)
    assert axes[2, 2] > 0.999
    loop.close()


def test_weak_grip_leaves_the_box_behind() -> None:
    """Held by friction alone, the box stays where the fingers press too little for its weight."""
    # 2 mu N must carry 0.3 kg; the effort of the first finger is shared by both.
    loop = open_loop('pick_and_place', pick_and_place__grip_effort=1.0)
    assert run_until(loop, 'carry')
    assert box_pose(loop)[0][2] == pytest.approx(0.04, abs=2e-3)
    loop.close()


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'pick': [1.5, 0.0, 0.1]}, 'pick: to reach, the hand cannot get to'),
        ({'place': [0.1, -0.45, 2.0]}, 'place: to carry, the hand cannot get to'),
        ({'hand': 'claw'}, "has no link 'claw'; "),
        ({'fingers': []}, 'fingers: at least one is needed'),
    ],
)
def test_what_cannot_be_done_is_refused(changes: dict[str, Any], words: str) -> None:
    """The option is named, before anything moves."""
    given = {f'pick_and_place.{key}': value for key, value in changes.items()}
    messages = io.StringIO()
    summary = make_loop(load_config('pick_and_place', given), os=messages).run(0.01)
    assert summary.exit == 'failed'
    assert words in summary.reason + messages.getvalue()


def test_motion_is_smooth() -> None:
    """The commands have no steps: joints change by less than their speed limits allow."""
    loop = open_loop('pick_and_place')
    controller = main_controller(loop)
    assert isinstance(controller, PickAndPlaceController)
    for before, after in zip(controller.stages, controller.stages[1:], strict=False):
        np.testing.assert_allclose(before.posture(1e9), after.posture(0.0), atol=1e-9)
    last = np.array([link.q_target for link in controller.arm])
    limit = np.array([link.dq_upper for link in controller.arm]) * loop.hardware.time_step
    while loop.step():
        now = np.array([link.q_target for link in controller.arm])
        assert np.all(np.abs(now - last) <= limit)
        last = now
    loop.close()
