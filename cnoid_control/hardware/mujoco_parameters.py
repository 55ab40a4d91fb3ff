"""Options of the simulated robot."""

from __future__ import annotations

from dataclasses import dataclass

from cnoid_control.hardware.scene_parameters import SceneParameters
from cnoid_control.parameters import parameter


@dataclass
class MujocoParameters(SceneParameters):
    """How the robot is simulated; the defaults are those with which SR1 stands and walks."""

    time_step: float = parameter(
        0.0, 'physics step, a part of the control period; 0 for equal to it', unit='s', minimum=0.0
    )
    friction: float = parameter(
        0.0,
        'Coulomb friction between robot and floor; 0 for what the materials of the links say',
        minimum=0.0,
    )
    contact_time_constant: float = parameter(
        0.01, 'time in which a penetration is undone', unit='s', minimum=1e-4
    )
    collision: list[str] = parameter(
        [],
        'shapes that collide: LINK, LINK/box (or sphere, mesh, ...), LINK/NAME; empty for all',
    )
    self_collision: bool = parameter(False, 'whether links of the robot collide with each other')
    joint_limits: bool = parameter(True, 'whether joints stop at their displacement limits')
    effort_limits: bool = parameter(True, 'whether actuators are bound to the effort limits')
    servo_stiffness: float = parameter(
        1e5, 'position gain of displacement and velocity servos', unit='N m/rad', minimum=0.0
    )
    servo_damping: float = parameter(
        1e2, 'velocity gain of displacement and velocity servos', unit='N m s/rad', minimum=0.0
    )
