"""`cnoid_control faults`: selection, the table and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cnoid_control.cli import faults_command
from cnoid_control.cli.main import main
from cnoid_control.faults.table import FaultResult, to_markdown


def test_faults_of_the_embedded_loop_are_survived(capsys, tmp_path: Path) -> None:
    """The rows asked for are injected, printed as JSON and written as Markdown; status 0."""
    output = tmp_path / 'faults.md'
    words = ['controller raises', 'loops for ever', 'NaN', 'time', 'IMU']
    status = main(['faults', *words, '--where', 'embedded', '--json', '--output', str(output)])
    rows = json.loads(capsys.readouterr().out)
    # A machine that is busy with other tests may be late; everything else must hold.
    late = [row for row in rows if 'later than' in row['outcome'].split(' (attempt')[0]]
    assert [row for row in rows if not row['survived']] == late
    assert status == (1 if late else 0)
    assert {row['fault'] for row in rows} >= {'controller raises', 'joint_states with NaN'}
    keys = ['fault', 'where', 'reaction_ms', 'total_ms', 'as_quick_as', 'attempts', 'survived']
    keys += ['outcome']
    assert [list(row) for row in rows] == [keys] * len(rows)
    assert all(row['attempts'] == 1 for row in rows if row['survived'])
    assert output.read_text().count('\n') == 2 + len(rows)


def test_a_fault_that_is_not_survived_shows(capsys, monkeypatch) -> None:
    """The exit status is 1 and the table says no."""
    bad = FaultResult('meteor', 'embedded', None, False, 'nothing is left')
    monkeypatch.setattr(faults_command, 'collect', lambda where: [('meteor', lambda: bad)])
    assert main(['faults']) == 1
    left = 'nothing is left'
    attempts = f'(attempt 2: {left}; attempt 3: {left})'
    row = f'| meteor | embedded |  |  |  |  | 3 | **no** | {left} {attempts} |'
    assert row in capsys.readouterr().out


def test_only_the_first_attempt_counts(capsys, monkeypatch) -> None:
    """A fault that is survived at the second attempt is not survived: no, and status 1."""
    results = [
        FaultResult('hail', 'embedded', 7.0, False, 'wet'),
        FaultResult('hail', 'embedded', 1.0, True, 'dry'),
    ]
    monkeypatch.setattr(
        faults_command, 'collect', lambda where: [('hail', lambda: results.pop(0))]
    )
    assert main(['faults', '--json']) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert row == {
        'fault': 'hail',
        'where': 'embedded',
        'reaction_ms': 7.0,
        'total_ms': 7.0,
        'as_quick_as': '20 ms (Franka, UR)',
        'attempts': 2,
        'survived': False,
        'outcome': 'wet (attempt 2: survived)',
    }


def test_faults_of_a_gazebo_that_is_not_here_are_skipped_by_name(capsys, monkeypatch) -> None:
    """Each row says what is missing; asked for alone, that is an error."""
    pytest.importorskip('rclpy', reason='needs ROS 2')
    from cnoid_control.faults import gazebo_testbed

    monkeypatch.setattr(gazebo_testbed, 'missing_gazebo', lambda: "no program 'gz'")
    assert main(['faults', 'Gazebo', '--json']) == 0
    out, err = capsys.readouterr()
    rows = json.loads(out)
    assert len(rows) == 4
    for row in rows:
        assert row['where'] == 'gazebo'
        assert (row['survived'], row['attempts'], row['reaction_ms']) == (None, 0, None)
        assert row['outcome'] == "not injected: no program 'gz'"
        assert f"{row['fault']} (gazebo): skipped: not injected: no program 'gz'" in err
    assert main(['faults', 'Gazebo killed']) == 0
    row = "| Gazebo killed | gazebo |  |  |  |  | 0 | skipped | not injected: no program 'gz' |"
    assert row in capsys.readouterr().out
    assert main(['faults', '--where', 'gazebo']) == 1
    assert "faults in Gazebo need it: no program 'gz'" in capsys.readouterr().err


def test_unknown_faults_are_named(capsys) -> None:
    """The message lists the faults that exist."""
    assert main(['faults', 'earthquake']) == 1
    error = capsys.readouterr().err
    assert "unknown fault 'earthquake'" in error
    assert 'controller raises' in error


@pytest.mark.parametrize(
    ('reaction', 'periods', 'shown'),
    [
        (None, None, '|  |  |  |'),
        (1.25, 2, '| 1.2 | 2 | 1.2 |'),
        (40.0, None, '| 40.0 |  | 40.0 |'),
    ],
)
def test_reaction_is_shown_in_milliseconds_and_periods(reaction, periods, shown: str) -> None:
    """Rows without a reaction leave the cells empty."""
    assert shown in to_markdown([FaultResult('x', 'dds', reaction, True, 'y', periods)])
