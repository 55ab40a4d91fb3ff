"""Trajectories from files, and how closely they are followed with torques by the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from controllers.arm import NAMES, make_loop

from cnoid_control.body.formats.joint_motion import JointMotion
from cnoid_control.controllers.trajectory import TrajectoryController
from cnoid_control.controllers.trajectory.exceptions import InvalidTrajectory
from cnoid_control.controllers.trajectory.files import load_trajectory
from cnoid_control.runtime.exceptions import NoControllerLeft

TIMES = np.linspace(0.0, 1.0, 11)
POSITIONS = np.column_stack([0.6 * np.sin(3 * TIMES), 0.3 * TIMES**2])


def write(tmp_path: Path, kind: str) -> Path:
    """File of the same trajectory in a format."""
    path = tmp_path / {'klampt': 'swing.path', 'csv': 'a.csv', 'bare': 'b.csv'}.get(kind, 'm.npz')
    rows = list(zip(TIMES, POSITIONS, strict=True))
    if kind == 'klampt':
        lines = [f'{t:.17g}\t2\t{q[0]:.17g} {q[1]:.17g}' for t, q in rows]
        path.write_text('# a swing\n' + '\n'.join(lines))
    elif kind == 'csv':
        lines = [f'{t:.17g}, {q[1]:.17g}, {q[0]:.17g}' for t, q in rows]
        path.write_text('\n'.join(['time, elbow, shoulder', *lines]))
    elif kind == 'bare':
        path.write_text('\n'.join(f'{t:.17g},{q[0]:.17g},{q[1]:.17g}' for t, q in rows))
    else:
        JointMotion(POSITIONS, 10.0).save(path)
    return path


@pytest.mark.parametrize('kind', ['klampt', 'csv', 'bare', 'motion'])
def test_every_format_gives_the_same_trajectory(tmp_path: Path, kind: str) -> None:
    """Times and positions come back, columns by the names that the file gives."""
    trajectory = load_trajectory(write(tmp_path, kind), NAMES)
    order = [trajectory.names.index(name) for name in NAMES]
    np.testing.assert_allclose(trajectory.times, TIMES, atol=1e-12)
    np.testing.assert_allclose(trajectory.positions[:, order], POSITIONS, atol=1e-7)


@pytest.mark.parametrize(
    ('name', 'text', 'words'),
    [
        ('a.path', '0 2 0.1 0.2\n1 3 0.1 0.2', 'line 2: expected t n q1'),
        ('a.path', '0 2 0.1 x', "line 1: could not convert string to float: 'x'"),
        ('a.path', '\n\n', 'there are no points'),
        ('a.path', '0 1 0.1', 'moves 1 joints, expected are 2'),
        ('a.csv', '0,1,2\n1,2', 'different lengths'),
        ('missing.csv', None, 'No such file'),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, text: str, words: str) -> None:
    """The message names the file, the line and what is wrong."""
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InvalidTrajectory, match=words) as caught:
        load_trajectory(tmp_path / name, NAMES)
    assert name in str(caught.value)


def follow(path: Path, feedforward: str) -> float:
    """Largest error while following a file with soft gains against gravity."""
    controller = TrajectoryController()
    options = {'file': str(path), 'finish': True, 'kp': 60.0, 'kd': 6.0}
    loop = make_loop(controller, {**options, 'feedforward': feedforward}, gravity=9.80665)
    worst = 0.0
    while loop.step():
        status = controller.mailbox.status
        worst = max(worst, float(np.abs(status.q - status.q_actual).max()))
    assert loop.hardware.time == pytest.approx(1.0, abs=0.02)
    return worst


def test_torques_by_the_model_make_following_tighter(tmp_path: Path) -> None:
    """With inverse dynamics the error is a fraction; the run ends with the file."""
    path = write(tmp_path, 'klampt')
    without, gravity, dynamics = (follow(path, kind) for kind in ('none', 'gravity', 'dynamics'))
    assert dynamics < 0.3 * without
    assert gravity < without


def test_a_missing_file_is_refused_at_the_start() -> None:
    """The controller does not get as far as the first tick."""
    with pytest.raises(NoControllerLeft, match='nowhere'):
        make_loop(TrajectoryController(), {'file': 'nowhere'})
