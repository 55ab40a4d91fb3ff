"""Puts messages and configured motions into a motion queue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from cnoid_control.controllers.motion_queue.exceptions import InvalidDuration, WrongSize
from cnoid_control.controllers.motion_queue.queue_parameters import QueueItem
from cnoid_control.plugin.messages import JointTrajectory

if TYPE_CHECKING:
    from cnoid_control.controllers.motion_queue_controller import MotionQueueController


def add_items(controller: MotionQueueController, items: Iterable[QueueItem]) -> None:
    """Append configured motions.

    Raises:
        MotionRefused: one of them cannot be done.
    """
    for item in items:
        joints = item.joints or None
        if item.kind == 'milestone':
            controller.add_milestone(item.q, item.dq or None, joints)
        elif item.kind == 'milestone_linear':
            controller.add_milestone_linear(item.q, joints)
        elif item.kind == 'linear':
            controller.add_linear(item.q, item.duration, joints)
        elif item.kind == 'cubic':
            dq = item.dq or np.zeros(len(item.q))
            controller.add_cubic(item.q, dq, item.duration, joints)
        elif item.kind == 'velocity':
            controller.add_velocity(item.dq, item.duration, joints)
        else:
            controller.add_wait(item.duration)


def take_trajectory(
    controller: MotionQueueController, message: JointTrajectory, append: bool
) -> None:
    """Run a trajectory: one point without time is a milestone, timed points are joined.

    Points with velocities are joined by cubics, others by straight lines.

    Args:
        controller: the controller whose queue is to run it.
        message: the points.
        append: whether to wait for the end of the queue; otherwise it starts now.

    Raises:
        MotionRefused: it cannot be run; the queue is as it was.
    """
    names = tuple(message.names)
    positions = np.atleast_2d(message.positions)
    if positions.shape[1:] != (len(names),):
        raise WrongSize('trajectory', positions.tolist(), positions.shape[-1], len(names))
    count = len(positions)
    times = np.asarray(message.times, dtype=float)
    velocities: list[np.ndarray | None] = [None] * count
    if np.size(message.velocities):
        velocities = list(np.atleast_2d(message.velocities))
    if count == 1 and not times.any():
        milestone = controller.add_milestone if append else controller.set_milestone
        milestone(positions[0], velocities[0], names)
        return
    if times.shape != (count,):
        raise WrongSize('times of the trajectory', times.tolist(), times.size, count)
    with controller.queue.all_or_nothing():
        last = 0.0
        for time, q, dq in zip(times, positions, velocities, strict=True):
            if time == 0.0 and last == 0.0:
                # The point to start from: the queue starts where it is.
                continue
            if not time > last:
                raise InvalidDuration('trajectory', time - last, '> 0 between points')
            if dq is None:
                linear = controller.add_linear if append else controller.set_linear
                linear(q, time - last, names)
            else:
                cubic = controller.add_cubic if append else controller.set_cubic
                cubic(q, dq, time - last, names)
            last, append = time, True
