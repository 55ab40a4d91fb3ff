"""What is known of a policy without its configuration: joints, gains, scales, terms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from cnoid_control.controllers.policy.terms import TermParameters
from cnoid_control.parameters import PluginName

# Names of terms in other projects, and ours.
TERM_NAMES = {
    'base_lin_vel': 'base_linear_velocity',
    'base_ang_vel': 'base_angular_velocity',
    'projected_gravity': 'projected_gravity',
    'joint_pos': 'joint_position',
    'joint_pos_rel': 'joint_position',
    'joint_vel': 'joint_velocity',
    'joint_vel_rel': 'joint_velocity',
    'actions': 'last_action',
    'last_action': 'last_action',
    'command': 'velocity_command',
    'velocity_commands': 'velocity_command',
    'velocity_command': 'velocity_command',
    'base_height': 'height',
}

# Kinds of actions by the class that Isaac Lab, mjlab and Unitree call them.
ACTION_KINDS = {
    'JointPositionAction': 'position',
    'RelativeJointPositionAction': 'position_residual',
    'JointVelocityAction': 'velocity',
    'JointEffortAction': 'effort',
}


@dataclass
class Metadata:
    """What files say of a policy; empty where they say nothing.

    Attributes:
        origin: what has said it, for messages.
        joints: joints in the order of the network.
        size: number of joints where they are numbered and not named; 0 where that is not said.
        kp, kd: gains by joint name.
        default: default posture by joint name [rad] or [m].
        kind: what an action is, as the option `action.kind` says it.
        action_scale: factors by joint name.
        action_offset: offsets by joint name where they are not the default posture.
        lowest, highest: bounds of the commands by joint name.
        observations: names of the terms in order.
        terms: options of the terms by name.
        lower, upper: ranges of vx, vy [m/s] and yaw rate [rad/s].
        period: time between two inferences [s]; 0 where unknown.
        gait: `steps`, `offsets` and `standing` as in the option `gait`.
    """

    origin: str = ''
    joints: list[str] = field(default_factory=list)
    size: int = 0
    kp: dict[str, float] = field(default_factory=dict)
    kd: dict[str, float] = field(default_factory=dict)
    default: dict[str, float] = field(default_factory=dict)
    kind: str = ''
    action_scale: dict[str, float] = field(default_factory=dict)
    action_offset: dict[str, float] = field(default_factory=dict)
    lowest: dict[str, float] = field(default_factory=dict)
    highest: dict[str, float] = field(default_factory=dict)
    observations: list[str] = field(default_factory=list)
    terms: dict[str, TermParameters] = field(default_factory=dict)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    period: float = 0.0
    gait: dict[str, Any] = field(default_factory=dict)

    def completed_by(self, other: Metadata) -> Metadata:
        """This one, and what only the other one says."""
        both = Metadata()
        for item in fields(Metadata):
            own = getattr(self, item.name)
            setattr(both, item.name, own if own else getattr(other, item.name))
        both.origin = ' and '.join(one.origin for one in (self, other) if one.origin)
        if self.observations:
            # Terms go with the list that names them.
            both.terms = self.terms
        return both

    def put_reference(self, term: TermParameters, positions: str, velocities: str) -> None:
        """Add what a tracking policy is told of its motion: two outputs, one after the other.

        Args:
            term: what is said of both as one term.
            positions: output with positions of joints.
            velocities: output with their velocities.

        Raises:
            ValueError: they have a history, in which they would not follow each other.
        """
        if term.history > 1:
            raise ValueError('a reference motion with a history is not known')
        for name, output in (('reference_q', positions), ('reference_dq', velocities)):
            scale = term.scale
            if isinstance(scale, list):
                half = len(scale) // 2
                scale = scale[:half] if output == positions else scale[half:]
            self.observations.append(name)
            source = PluginName(f'output:{output}')
            self.terms[name] = replace(term, source=source, scale=scale)


def term_source(name: str) -> PluginName:
    """Kind of a term that metadata names; data must not have code loaded, as options may."""
    source = TERM_NAMES.get(name, name)
    if ':' in source:
        raise ValueError(f'observation {name!r} would be code, which only the options may name')
    return PluginName(source)


def by_joint(key: str, joints: list[str], values: list[Any]) -> dict[str, float]:
    """Values of a list by joint name; nothing for an empty list.

    Raises:
        ValueError: there is another number of values, or one is not finite.
    """
    if not values:
        return {}
    if len(values) != len(joints):
        raise ValueError(f'{key} has {len(values)} values for {len(joints)} joints')
    numbers = [float(value) for value in values]
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError(f'{key} is not finite')
    return dict(zip(joints, numbers, strict=True))


def read_ranges(found: Metadata, ranges: Mapping[str, Any], names: tuple[str, str, str]) -> None:
    """Put ranges of velocity commands in, where all three are there."""
    if all(ranges.get(name) for name in names):
        found.lower = [float(ranges[name][0]) for name in names]
        found.upper = [float(ranges[name][1]) for name in names]
