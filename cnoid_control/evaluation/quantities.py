"""What of a simulated robot can be randomised."""

from __future__ import annotations

from dataclasses import dataclass, fields

from cnoid_control.evaluation.distributions import ADD, SCALE, SET
from cnoid_control.hardware.mujoco.parameters import PushParameters

SECTION = 'randomize'
XYZ, RPY = ('x', 'y', 'z'), ('roll', 'pitch', 'yaw')
LINKS, JOINTS, SENSORS = 'links', 'joints', 'sensors'
JOINT_SENSORS = ('q', 'dq', 'ddq', 'u')
PUSH, TERRAIN = 'push', 'terrain'
PUSH_KEYS = (*(item.name for item in fields(PushParameters)), 'heading')


@dataclass(frozen=True)
class Quantity:
    """Something of the simulated robot that can be randomised.

    Attributes:
        of: what it is a property of: links, joints, sensors, or empty for the robot.
        modes: how draws are put in; the first one is the usual one.
        elements: names of its elements, where it is a vector.
        physics: whether it needs physics.
    """

    of: str
    modes: tuple[str, ...]
    elements: tuple[str, ...] = ()
    physics: bool = True


QUANTITIES = {
    'friction': Quantity(LINKS, (SET, SCALE)),
    'mass': Quantity(LINKS, (SCALE, ADD, SET)),
    'inertia': Quantity(LINKS, (SCALE,)),
    'com': Quantity(LINKS, (ADD,), XYZ),
    'strength': Quantity(JOINTS, (SCALE,)),
    'kp': Quantity(JOINTS, (SCALE,)),
    'kd': Quantity(JOINTS, (SCALE,)),
    'damping': Quantity(JOINTS, (SCALE, ADD, SET)),
    'armature': Quantity(JOINTS, (SCALE, ADD, SET)),
    'frictionloss': Quantity(JOINTS, (SCALE, ADD, SET)),
    'command_delay': Quantity('', (SET, ADD)),
    'posture': Quantity(JOINTS, (ADD,)),
    'position': Quantity('', (ADD,), XYZ),
    'rpy': Quantity('', (ADD,), RPY),
    'noise': Quantity(SENSORS, (SET,), physics=False),
    'bias': Quantity(SENSORS, (SET,), physics=False),
    'delay': Quantity(SENSORS, (SET,), physics=False),
}
