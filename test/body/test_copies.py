"""Calls that copy and note whole arrays."""

import numpy as np
import pytest

from cnoid_control.body.copies import copy_call, noting_call


def block(rows: int = 4, columns: int = 3) -> np.ndarray:
    """Different numbers."""
    return np.arange(rows * columns, dtype=float).reshape(rows, columns)


@pytest.mark.parametrize(
    'part',
    [np.s_[:, :], np.s_[1:3], np.s_[0], np.s_[:, 1], np.s_[::2], np.s_[1:1], np.s_[2, :0]],
    ids=['all', 'rows', 'row', 'column', 'every other row', 'no row', 'nothing'],
)
def test_a_copy_is_of_all_numbers_that_are_there_when_it_is_called(part) -> None:
    """Whatever the arrays' strides are; and of nothing else."""
    source, target, expected = block(), np.full((4, 3), np.nan), np.full((4, 3), np.nan)
    copy = copy_call(target[part], source[part])
    source += 100.0
    source[0, 0] = -0.0
    copy()
    expected[part] = source[part]
    np.testing.assert_array_equal(target, expected)
    assert target.tobytes() == expected.tobytes(), 'signs of zeros'


def test_a_copy_between_other_strides() -> None:
    """A column to a row."""
    source, target = block(3, 3), np.zeros((3, 3))
    copy_call(target[1], source[:, 2])()
    assert target.tolist() == [[0.0] * 3, [2.0, 5.0, 8.0], [0.0] * 3]


def test_arrays_of_other_shapes_are_not_copied() -> None:
    """Too many numbers, or too few, are an error."""
    with pytest.raises(ValueError, match='structure'):
        copy_call(np.zeros(3), np.zeros(2))()


def test_what_was_noted_stays_as_it_was() -> None:
    """Notes are in the order of the calls; an array without elements adds nothing."""
    notes, array = bytearray(), np.zeros(2)
    note, note_none = noting_call(notes, array), noting_call(notes, array[:0])
    for value in (1.0, 2.0):
        array[:] = value, -value
        note()
        note_none()
    assert np.frombuffer(notes).tolist() == [1.0, -1.0, 2.0, -2.0]
