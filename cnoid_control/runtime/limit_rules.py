"""The intervals that commands must lie in, by the rules of ros2_control's joint_limits.

All arrays have one element a joint. An unknown (NaN) state or previous command takes no part.
"""

from __future__ import annotations

import numpy as np

from cnoid_control.runtime.joint_limits import JointLimits

Interval = tuple[np.ndarray, np.ndarray]


def position_interval(
    limits: JointLimits, previous: np.ndarray, dq: np.ndarray, dt: float, recovery: float
) -> Interval:
    """Where a position command may lie [rad] or [m].

    It stays in the position limits and within one period's way from the previous command, at the
    speed limit or at the speed that the acceleration limit lets it reach. From outside the
    position limits there is one way only: back in, at the recovery speed.

    Args:
        limits: limits of the joints.
        previous: positions commanded last.
        dq: measured velocities.
        dt: time since the last command [s].
        recovery: speed of the way back in [rad/s] or [m/s].
    """
    reached = np.abs(dq) + limits.ddq_max * dt
    fastest = np.fmin(limits.dq_upper, reached)
    slowest = np.fmax(limits.dq_lower, -reached)
    lower = np.fmax(limits.q_lower, previous + slowest * dt)
    upper = np.fmin(limits.q_upper, previous + fastest * dt)
    if limits.are_soft:
        soft_lower, soft_upper = _soft_speeds(limits, previous)
        lower, upper = _narrow(
            lower, upper, previous + soft_lower * dt, previous + soft_upper * dt
        )
    above = previous > limits.q_upper
    below = previous < limits.q_lower
    if above.any() or below.any():
        way = np.fmin(recovery, limits.dq_upper) * dt
        back_down = np.fmax(limits.q_upper, previous - way)
        back_up = np.fmin(limits.q_lower, previous + way)
        lower = np.where(above, back_down, np.where(below, back_up, lower))
        upper = np.where(above, back_down, np.where(below, back_up, upper))
    return lower, upper


def velocity_interval(
    limits: JointLimits, previous: np.ndarray, q: np.ndarray, dt: float, recovery: float
) -> Interval:
    """Where a velocity command may lie [rad/s] or [m/s].

    It stays in the speed limits, does not leave the position limits within one period, and
    changes no faster than the acceleration limit, unless the position limits ask for more. From
    outside the position limits there is one way only: back in, at the recovery speed.

    Args:
        limits: limits of the joints.
        previous: velocities commanded last.
        q: measured positions.
        dt: time since the last command [s].
        recovery: speed of the way back in [rad/s] or [m/s].
    """
    to_lower = (limits.q_lower - q) / dt
    to_upper = (limits.q_upper - q) / dt
    lower = np.fmax(limits.dq_lower, to_lower)
    upper = np.fmin(limits.dq_upper, to_upper)
    if limits.are_soft:
        lower, upper = _narrow(lower, upper, *_soft_speeds(limits, q))
    change = limits.ddq_max * dt
    lower, upper = _narrow(lower, upper, previous - change, previous + change)
    above = q > limits.q_upper
    below = q < limits.q_lower
    if above.any() or below.any():
        speed = np.fmin(recovery, limits.dq_upper)
        back_down = np.fmax(to_upper, -speed)
        back_up = np.fmin(to_lower, speed)
        lower = np.where(above, back_down, np.where(below, back_up, lower))
        upper = np.where(above, back_down, np.where(below, back_up, upper))
    return lower, upper


def effort_interval(limits: JointLimits, q: np.ndarray, dq: np.ndarray) -> Interval:
    """Where an effort command may lie [N m] or [N].

    It stays in the effort limits, and is cut to what does not push further where the joint is at
    a position limit and not leaving it, or is faster than its speed limit.

    Args:
        limits: limits of the joints.
        q: measured positions.
        dq: measured velocities.
    """
    no_lower = ((q <= limits.q_lower) & (dq <= 0.0)) | (dq < limits.dq_lower)
    no_upper = ((q >= limits.q_upper) & (dq >= 0.0)) | (dq > limits.dq_upper)
    lower = np.where(no_lower, 0.0, limits.u_lower)
    upper = np.where(no_upper, 0.0, limits.u_upper)
    if limits.are_soft and limits.k_velocity.any():
        soft_lower, soft_upper = _soft_speeds(limits, q)
        braked = (limits.k_position > 0.0) & (limits.k_velocity > 0.0)
        with np.errstate(invalid='ignore'):
            least = np.where(braked, -limits.k_velocity * (dq - soft_lower), -np.inf)
            most = np.where(braked, -limits.k_velocity * (dq - soft_upper), np.inf)
        lower, upper = _narrow(lower, upper, least, most)
    return lower, upper


def _narrow(lower: np.ndarray, upper: np.ndarray, least: np.ndarray, most: np.ndarray) -> Interval:
    """The part of an interval that is in another one as well; its nearest end where none is."""
    return np.fmin(np.fmax(least, lower), upper), np.fmax(np.fmin(most, upper), lower)


def _soft_speeds(limits: JointLimits, position: np.ndarray) -> Interval:
    """Speeds that bring a joint to its soft limits gently; those of the hard limits elsewhere."""
    soft = limits.k_position > 0.0
    with np.errstate(invalid='ignore'):
        lower = np.where(soft, -limits.k_position * (position - limits.soft_lower), -np.inf)
        upper = np.where(soft, -limits.k_position * (position - limits.soft_upper), np.inf)
    return (
        np.fmin(np.fmax(lower, limits.dq_lower), limits.dq_upper),
        np.fmin(np.fmax(upper, limits.dq_lower), limits.dq_upper),
    )
