"""The last gate before the robot: commands are finite and within limits, whatever made them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cnoid_control.body import Body, StateFlag
from cnoid_control.body.channels import (
    DAMPING,
    EFFORT,
    INTEGRAL,
    POSITION,
    STIFFNESS,
    VELOCITY,
    JointChannel,
)
from cnoid_control.body.copies import copy_call
from cnoid_control.parameters import not_allowed, parameter
from cnoid_control.plugin.limit_counts import LimitCounts
from cnoid_control.runtime.safety.joint_limits import (
    Interval,
    JointLimitParameters,
    find_joint_limits,
)
from cnoid_control.runtime.safety.limit_rules import (
    CLAMP_KINDS,
    CommandGroup,
    DampingGroup,
    EffortGroup,
    ImplausibleCommand,
    IntegralGroup,
    PositionGroup,
    StiffnessGroup,
    VelocityGroup,
    plausible_interval,
)

GROUPS: tuple[tuple[JointChannel, type[CommandGroup]], ...] = (
    (POSITION, PositionGroup),
    (VELOCITY, VelocityGroup),
    (EFFORT, EffortGroup),
    (DAMPING, DampingGroup),
    (INTEGRAL, IntegralGroup),
    (STIFFNESS, StiffnessGroup),
)

Call = Callable[[], object]

# Bound once: looking it up takes time in every tick.
greater_equal = np.greater_equal

# A controller that takes over may be far from where it wants to be: it may ask for so much more
# than others as long as a small part of it counts.
BLEND_MARGIN = 10.0
# How fast a scale that was raised takes effect [1/s].
SCALE_RISE = 0.5
# Speed limits follow a rising scale in steps of this size.
SCALE_STEP = 0.01


@dataclass
class LimitsParameters:
    """The `limits` section of a configuration."""

    enabled: bool = parameter(True, 'whether commands are limited; they are finite in any case')
    max_velocity: float = parameter(
        math.inf, 'speed limit for all joints', unit='rad/s or m/s', minimum=0.0
    )
    max_acceleration: float = parameter(
        math.inf, 'acceleration limit for all joints', unit='rad/s^2 or m/s^2', minimum=0.0
    )
    max_effort: float = parameter(
        math.inf, 'effort limit for all joints', unit='N m or N', minimum=0.0
    )
    max_stiffness: float = parameter(
        math.inf,
        'largest kp of PID actuators, for all joints',
        unit='N m/rad or N/m',
        minimum=0.0,
    )
    max_damping: float = parameter(
        math.inf,
        'largest kd of PID actuators, for all joints',
        unit='N m s/rad or N s/m',
        minimum=0.0,
    )
    recovery_velocity: float = parameter(
        0.5, 'speed of the way back into position limits', unit='rad/s or m/s', minimum=1e-6
    )
    max_bad_commands: int = parameter(
        3, 'consecutive implausible commands before the controller is stopped', minimum=1
    )
    implausible_factor: float = parameter(
        10.0, 'times a limit from which on a command is taken for no command at all', minimum=1.0
    )
    joints: dict[str, JointLimitParameters] = parameter({}, 'limits by joint name')


class CommandLimiter:
    """Limits the commands in a body, in place, by each joint's actuation mode.

    An implausible command, one that is non-finite or far beyond every limit, is never
    passed on: where there is one, the whole command of the tick is replaced by the last one, and
    counted; where there are too many in a row, by one without velocity, effort and stiffness.

    Attributes:
        limits: the limits in force; `limits.notes` says what is wrong with the model's.
        counts: how often each joint was limited, by kind of limit, shape (num_joints,) each.
        bad_commands: ticks so far whose command could not be meant.
        bad_command: a command of the last one of these; None before there was one.
        bad_commands_in_a_row: those that were not followed by a good one.
        on_bad_command: called with the first of these.
        scale: share of speed and gain that controllers have now, from 0 to 1.
        wanted_scale: the one that it goes to.
    """

    def __init__(
        self, body: Body, parameters: LimitsParameters, time_step: float, scale: float = 1.0
    ) -> None:
        """Find the limits and start from the measured state.

        Args:
            body: the robot, with its actuation modes set.
            parameters: the configuration.
            time_step: period of a tick [s]; taken where `apply` gets a period of none.
            scale: share of speed and gain that controllers have, see `scale_commands`.

        Raises:
            ParameterError: a joint of the configuration does not exist.
        """
        if parameters.enabled:
            self.limits = find_joint_limits(
                body,
                parameters.joints,
                parameters.max_velocity,
                parameters.max_acceleration,
                parameters.max_effort,
                parameters.max_stiffness,
                parameters.max_damping,
            )
        else:
            free = {joint.joint_name: JointLimitParameters(enabled=False) for joint in body.joints}
            free.pop('', None)
            self.limits = find_joint_limits(body, free)
            self.limits.notes[:] = ['commands are not limited: limits.enabled is false']
        self.parameters = parameters
        mine = self.limits
        self.counts = LimitCounts(
            CLAMP_KINDS, (mine.u_lower >= body.u_lower) & (mine.u_upper <= body.u_upper)
        )
        self.bad_commands = 0
        self.bad_command: ImplausibleCommand | None = None
        self.bad_commands_in_a_row = 0
        self.on_bad_command: Callable[[], None] | None = None
        self._body = body
        self._time_step = time_step
        self._groups: list[CommandGroup] = []
        self.scale = self.wanted_scale = scale
        # The scale that the speed limits have.
        self._limited_scale = scale
        self.change_modes()

    def restart(self) -> None:
        """Look up the actuation modes again and go on from the measured state.

        To be called when the robot has moved without commands.

        Raises:
            ParameterError: there is a scale, and a joint that it cannot slow down.
        """
        self.require_scalable(self._modes())
        self._groups = []
        self.change_modes()

    def change_modes(self) -> None:
        """Look up the actuation modes again; joints whose mode is new begin as measured."""
        body = self._body
        before = {type(group): group for group in self._groups}
        self._groups = []
        for channel, group_type in GROUPS:
            joints = [
                joint.joint_id
                for joint in body.joints
                if joint.name and channel.serves(joint.actuation_mode)
            ]
            if joints:
                group = group_type(
                    body,
                    body.joint_arrays[channel.command][: body.num_joints],
                    np.array(joints, dtype=np.intp),
                    self.limits,
                    self.parameters.recovery_velocity,
                    self._limited_scale,
                )
                if channel is VELOCITY:
                    # Where gains are commanded, these are scaled.
                    group.is_scaled = ~np.isin(group.joints, self._with_gains())
                group.restart()
                if group_type in before:
                    group.go_on_from(before[group_type])
                self._groups.append(group)
        self._line_up()
        self.bad_commands_in_a_row = 0

    def _line_up(self) -> None:
        """List the calls that find, in a tick, that all commands are within their limits."""
        groups = self._groups
        shapes = [(group.rows, len(group.joints)) for group in groups]
        size = sum(rows * joints for rows, joints in shapes)
        # The values twice, for they are compared with both bounds at once: all of the first ones
        # must reach the lower bounds, and none of the second ones what is beyond the upper ones.
        self._values, self._bounds = np.zeros(2 * size), np.zeros(2 * size)
        once, twice = self._values.reshape(2, -1)
        lower, beyond = self._bounds.reshape(2, -1)
        self._looks: list[Call] = []
        first = 0
        for group, (rows, joints) in zip(groups, shapes, strict=True):
            mine = slice(first, first + rows * joints)
            group.line_up(*(one[mine].reshape(rows, joints) for one in (once, lower, beyond)))
            self._looks += group.looks
            first = mine.stop
        self._looks.append(copy_call(twice, once))
        self._reached = bytearray(2 * size)
        self._truths = np.frombuffer(self._reached, dtype=bool)
        self._wanted = b'\1' * size + b'\0' * size
        self._remember = [group.remember for group in groups]
        self._needs_rules = any(group.needs_rules for group in groups)
        self._period = 0.0

    # --- scale ----------------------------------------------------------------------------------

    def set_scale(self, scale: float) -> None:
        """Give controllers another share of speed and gain.

        A lower one acts at once, a higher one little by little.

        Args:
            scale: from 0 to 1.

        Raises:
            ParameterError: a joint that is commanded by position has no speed limit to scale.
        """
        self.require_scalable(self._modes(), scale)
        self.wanted_scale = scale
        if scale < self.scale:
            self._take_scale(scale)

    def scale_commands(self, dt: float) -> None:
        """Scale what controllers have commanded, before anything else acts on it.

        Velocities, efforts and gains are multiplied by the scale, and so are their limits: a
        controller's gains, its feed-forward and its largest effort are that much smaller; where
        gains are commanded, velocities stay. Speed limits are smaller, too, which slows positions
        down. What is implausible stays as it is: it is to be noticed.

        Args:
            dt: time since the last command [s].
        """
        if self.scale < self.wanted_scale:
            self._take_scale(min(self.scale + SCALE_RISE * dt, self.wanted_scale))
        if self.scale == 1.0:
            return
        for group in self._groups:
            group.scale(self.scale, self.parameters.implausible_factor)

    def _take_scale(self, scale: float) -> None:
        self.scale = scale
        change = abs(scale - self._limited_scale)
        if change >= SCALE_STEP or (change and scale == self.wanted_scale):
            self._limited_scale = scale
            self.change_modes()

    def _with_gains(self) -> list[int]:
        """Ids of the joints whose gains are commanded."""
        joints = self._body.joints
        return [one.joint_id for one in joints if STIFFNESS.serves(one.actuation_mode)]

    def require_scalable(self, modes: Mapping[str, StateFlag], scale: float | None = None) -> None:
        """Refuse joints that a scale could not slow down.

        Args:
            modes: what joints are to be commanded by, by the names of their links.
            scale: the scale; the present one where None.

        Raises:
            ParameterError: there is one: it is commanded by position and has no speed limit.
        """
        scale = self.wanted_scale if scale is None else scale
        if scale >= 1.0:
            return
        for joint in self._body.joints:
            mode = modes.get(joint.name, StateFlag.NONE)
            if (
                joint.name
                and mode & POSITION.flag
                and not STIFFNESS.serves(mode)
                and not math.isfinite(self.limits.dq_upper[joint.joint_id])
            ):
                name = joint.joint_name
                raise not_allowed(
                    'scale',
                    scale,
                    f'joint {name!r} is commanded by position and has no speed limit to scale; '
                    f'give limits.joints.{name}.max_velocity or limits.max_velocity',
                )

    def _modes(self) -> dict[str, StateFlag]:
        return {joint.name: joint.actuation_mode for joint in self._body.joints}

    def can_blend(self) -> bool:
        """Whether the body's present commands are finite and may be mixed with others."""
        excess = BLEND_MARGIN * self.parameters.implausible_factor
        return all(group.is_plausible(excess) for group in self._groups)

    def first_implausible(self) -> ImplausibleCommand | None:
        """The first of the body's present commands that could not be meant; None for none."""
        factor = self.parameters.implausible_factor
        found = (group.first_implausible(factor) for group in self._groups)
        return next((command for command in found if command is not None), None)

    def blend_range(self, channel: JointChannel) -> Interval:
        """Where commands of all joints may lie that are to be mixed with others."""
        limits = self.limits
        none, endless = np.zeros_like(limits.kp_max), np.full_like(limits.kp_max, np.inf)
        lower, upper = {
            POSITION: (limits.q_lower, limits.q_upper),
            VELOCITY: (limits.dq_lower, limits.dq_upper),
            EFFORT: (limits.u_lower, limits.u_upper),
            DAMPING: (none, limits.kd_max),
            INTEGRAL: (none, endless),
            STIFFNESS: (none, limits.kp_max),
        }[channel]
        return plausible_interval(lower, upper, BLEND_MARGIN * self.parameters.implausible_factor)

    def apply(self, dt: float) -> bool:
        """Limit the body's present commands.

        Args:
            dt: time since the last command [s]; not positive for unknown.

        Returns:
            False once so many commands in a row could not be meant that the controller must be
            stopped.
        """
        if not dt > 0.0:
            dt = self._time_step
        if self._needs_rules:
            return self._limit(dt)
        if dt != self._period:
            self._period = dt
            for group in self._groups:
                group.set_period(dt)
        for look in self._looks:
            look()
        greater_equal(self._values, self._bounds, self._truths)
        # NaN reaches nothing. Bytes of truth are few, and cheap to compare.
        if self._reached != self._wanted:
            return self._limit(dt)
        for remember in self._remember:
            remember()
        self.bad_commands_in_a_row = 0
        return True

    def _limit(self, dt: float) -> bool:
        if all(group.is_plausible(self.parameters.implausible_factor) for group in self._groups):
            self.bad_commands_in_a_row = 0
        else:
            self.bad_commands += 1
            self.bad_command = self.first_implausible()
            self.bad_commands_in_a_row += 1
            if self.bad_commands == 1 and self.on_bad_command is not None:
                self.on_bad_command()
            for group in self._groups:
                wrong = group.implausible(self.parameters.implausible_factor)
                self.counts['implausible'][group.joints[wrong]] += 1
            for group in self._groups:
                # What holds for a moment must not go on for ever.
                if self.bad_commands_in_a_row < self.parameters.max_bad_commands:
                    group.repeat()
                else:
                    group.relax()
        for group in self._groups:
            group.limit(dt, self.counts)
            group.remember()
        self._needs_rules = any(group.needs_rules for group in self._groups)
        return self.bad_commands_in_a_row < self.parameters.max_bad_commands

    def report(self) -> dict[str, dict[str, int]]:
        """How often each limit acted, by kind and joint name; only those that did."""
        names = self._body.joint_names
        found = {
            kind: {names[joint]: int(count[joint]) for joint in np.flatnonzero(count)}
            for kind, count in self.counts.items()
        }
        return {kind: joints for kind, joints in found.items() if joints}
