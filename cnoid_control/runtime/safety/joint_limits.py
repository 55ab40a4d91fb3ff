"""Limits of the joints, and the largest steps that keep them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cnoid_control.body import Body, Link
from cnoid_control.parameters import not_allowed, parameter, unknown_option

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
    braked = (limits.k_position > 0.0) & (limits.k_velocity > 0.0)
    if braked.any():
        soft_lower, soft_upper = _soft_speeds(limits, q)
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


# A smaller limit is implausible, and is not obeyed.
SMALLEST = 1e-6


@dataclass
class JointLimitParameters:
    """Limits of one joint; infinite means what the model says.

    The names are those of ros2_control's joint limits.
    """

    enabled: bool = parameter(True, 'whether the joint is limited at all')
    min_position: float = parameter(-math.inf, 'lower position limit', unit='rad or m')
    max_position: float = parameter(math.inf, 'upper position limit', unit='rad or m')
    max_velocity: float = parameter(math.inf, 'speed limit', unit='rad/s or m/s', minimum=SMALLEST)
    max_acceleration: float = parameter(
        math.inf, 'acceleration limit', unit='rad/s^2 or m/s^2', minimum=SMALLEST
    )
    max_effort: float = parameter(math.inf, 'effort limit', unit='N m or N', minimum=SMALLEST)
    max_stiffness: float = parameter(
        math.inf, 'largest kp of a PID actuator', unit='N m/rad or N/m', minimum=SMALLEST
    )
    max_damping: float = parameter(
        math.inf, 'largest kd of a PID actuator', unit='N m s/rad or N s/m', minimum=SMALLEST
    )
    soft_lower_limit: float = parameter(-math.inf, 'where braking begins', unit='rad or m')
    soft_upper_limit: float = parameter(math.inf, 'where braking begins', unit='rad or m')
    k_position: float = parameter(0.0, 'speed per distance to a soft limit', minimum=0.0)
    k_velocity: float = parameter(0.0, 'effort per excess of that speed', minimum=0.0)


@dataclass(frozen=True)
class JointLimits:
    """Limits of all joints, infinite for none, each of shape (num_joints,) in joint-id order.

    Attributes:
        q_lower, q_upper: position [rad] or [m].
        dq_lower, dq_upper: velocity [rad/s] or [m/s].
        ddq_max: acceleration [rad/s^2] or [m/s^2].
        u_lower, u_upper: effort [N m] or [N].
        kp_max, kd_max: gains of PID actuators [N m/rad] or [N/m], [N m s/rad] or [N s/m].
        soft_lower, soft_upper: position where braking begins [rad] or [m].
        k_position: speed allowed per distance to a soft limit [1/s]; 0 for no soft limit.
        k_velocity: effort allowed per excess of that speed [N m s/rad] or [N s/m]; 0 for any.
        notes: what was found wrong with the model's limits, one sentence each.
    """

    q_lower: np.ndarray
    q_upper: np.ndarray
    dq_lower: np.ndarray
    dq_upper: np.ndarray
    ddq_max: np.ndarray
    u_lower: np.ndarray
    u_upper: np.ndarray
    kp_max: np.ndarray
    kd_max: np.ndarray
    soft_lower: np.ndarray
    soft_upper: np.ndarray
    k_position: np.ndarray
    k_velocity: np.ndarray
    notes: list[str] = field(default_factory=list)

    def take(self, joints: np.ndarray) -> JointLimits:
        """Limits of some joints only, in the order of their ids given."""
        arrays = {
            item.name: getattr(self, item.name)[joints]
            for item in dataclasses.fields(self)
            if item.name != 'notes'
        }
        return JointLimits(**arrays)

    def slower(self, share: float) -> JointLimits:
        """The same with a share of the speed limits; joints without one have none."""
        if share == 1.0:
            return self
        return dataclasses.replace(
            self,
            dq_lower=np.where(np.isfinite(self.dq_lower), self.dq_lower * share, self.dq_lower),
            dq_upper=np.where(np.isfinite(self.dq_upper), self.dq_upper * share, self.dq_upper),
        )

    @property
    def are_soft(self) -> bool:
        """Whether any joint has a soft limit."""
        return bool(self.k_position.any())

    @property
    def limit_acceleration(self) -> bool:
        """Whether any joint has an acceleration limit."""
        return bool(np.isfinite(self.ddq_max).any())


def find_joint_limits(
    body: Body,
    joints: dict[str, JointLimitParameters],
    max_velocity: float = math.inf,
    max_acceleration: float = math.inf,
    max_effort: float = math.inf,
    max_stiffness: float = math.inf,
    max_damping: float = math.inf,
) -> JointLimits:
    """Limits of a body's joints.

    An implausible limit of the model (a speed or effort of zero, a lower position that is
    not below the upper one, a number that is none) is left out and noted. What the configuration
    gives for a joint takes the place of the model's value; the limits for all joints only tighten.

    Args:
        body: the robot.
        joints: what the configuration says, by joint name.
        max_velocity: speed limit for all joints [rad/s] or [m/s].
        max_acceleration: acceleration limit for all joints [rad/s^2] or [m/s^2].
        max_effort: effort limit for all joints [N m] or [N].
        max_stiffness: limit of kp for all joints [N m/rad] or [N/m].
        max_damping: limit of kd for all joints [N m s/rad] or [N s/m].

    Raises:
        ParameterError: a joint of the configuration does not exist, or its position limits are
            none.
    """
    limits = model_limits(body)
    index = {joint.joint_name: joint.joint_id for joint in body.joints if joint.name}
    for name, given in joints.items():
        if name not in index:
            raise unknown_option(f'limits.joints.{name}', index)
        _override(limits, index[name], given)
        lower, upper = limits.q_lower[index[name]], limits.q_upper[index[name]]
        if not lower < upper and (given.min_position, given.max_position) != (-math.inf, math.inf):
            raise not_allowed(
                f'limits.joints.{name}',
                [float(lower), float(upper)],
                'min_position must be below max_position',
            )
    _leave_out_unusable(limits, body)
    limits.dq_lower[:] = np.maximum(limits.dq_lower, -max_velocity)
    limits.dq_upper[:] = np.minimum(limits.dq_upper, max_velocity)
    limits.ddq_max[:] = np.minimum(limits.ddq_max, max_acceleration)
    limits.u_lower[:] = np.maximum(limits.u_lower, -max_effort)
    limits.u_upper[:] = np.minimum(limits.u_upper, max_effort)
    limits.kp_max[:] = np.minimum(limits.kp_max, max_stiffness)
    limits.kd_max[:] = np.minimum(limits.kd_max, max_damping)
    for name, given in joints.items():
        if not given.enabled:
            _set_free(limits, index[name])
    return limits


def model_limits(body: Body) -> JointLimits:
    """Limits that a body's model gives, as they are."""
    count = body.num_joints
    limits = JointLimits(
        q_lower=body.q_lower.copy(),
        q_upper=body.q_upper.copy(),
        dq_lower=body.dq_lower.copy(),
        dq_upper=body.dq_upper.copy(),
        ddq_max=np.full(count, np.inf),
        u_lower=body.u_lower.copy(),
        u_upper=body.u_upper.copy(),
        kp_max=np.full(count, np.inf),
        kd_max=np.full(count, np.inf),
        soft_lower=np.full(count, -np.inf),
        soft_upper=np.full(count, np.inf),
        k_position=np.zeros(count),
        k_velocity=np.zeros(count),
    )
    for joint in body.joints:
        commands = joint.description.command_limit
        if joint.name and commands is not None:
            _tighten(limits, joint, commands.intervals)
        soft = joint.description.soft_limit
        if joint.name and soft is not None:
            limits.soft_lower[joint.joint_id] = soft.lower
            limits.soft_upper[joint.joint_id] = soft.upper
            limits.k_position[joint.joint_id] = soft.k_position
            limits.k_velocity[joint.joint_id] = soft.k_velocity
    return limits


def _tighten(
    limits: JointLimits, joint: Link, intervals: Mapping[str, tuple[float, float]]
) -> None:
    """Limit the commands to a joint further; alone where the model's limits are unusable."""
    index = joint.joint_id
    arrays = {
        'position': (limits.q_lower, limits.q_upper),
        'velocity': (limits.dq_lower, limits.dq_upper),
        'effort': (limits.u_lower, limits.u_upper),
    }
    for name, (least, most) in intervals.items():
        if not _is_usable(name, least, most):
            limits.notes.append(
                f'{name} limit [{least:g}, {most:g}] in the ros2_control tag of joint '
                f'{joint.joint_name!r} is implausible and left out'
            )
        elif name == 'acceleration':
            limits.ddq_max[index] = min(-least, most)
        else:
            lower, upper = arrays[name]
            if not _is_usable(name, lower[index], upper[index]):
                lower[index], upper[index] = -math.inf, math.inf
            lower[index] = max(least, lower[index])
            upper[index] = min(most, upper[index])


def _is_usable(kind: str, lower: float, upper: float) -> bool:
    return lower < upper if kind == 'position' else lower < 0.0 < upper


def _override(limits: JointLimits, joint: int, given: JointLimitParameters) -> None:
    for array, value in (
        (limits.q_lower, given.min_position),
        (limits.q_upper, given.max_position),
        (limits.dq_lower, -given.max_velocity),
        (limits.dq_upper, given.max_velocity),
        (limits.ddq_max, given.max_acceleration),
        (limits.u_lower, -given.max_effort),
        (limits.u_upper, given.max_effort),
        (limits.kp_max, given.max_stiffness),
        (limits.kd_max, given.max_damping),
        (limits.soft_lower, given.soft_lower_limit),
        (limits.soft_upper, given.soft_upper_limit),
    ):
        if math.isfinite(value):
            array[joint] = value
    if given.k_position > 0.0:
        limits.k_position[joint] = given.k_position
    if given.k_velocity > 0.0:
        limits.k_velocity[joint] = given.k_velocity


def _leave_out_unusable(limits: JointLimits, body: Body) -> None:
    names = np.array(body.joint_names)
    named = names != ''
    for kind, lower, upper in (
        ('position', limits.q_lower, limits.q_upper),
        ('velocity', limits.dq_lower, limits.dq_upper),
        ('effort', limits.u_lower, limits.u_upper),
    ):
        usable = lower < upper
        if kind != 'position':
            usable &= (lower < 0.0) & (upper > 0.0)
        for joint in np.flatnonzero(named & ~usable):
            value = f'[{lower[joint]:g}, {upper[joint]:g}]'
            limits.notes.append(
                f'{kind} limit {value if kind == "position" else f"{upper[joint]:g}"} of joint '
                f'{str(names[joint])!r} is implausible and left out; give one under '
                'limits.joints'
            )
        lower[~usable] = -np.inf
        upper[~usable] = np.inf
        missing = names[named & usable & np.isinf(lower) & np.isinf(upper)]
        if missing.size:
            limits.notes.append(f'no {kind} limit is known for: {", ".join(missing)}')
    soft = (limits.k_position > 0.0) & (limits.soft_lower < limits.soft_upper)
    limits.k_position[~soft] = 0.0
    limits.soft_lower[:] = np.clip(limits.soft_lower, limits.q_lower, limits.q_upper)
    limits.soft_upper[:] = np.clip(limits.soft_upper, limits.q_lower, limits.q_upper)


def _set_free(limits: JointLimits, joint: int) -> None:
    for array in (limits.q_lower, limits.dq_lower, limits.u_lower, limits.soft_lower):
        array[joint] = -np.inf
    for array in (limits.q_upper, limits.dq_upper, limits.u_upper, limits.soft_upper):
        array[joint] = np.inf
    for array in (limits.ddq_max, limits.kp_max, limits.kd_max):
        array[joint] = np.inf
    limits.k_position[joint] = 0.0
    limits.k_velocity[joint] = 0.0
