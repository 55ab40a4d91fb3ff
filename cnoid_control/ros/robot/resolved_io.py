"""Topics and command controllers resolved for one IORequest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cnoid_control.hardware.hardware import IORequest
from cnoid_control.ros.robot.command_controllers import CommandPlan
from cnoid_control.ros.robot.device_readers import TopicReader


@dataclass(frozen=True)
class ResolvedIO:
    """Everything that was found for a request, ready to be used by the loop.

    Attributes:
        request: what was asked for.
        needed: indices of the joints whose positions must be known.
        known: indices of the joints whose positions are known; None for all.
        velocity_by_difference: whether velocities come from positions and stamps.
        reads_effort: whether measured efforts are read.
        runs_kinematics: whether poses of links are read.
        readers: the topics that are polled.
        plan: the takers of commands.
    """

    request: IORequest
    needed: np.ndarray
    known: np.ndarray | None
    velocity_by_difference: bool
    reads_effort: bool
    runs_kinematics: bool
    readers: tuple[TopicReader, ...]
    plan: CommandPlan
