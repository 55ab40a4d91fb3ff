"""Rows noted as bytes hold the arrays, whatever lies between these in memory."""

from __future__ import annotations

import numpy as np
import pytest
from fake_hardware import two_joint_body

from cnoid_control.body.value_rows import ValueRows


@pytest.mark.parametrize(
    'names', [('q',), ('q', 'dq'), ('q_target', 'q'), ('kd', 'root_motion', 'u'), ()]
)
def test_rows_are_in_the_given_order(names: tuple[str, ...]) -> None:
    """One behind the other, as they were when they were noted."""
    body = two_joint_body()
    arrays = [getattr(body, name).reshape(-1) for name in names]
    rows = ValueRows(body, arrays)
    noted, expected = [], []
    for tick in range(3):
        body.values[:] = np.arange(body.values.size) + 100.0 * tick
        noted.append(rows.note())
        expected.append(np.concatenate([np.zeros(0), *arrays]))
    body.values[:] = 0.0
    assert rows.width == sum(array.size for array in arrays)
    np.testing.assert_array_equal(rows.decode(noted, 3), expected)


def test_what_is_noted_behind_a_row_stays_there() -> None:
    """Numbers of other memory."""
    body = two_joint_body()
    body.q[:], body.u[:] = (1.0, 2.0), (3.0, 4.0)
    rows = ValueRows(body, [body.u, body.q])
    noted = [rows.note() + np.array([9.0]).tobytes() for _ in range(2)]
    assert rows.decode(noted, 2).tolist() == [[3.0, 4.0, 1.0, 2.0, 9.0]] * 2
