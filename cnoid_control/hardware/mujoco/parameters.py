"""Options of the embedded physics."""

from __future__ import annotations

from dataclasses import dataclass, field

from cnoid_control.hardware.disturbance import DisturbanceParameters
from cnoid_control.parameters import parameter

GRAVITY = 9.80665


@dataclass
class ObjectParameters:
    """A thing in the simulated world besides the robot."""

    shape: str = parameter('box', 'kind of solid', choices=('box', 'sphere', 'cylinder'))
    size: list[float] = parameter(
        [0.1, 0.1, 0.1], 'edges of a box; radius; radius and length', unit='m', minimum=0.0
    )
    position: list[float] = parameter([0.0, 0.0, 0.0], 'initial position', unit='m')
    rpy: list[float] = parameter([0.0, 0.0, 0.0], 'initial roll, pitch and yaw', unit='rad')
    mass: float = parameter(0.0, 'mass; 0 for a thing that never moves', unit='kg', minimum=0.0)
    color: list[float] = parameter(
        [0.6, 0.6, 0.6, 1.0], 'red, green, blue, opacity', minimum=0.0, maximum=1.0
    )
    friction: float = parameter(0.5, 'Coulomb friction coefficient', minimum=0.0)


@dataclass
class PushParameters:
    """A force from outside at a time of the run."""

    link: str = parameter(description='link that is pushed')
    force: list[float] = parameter(description='world axes', unit='N')
    time: float = parameter(description='when it begins', unit='s', minimum=0.0)
    duration: float = parameter(0.1, 'how long it acts', unit='s', minimum=0.0)
    point: list[float] = parameter(
        [], "where it acts, in the link's frame; at its centre of mass where empty", unit='m'
    )


@dataclass
class TerrainParameters:
    """Uneven ground in the place of the floor, around the origin; bumps follow from the seed."""

    roughness: float = parameter(
        0.0, 'height between the lowest and the highest bumps', unit='m', minimum=0.0, maximum=0.5
    )
    cell: float = parameter(0.25, 'distance of the bumps', unit='m', minimum=0.02, maximum=10.0)
    slope: float = parameter(0.0, 'steepness', unit='deg', minimum=0.0, maximum=30.0)
    heading: float = parameter(
        0.0, 'direction in which it rises, from the x axis to the y axis', unit='deg'
    )
    size: float = parameter(
        20.0,
        'edge of the square; beyond it there is no ground',
        unit='m',
        minimum=1.0,
        maximum=200.0,
    )

    @property
    def is_uneven(self) -> bool:
        """Whether it differs from a floor."""
        return self.roughness > 0.0 or self.slope > 0.0


@dataclass
class DeviationParameters:
    """How the simulated robot differs from its model; what controllers see of the model stays."""

    friction: float = parameter(
        0.0, "Coulomb friction of every contact; 0 for the model's", minimum=0.0
    )
    friction_scale: float = parameter(1.0, 'factor on the friction of every contact', minimum=0.0)
    link_friction: dict[str, float] = parameter(
        {}, 'Coulomb friction of the contacts of a link, by link', minimum=0.0
    )
    mass: dict[str, float] = parameter(
        {}, 'factor on the mass and the inertia of a link, by link', minimum=1e-6
    )
    inertia: dict[str, float] = parameter(
        {}, 'factor on the inertia of a link, by link', minimum=1e-6
    )
    com: dict[str, list[float]] = parameter(
        {}, "offset of a link's centre of mass in the link's axes, by link", unit='m'
    )
    strength: dict[str, float] = parameter(
        {}, "share of its effort that a joint's actuator gives, by joint", minimum=0.0
    )
    kp: dict[str, float] = parameter(
        {}, "factor on the position gain of a joint's actuator, by joint", minimum=0.0
    )
    kd: dict[str, float] = parameter(
        {}, "factor on the velocity gain of a joint's actuator, by joint", minimum=0.0
    )
    damping: dict[str, float] = parameter(
        {}, 'viscous damping by joint', unit='N m s/rad', minimum=0.0
    )
    armature: dict[str, float] = parameter(
        {}, 'rotor inertia by joint', unit='kg m^2', minimum=0.0
    )
    frictionloss: dict[str, float] = parameter(
        {}, 'dry friction by joint', unit='N m', minimum=0.0
    )
    posture: dict[str, float] = parameter(
        {}, 'offset of the initial displacement, by joint', unit='rad or m'
    )
    position: list[float] = parameter([], "offset of the root's initial position", unit='m')
    rpy: list[float] = parameter(
        [], "turn of the root's initial pose about the world's axes", unit='rad'
    )


@dataclass
class SceneParameters:
    """What is around the robot, and how well its sensors tell."""

    gravity: float = parameter(
        GRAVITY,
        'downward gravity; this value leaves that of an MJCF file as it is',
        unit='m/s^2',
    )
    floor: bool = parameter(True, 'whether there is a floor at z = 0')
    objects: dict[str, ObjectParameters] = parameter({}, 'things around the robot, by name')
    exact_accelerometer: bool = parameter(
        False,
        'whether accelerometers feel their own place, not the origin of their link; those of MJCF '
        'files always do',
    )
    sensors: dict[str, DisturbanceParameters] = parameter(
        {}, 'errors of sensors: by device name, or q, dq, ddq and u for those of the joints'
    )
    seed: int = parameter(0, 'seed of all noise', minimum=0)
    camera_renderer: str = parameter(
        'auto',
        'what draws pictures: a graphics library, rays, or the former where there is one',
        choices=('auto', 'gl', 'rays'),
    )
    ambient_light: float = parameter(
        1.0, "brightness of the light that is not the robot's", minimum=0.0
    )


# Options of the physics that the compiled model does not depend on, see `model_key`.
NOT_COMPILED = (
    'sensors',
    'seed',
    'camera_renderer',
    'servo_stiffness',
    'servo_damping',
    'command_delay',
    'pushes',
    'deviations',
)


@dataclass
class MujocoParameters(SceneParameters):
    """How the robot is simulated; the defaults are those with which SR1 stands and walks."""

    time_step: float = parameter(
        0.0,
        'physics step, a part of the control period; 0 for equal to it, or shorter where an MJCF '
        'file asks for that',
        unit='s',
        minimum=0.0,
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
        'shapes that collide: LINK, LINK/box (or sphere, mesh, ...), LINK/NAME, or all but those '
        'with a minus (-LINK/box); empty for all',
    )
    self_collision: bool = parameter(
        False, 'whether links of the robot collide with each other; MJCF files say it themselves'
    )
    joint_limits: bool = parameter(True, 'whether joints stop at their displacement limits')
    effort_limits: bool = parameter(True, 'whether actuators are bound to the effort limits')
    servo_stiffness: float = parameter(
        1e5,
        "position gain of displacement and velocity servos; a model's own wins",
        unit='N m/rad',
        minimum=0.0,
    )
    servo_damping: float = parameter(
        1e2, 'velocity gain of displacement and velocity servos', unit='N m s/rad', minimum=0.0
    )
    command_delay: float = parameter(
        0.0,
        'age of joint commands when they act, besides the tick that the loop takes',
        unit='s',
        minimum=0.0,
    )
    pushes: dict[str, PushParameters] = parameter({}, 'forces from outside, by name')
    deviations: DeviationParameters = field(default_factory=DeviationParameters)
    terrain: TerrainParameters = field(default_factory=TerrainParameters)
