"""Programs that do not start: the parameter file, the line and the reason are named."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from cnoid_control.ros.start import CannotStart, init_ros

MIXED = '/**:\n  ros__parameters:\n    robot: {model: arm.urdf}\n    scale: [0.25, 1]\n'
COLON = '/**:\n  ros__parameters:\n    observations: [height, mine.py:tilt]\n'


@pytest.mark.parametrize(
    ('text', 'place', 'remedy'),
    [
        (MIXED, ', line 4: ', 'write decimals for all of its numbers'),
        (COLON, ', line 3: ', "needs quotes: ['file.py:function']"),
        ('', ': ', 'there is no such file'),
    ],
    ids=['mixed numbers', 'colon', 'no file'],
)
def test_a_file_that_ros_cannot_read_is_named(
    text: str, place: str, remedy: str, tmp_path: Path
) -> None:
    """With what to write instead."""
    file = tmp_path / 'wrong.yaml'
    if text:
        file.write_text(text)
    with pytest.raises(CannotStart) as caught:
        init_ros(['it', '--ros-args', '--params-file', str(file)])
    assert str(caught.value).startswith(f'{file}{place}')
    assert remedy in str(caught.value)


def test_other_arguments_are_told_in_ros_words() -> None:
    """What cannot be explained is passed on."""
    with pytest.raises(CannotStart, match='a list has values of several types'):
        init_ros(['it', '--ros-args', '-p', 'a:=[1, 2.0]'])
    with pytest.raises(CannotStart, match=r'ROS does not start: .*nonsense'):
        init_ros(['it', '--ros-args', '--nonsense'])


@pytest.mark.parametrize(
    'module',
    [
        'cnoid_control.ros.node.control_node',
        'cnoid_control.ros.sim.node',
        'cnoid_control.ros.heartbeat',
    ],
)
def test_programs_say_it_and_end(module: str, start_process, tmp_path: Path) -> None:
    """One line, no traceback, exit status 1."""
    file = tmp_path / 'wrong.yaml'
    file.write_text(MIXED)
    process = start_process(module, '--ros-args', '--params-file', str(file))
    assert process.wait(60) == 1
    said = process.log_path.read_text()
    assert f'{file}, line 4: a list has values of several types' in said
    assert 'Traceback' not in said
