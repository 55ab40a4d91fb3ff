"""A trajectory as a block, after Klamp't's trajectory controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.body import Body
from cnoid_control.controllers.composition.base_controller import BaseController, Message
from cnoid_control.controllers.trajectory.exceptions import InvalidTrajectory
from cnoid_control.controllers.trajectory.files import load_trajectory
from cnoid_control.plugin.mailbox import JointTrajectory


class TrajectoryBlock(BaseController):
    """Puts out the positions and velocities of a trajectory, joined by straight lines.

    The time counts from the first tick. Joints that the trajectory does not name are left alone.
    """

    def __init__(self, trajectory: JointTrajectory, joints: list[str]) -> None:
        """Take a trajectory.

        Args:
            trajectory: the trajectory; its positions and times count.
            joints: names of the robot's joints, by joint id.

        Raises:
            InvalidTrajectory: it has no points, or moves a joint that the robot has not.
        """
        if not len(trajectory.times):
            raise InvalidTrajectory('a trajectory without points')
        unknown = [name for name in trajectory.names if name not in joints]
        if unknown:
            raise InvalidTrajectory(f'the robot has no joint {unknown[0]!r}')
        self._trajectory = trajectory
        self._size = len(joints)
        self._places = [joints.index(name) for name in trajectory.names]
        self._start: float | None = None

    def output(self, **inputs: Any) -> Message:
        """`qcmd` and `dqcmd` of this tick; at rest at the last point behind the end."""
        times, positions = self._trajectory.times, self._trajectory.positions
        time = times[0] + inputs['t'] - (inputs['t'] if self._start is None else self._start)
        q, dq = np.full(self._size, np.nan), np.full(self._size, np.nan)
        right = int(np.searchsorted(times, time, side='right'))
        if right < len(times):
            slope = (positions[right] - positions[right - 1]) / (times[right] - times[right - 1])
            q[self._places] = positions[right - 1] + slope * (time - times[right - 1])
            dq[self._places] = slope
        else:
            q[self._places], dq[self._places] = positions[-1], 0.0
        return {'qcmd': q, 'dqcmd': dq}

    def advance(self, **inputs: Any) -> None:
        """Note the time of the first tick."""
        if self._start is None:
            self._start = inputs['t']

    def signal(self, type: str, **inputs: Any) -> None:
        """Begin anew on 'enter' and 'reset'."""
        if type in ('enter', 'reset'):
            self._start = None


def make(robot: Body, file: Path) -> TrajectoryBlock:
    """Follow the trajectory of a file, see `load_trajectory`.

    Args:
        robot: the robot.
        file: the file; a relative path starts at the configuration's folder.
    """
    names = [joint.joint_name for joint in robot.joints]
    return TrajectoryBlock(load_trajectory(file, names), names)
