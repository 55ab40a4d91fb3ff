"""The demonstration with G1: how it is judged, what it does without a network, and itself."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cnoid_control.catalog import cached_model
from cnoid_control.demo.g1 import story
from cnoid_control.demo.g1.report import failures, merged, print_table
from cnoid_control.demo.g1.track import Track, limit_row, speed_row
from cnoid_control.demo.robot_sample import Sample


def samples(speed: float, heading: float) -> list[Sample]:
    """A robot that looks and walks into a direction, and leans by 0.2 rad in the middle."""
    found = []
    for time in np.arange(0.0, 4.0, 0.1):
        way = speed * time * np.array([np.cos(heading), np.sin(heading), 0.0])
        turn = np.array([0.0, 0.0, np.sin(0.5 * heading), np.cos(0.5 * heading)])
        if 2.0 <= time < 2.5:
            turn = np.array([np.sin(0.1), 0.0, 0.0, np.cos(0.1)])
        found.append(Sample(time, np.zeros(2), way, turn))
    return found


def test_a_way_is_measured() -> None:
    """Speed along the heading, distance and tilt."""
    track = Track(samples(0.5, 1.0))
    assert track.forward(0.0, 1.95) == pytest.approx(0.5)
    assert track.drift(1.0, 2.0) == pytest.approx(0.5)
    assert track.tilt(0.0, 1.9) == pytest.approx(0.0, abs=1e-6)
    assert track.tilt(0.0, 4.0) == pytest.approx(np.degrees(0.2))
    assert np.isnan(track.forward(5.0, 6.0))


def test_what_is_not_as_expected_is_not_ok() -> None:
    """Too slow, too far, and what could not be measured at all."""
    assert speed_row('walks', 0.4, 0.5).ok
    assert not speed_row('walks', 0.3, 0.5).ok
    assert not speed_row('walks', float('nan'), 0.5).ok
    assert limit_row('leans', 3.0, 15.0, '°').ok
    assert not limit_row('leans', float('nan'), 15.0, '°').ok


def test_a_table_says_what_failed(capsys) -> None:
    """The line is marked, and named for the exit status; cells that one way lacks stay empty."""
    columns = {
        'here': [speed_row('walks', 0.1, 0.5), limit_row('leans', 3.0, 15.0, '°')],
        'there': [limit_row('leans', 4.0, 15.0, '°')],
    }
    print_table(columns)
    printed = {
        line.split('│')[1].strip(): line
        for line in capsys.readouterr().out.splitlines()
        if '│' in line
    }
    assert '0.10 m/s ✗' in printed['walks']
    assert '✗' not in printed['leans']
    assert '4.0 °' in printed['leans']
    assert failures(columns) == ['here: walks']


def test_lines_of_two_tables_keep_their_order() -> None:
    """What only one of them has stands behind what it stands behind there."""
    assert merged([['a', 'b', 'd'], ['a', 'c', 'd', 'e']]) == ['a', 'c', 'b', 'd', 'e']


def demo(out: Path, *words: str, **variables: str) -> subprocess.CompletedProcess:
    """Run it as `make demo-g1` does."""
    command = [sys.executable, '-m', 'cnoid_control.demo.g1', '--out', str(out), *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )


def test_without_network_and_cache_it_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    """One line on the standard error, an exit status that is not 0, and no results."""
    result = demo(
        tmp_path / 'out',
        CNOID_CONTROL_CACHE=str(tmp_path / 'cache'),
        PIP_INDEX_URL='http://127.0.0.1:9/simple',
        PIP_RETRIES='1',
        PIP_CONFIG_FILE=os.devnull,
    )
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith('demo-g1: holosoma 0.0.3 cannot be downloaded: pip reaches no package')
    assert not (tmp_path / 'out').exists()
    assert not [path for path in (tmp_path / 'cache').rglob('*') if path.is_file()]


@pytest.mark.timeout(600)
def test_g1_does_all_of_it(tmp_path: Path) -> None:
    """In one process and through DDS, with the table, the picture, the plot and the logs."""
    pytest.importorskip('rclpy', reason='needs ROS 2')
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    pytest.importorskip('onnxruntime', reason='needs onnxruntime')
    for name in story.NEEDED:
        if cached_model(name) is None:
            pytest.skip(f'{name} is not in the cache: cnoid_control get {name}')
    result = demo(tmp_path, '--dance', '2', '--dds-dance', '1')
    assert result.returncode == 0, result.stdout + result.stderr
    for row in ('walks (SAC)', 'dances', 'node killed', 'stops controllers', 'real-time'):
        assert row in result.stdout
    for name in ('g1.png', 'g1_demo.png', 'g1_demo.yaml', 'log/g1_heartbeat.log'):
        assert (tmp_path / name).stat().st_size > 0
