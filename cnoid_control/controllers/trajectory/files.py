"""Trajectories from files: Klamp't paths, Choreonoid motions and tables."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cnoid_control.body.formats.joint_motion import load_motion
from cnoid_control.controllers.trajectory.exceptions import InvalidTrajectory
from cnoid_control.plugin.mailbox import JointTrajectory

MOTION_SUFFIXES = ('.seq', '.npz', '.yaml', '.yml')


def load_trajectory(path: str | Path, joints: Sequence[str]) -> JointTrajectory:
    """Trajectory from a file, whose kind is told by the end of its name.

    - .seq, .npz: a motion of all joints, at a fixed rate;
    - .csv: a table; a heading `time, JOINT, ...` names the columns, otherwise they are the time
      and the joints in their order;
    - others: Klamp't's lines `t n q1 ... qn`.

    Args:
        path: the file.
        joints: names of the joints, in the order of files that name none.

    Raises:
        InvalidTrajectory: it cannot be read; the message names the file and the line.
        MotionError: it is no motion.
    """
    path = Path(path)
    if path.suffix in MOTION_SUFFIXES:
        motion = load_motion(path)
        times = np.arange(motion.num_frames) / motion.frame_rate
        names, positions = list(joints), motion.q
    else:
        try:
            lines = path.read_text(encoding='utf-8').splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise _file_error(path, 0, str(error)) from error
        read = _read_table if path.suffix == '.csv' else _read_path
        names, table = read(path, lines, joints)
        times, positions = table[:, 0], table[:, 1:]
    if positions.shape[1] != len(names):
        raise _file_error(path, 0, f'moves {positions.shape[1]} joints, expected are {len(names)}')
    return JointTrajectory(names=tuple(names), times=times, positions=positions)


def _read_path(
    path: Path, lines: Sequence[str], joints: Sequence[str]
) -> tuple[list[str], np.ndarray]:
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        words = line.split('#')[0].split()
        if not words:
            continue
        values = _numbers(path, number, words)
        if len(values) < 2 or values[1] != len(values) - 2:
            raise _file_error(path, number, f'expected t n q1 ... qn, got {len(values)} numbers')
        rows.append([values[0], *values[2:]])
    return list(joints), _table(path, rows)


def _read_table(
    path: Path, lines: Sequence[str], joints: Sequence[str]
) -> tuple[list[str], np.ndarray]:
    names = list(joints)
    rows: list[list[float]] = []
    for number, words in enumerate(csv.reader(lines), 1):
        stripped = [word.strip() for word in words]
        if not any(stripped) or stripped[0].startswith('#'):
            continue
        if not rows and stripped[0].lower() in ('t', 'time'):
            names = stripped[1:]
            continue
        rows.append(_numbers(path, number, stripped))
    return names, _table(path, rows)


def _numbers(path: Path, number: int, words: Sequence[str]) -> list[float]:
    try:
        return [float(word) for word in words]
    except ValueError as error:
        raise _file_error(path, number, str(error)) from error


def _table(path: Path, rows: Sequence[Sequence[float]]) -> np.ndarray:
    if not rows:
        raise _file_error(path, 0, 'there are no points')
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise _file_error(path, 0, f'lines have different lengths: {sorted(widths)}')
    return np.array(rows, dtype=float)


def _file_error(path: object, line: int, reason: str) -> InvalidTrajectory:
    """The error about a file that holds no trajectory."""
    where = f'{path}, line {line}' if line else str(path)
    return InvalidTrajectory(f'{where}: {reason}')
