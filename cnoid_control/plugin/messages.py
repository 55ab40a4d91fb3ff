"""What the outside may tell a controller while it runs: plain data, no ROS.

Embedded runs and tests post these by hand; the ROS node makes them from topics and services.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Message:
    """Base of all messages.

    Attributes:
        stamp: time that the sender gave it [s]; 0 for none.
    """

    stamp: float = 0.0


@dataclass(frozen=True)
class Trigger(Message):
    """Something has happened; it carries nothing."""


@dataclass(frozen=True)
class Value(Message):
    """A number."""

    value: float = 0.0


@dataclass(frozen=True)
class Twist(Message):
    """A velocity: linear [m/s] and angular [rad/s], in the axes of the link or frame `frame`."""

    frame: str = ''
    linear: np.ndarray = field(default_factory=lambda: np.zeros(3))
    angular: np.ndarray = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class Pose(Message):
    """A pose in the link or frame `frame`; empty or 'world' for the world, shape (4, 4)."""

    frame: str = ''
    T: np.ndarray = field(default_factory=lambda: np.eye(4))


@dataclass(frozen=True)
class JointValues(Message):
    """Values of joints by name [rad, rad/s, N m] or [m, m/s, N]; an empty array says nothing."""

    names: tuple[str, ...] = ()
    position: np.ndarray = field(default_factory=lambda: np.zeros(0))
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(0))
    effort: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class JointTrajectory(Message):
    """Points for joints by name.

    Attributes:
        names: joints, in the order of the columns.
        times: time of each point from the start [s], shape (points,).
        positions, velocities, accelerations, efforts: shape (points, joints); empty for none.
    """

    names: tuple[str, ...] = ()
    times: np.ndarray = field(default_factory=lambda: np.zeros(0))
    positions: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    velocities: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    accelerations: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    efforts: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
