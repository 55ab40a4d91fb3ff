"""Between trajectory messages and plain data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from trajectory_msgs.msg import JointTrajectoryPoint

from cnoid_control.plugin.mailbox import JointTrajectory
from cnoid_control.plugin.trajectory_goal import JointTolerance, TrajectoryStatus

FIELDS = ('positions', 'velocities', 'accelerations', 'effort')


def seconds(time: Any) -> float:
    """Seconds of a builtin_interfaces Time or Duration."""
    return float(time.sec) + 1e-9 * float(time.nanosec)


def to_trajectory(message: Any) -> JointTrajectory:
    """Plain data of a trajectory_msgs/JointTrajectory; ragged points are padded with NaN.

    A field is taken as given where any point has it, so that a point that lacks it shows as not
    a number instead of as nothing.
    """
    width = len(message.joint_names)
    fields = {}
    for name in FIELDS:
        rows = [np.asarray(getattr(point, name), dtype=float) for point in message.points]
        if not any(row.size for row in rows):
            fields[name] = np.zeros((0, 0))
            continue
        columns = max(width, *(row.size for row in rows))
        fields[name] = np.full((len(rows), columns), np.nan)
        for target, row in zip(fields[name], rows, strict=True):
            target[: row.size] = row
    return JointTrajectory(
        stamp=seconds(message.header.stamp),
        names=tuple(message.joint_names),
        times=np.array([seconds(point.time_from_start) for point in message.points]),
        positions=fields['positions'],
        velocities=fields['velocities'],
        accelerations=fields['accelerations'],
        efforts=fields['effort'],
    )


def to_tolerances(messages: Iterable[Any]) -> dict[str, JointTolerance]:
    """Tolerances by joint, from control_msgs/JointTolerance messages."""
    return {
        message.name: JointTolerance(message.position, message.velocity) for message in messages
    }


def start_in(message: Any, now: float) -> float:
    """Time from now until a trajectory's time 0 [s]; a stamp of zero means now."""
    stamp = seconds(message.header.stamp)
    return stamp - now if stamp != 0.0 else 0.0


def fill_points(status: TrajectoryStatus, desired: Any, actual: Any, error: Any) -> None:
    """Fill three trajectory_msgs/JointTrajectoryPoint with what is wanted, is, and the rest."""
    desired.positions = status.q.tolist()
    desired.velocities = status.dq.tolist()
    desired.accelerations = status.ddq.tolist()
    actual.positions = status.q_actual.tolist()
    actual.velocities = status.dq_actual.tolist()
    error.positions = (status.q - status.q_actual).tolist()
    error.velocities = (status.dq - status.dq_actual).tolist()
    for point in (desired, actual, error):
        _set_duration(point, status.time)


def _set_duration(point: JointTrajectoryPoint, time: float) -> None:
    nanoseconds = round(time * 1e9)
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(nanoseconds, 10**9)
