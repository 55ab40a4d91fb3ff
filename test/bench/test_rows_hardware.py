import pytest

from cnoid_control.bench.measure import measure
from cnoid_control.bench.rows_hardware import ROWS


@pytest.mark.parametrize('row', ROWS, ids=lambda row: row.name)
def test_rows_of_the_simulated_robot_are_measured(row) -> None:
    """Both sides of each row run, and a ratio comes out."""
    result = measure(row, calls=3, repeats=2)
    assert result.name == row.name
    assert result.ratio > 0.0
    assert result.subject_median > 0.0
