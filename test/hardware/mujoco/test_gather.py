"""State of MuJoCo arrives in the body's arrays, in few calls."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from fake_hardware import two_joint_body

from cnoid_control.hardware.mujoco.gather import FEW_PIECES, Part, gathering

MODEL = """
<mujoco>
  <worldbody>
    <body><freejoint/><geom size='.1'/>
      <body pos='0 0 1'><joint name='a'/><geom size='.1'/>
        <body pos='0 0 1'><joint name='b'/><geom size='.1'/></body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def data() -> mujoco.MjData:
    """State with a number of its own at every place."""
    state = mujoco.MjData(mujoco.MjModel.from_xml_string(MODEL))
    state.qpos[:] = 100.0 + np.arange(state.qpos.size)
    state.qvel[:] = 200.0 + np.arange(state.qvel.size)
    state.cvel[:] = 300.0 + np.arange(state.cvel.size).reshape(state.cvel.shape)
    return state


def test_neighbours_are_copied_by_one_call(data: mujoco.MjData) -> None:
    """Of several arrays of the state, and it sees what these are later."""
    body, two = two_joint_body(), np.arange(2)
    calls = gathering(
        body,
        [
            Part(data.qvel, np.array([7, 6]), body.dq, two),
            Part(data.qpos, np.array([7, 8]), body.q, two),
            Part(data.cvel.reshape(-1), np.array([6, 8]), body.u, two),
        ],
    )
    assert len(calls) == 1
    data.qpos[7] = 1.0
    for call in calls:
        call()
    assert body.q.tolist() == [1.0, 108.0]
    assert body.dq.tolist() == [207.0, 206.0]
    assert body.u.tolist() == [306.0, 308.0]


@pytest.mark.parametrize('arrays', [['q', 'u'], ['q', 'u', 'dq_target', 'ki', 'ddq']])
def test_nothing_else_changes(data: mujoco.MjData, arrays: list[str]) -> None:
    """Be the targets few pieces or many, with holes between them."""
    body = two_joint_body()
    parts = [
        Part(data.qpos, np.array([i]), body.joint_arrays[name], np.array([1]))
        for i, name in enumerate(arrays)
    ]
    calls = gathering(body, parts)
    assert len(calls) == (1 if len(arrays) > FEW_PIECES else len(arrays))
    before = body.values.copy()
    for call in calls:
        call()
    for i, name in enumerate(arrays):
        place = body.place_in_values(body.joint_arrays[name]) + 1
        assert body.values[place] == 100.0 + i
        before[place] = body.values[place]
    assert body.values.tolist() == before.tolist()


def test_nothing_is_to_be_done_for_no_joints(data: mujoco.MjData) -> None:
    """A robot without joints, fixed to the world."""
    none = np.zeros(0, dtype=np.intp)
    body = two_joint_body()
    assert gathering(body, [Part(data.qpos, none, body.q, none)]) == []
