"""The soak test: it runs, tells by its exit status, and knows a trend from a burst."""

import random
import subprocess
import sys
from pathlib import Path

import pytest


def short_soak(root: Path, *words: str) -> str:
    """Return what two seconds of it print."""
    command = [sys.executable, str(root / 'tools' / 'soak.py'), *words, '--duration', '2']
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode in (0, 1, 2), done.stderr
    return done.stdout


def test_it_runs_for_as_long_as_asked(root: Path) -> None:
    """A short soak prints how memory and late ticks went; memory stays flat."""
    printed = short_soak(root, '--embedded')
    assert 'memory grew by' in printed
    growth = float(printed.split('memory grew by ')[1].split()[0])
    assert growth < 1.0


def test_it_runs_through_dds(root: Path) -> None:
    """With the robot and the node in processes of their own."""
    pytest.importorskip('rclpy', reason='needs ROS 2')
    assert 'memory grew by' in short_soak(root)


@pytest.fixture
def soak(root: Path, monkeypatch: pytest.MonkeyPatch):
    """Return the program as a module."""
    monkeypatch.syspath_prepend(str(root / 'tools'))
    import soak

    return soak


@pytest.fixture
def grows(soak):
    """Return the test for a trend."""
    return soak.grows


RISING = [10 * n for n in range(20)]
FLAT = [3, 1] * 10


@pytest.mark.parametrize(
    ('growth', 'late', 'missed', 'status'),
    [
        (0.1, FLAT, FLAT, 0),
        (1.0, FLAT, FLAT, 1),
        (0.1, RISING, FLAT, 1),
        (0.1, RISING, RISING, 0),
        (0.1, [3 * n for n in RISING], RISING, 2),
        (1.0, [3 * n for n in RISING], RISING, 1),
    ],
)
def test_the_machine_is_told_from_the_loop(soak, growth, late, missed, status) -> None:
    """A trend that timers with nothing to do have, too, is none of the loop's."""
    assert soak.judge(growth, late, missed) == status


@pytest.mark.parametrize(
    ('counts', 'trend'),
    [
        ([0] * 20, False),
        ([0] * 19 + [5000], False),
        ([5000, 3000] + [1] * 18, False),
        (list(range(20)), True),
        (list(range(20, 0, -1)), False),
        ([2, 1, 3, 2, 4, 3, 5, 4, 6, 5, 7, 6, 8, 7, 9, 8, 10, 9, 11, 10], True),
        ([0] * 10 + [3] * 10, True),
    ],
)
def test_a_trend_is_known_from_a_burst(grows, counts: list[int], trend: bool) -> None:
    """Counts that rise are a trend; one burst is none, nor are counts that fall."""
    assert grows(counts) is trend


def test_chance_is_seldom_taken_for_a_trend(grows) -> None:
    """Of counts that have none, one in a hundred seems to have one."""
    numbers = random.Random(1)
    seen = sum(grows([numbers.randrange(8) for _ in range(20)]) for _ in range(2000))
    assert seen < 40
