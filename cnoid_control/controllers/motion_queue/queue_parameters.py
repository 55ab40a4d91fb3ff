"""Options of the motion queue controller."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cnoid_control.controllers.drive import DriveParameters
from cnoid_control.controllers.drive.feedforward import KINDS
from cnoid_control.parameters import parameter


@dataclass
class QueueItem:
    """One motion of a queue."""

    kind: str = parameter(
        'milestone',
        'what to do',
        choices=('milestone', 'milestone_linear', 'linear', 'cubic', 'velocity', 'wait'),
    )
    q: list[float] = parameter([], 'positions to reach', unit='rad or m')
    dq: list[float] = parameter([], 'velocities there; 0 where empty', unit='rad/s or m/s')
    duration: float = parameter(
        0.0, 'time of a linear, cubic or velocity motion, or of a wait', unit='s', minimum=0.0
    )
    joints: list[str] = parameter([], 'joints it is about; all of the queue where empty')


@dataclass
class QueueParameters(DriveParameters):
    """Which joints move, within which bounds, and what they do first."""

    max_velocity: float | list[float] = parameter(
        math.inf, "speed limit; the model's where that is lower", unit='rad/s or m/s', minimum=0.0
    )
    max_acceleration: float | list[float] = parameter(
        10.0, 'acceleration limit', unit='rad/s^2 or m/s^2', minimum=0.0
    )
    max_jerk: float | list[float] = parameter(
        math.inf, 'jerk limit; infinite for none', unit='rad/s^3 or m/s^3', minimum=0.0
    )
    smooth: bool = parameter(
        False, 'whether linear, cubic and velocity motions keep the acceleration limits too'
    )
    refuse_beyond_limits: bool = parameter(
        False, 'whether goals beyond the limits are refused; they are clamped otherwise'
    )
    feed_rate: float = parameter(
        1.0, 'share of the velocity limits in use; 0 pauses', minimum=0.0, maximum=1.0
    )
    feedforward: str = parameter(
        'none',
        'torques added by the model: none, against gravity, or against inertia as well',
        choices=KINDS,
    )
    queue: dict[str, QueueItem] = parameter(
        {}, 'motions to start with, by name, in the order of the names'
    )
    repeat: int = parameter(1, 'how often these motions are run', minimum=1)
    finish: bool = parameter(False, 'whether the controller is done when the queue is empty')
    sensors: list[str] = parameter([], 'devices to read, for sensor()', read_only=True)
