"""Model data that the readers of all formats produce: links, joints, shapes, state flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntFlag
from typing import Any

import numpy as np

from cnoid_control.body.devices.base import Device


class JointType(Enum):
    """Kind of the joint between a link and its parent."""

    REVOLUTE = 'revolute'
    PRISMATIC = 'prismatic'
    FREE = 'free'
    FIXED = 'fixed'
    PSEUDO_CONTINUOUS_TRACK = 'pseudo_continuous_track'

    @property
    def has_displacement(self) -> bool:
        """Whether the joint has a displacement q that moves the link."""
        return self in (JointType.REVOLUTE, JointType.PRISMATIC)

    @property
    def is_joint(self) -> bool:
        """Whether there is something to read and command: a displacement, or a running surface."""
        return self.has_displacement or self is JointType.PSEUDO_CONTINUOUS_TRACK


class StateFlag(IntFlag):
    """Bits that name what is read from, or commanded to, a link.

    Used as an actuation mode (what a joint is commanded by) and as the input set of a link.
    """

    NONE = 0
    JOINT_DISPLACEMENT = 1
    JOINT_VELOCITY = 2
    JOINT_ACCELERATION = 4
    JOINT_EFFORT = 8
    LINK_POSITION = 16
    LINK_TWIST = 32
    LINK_ACCELERATION = 64
    LINK_EXT_WRENCH = 128
    LINK_CONTACT_STATE = 256
    HIGH_GAIN_ACTUATION = 512

    # A joint commanded by displacement, velocity and effort at once has a PID actuator; its gains
    # are part of the command.
    JOINT_PID = JOINT_DISPLACEMENT | JOINT_VELOCITY | JOINT_EFFORT

    # Other names for the same channels.
    STATE_NONE = NONE
    NO_ACTUATION = NONE
    JOINT_ANGLE = JOINT_DISPLACEMENT
    JOINT_TORQUE = JOINT_EFFORT
    JOINT_FORCE = JOINT_EFFORT
    ALL_STATE_HIGH_GAIN = (
        LINK_POSITION
        | LINK_TWIST
        | LINK_EXT_WRENCH
        | JOINT_DISPLACEMENT
        | JOINT_VELOCITY
        | JOINT_EFFORT
        | HIGH_GAIN_ACTUATION
    )

    @property
    def label(self) -> str:
        """The flag's name, or the names of the flags that it is made of."""
        if self.name and '|' not in self.name:
            return self.name
        bits = [StateFlag(1 << place) for place in range(self.bit_length())]
        return ' | '.join(str(bit.name) for bit in bits if bit & self)


@dataclass(frozen=True)
class Box:
    """Box of full edge lengths `size` [m], centred on its frame."""

    size: tuple[float, float, float]


@dataclass(frozen=True)
class Sphere:
    """Sphere of `radius` [m], centred on its frame."""

    radius: float


@dataclass(frozen=True)
class Cylinder:
    """Cylinder of `radius` and full `length` [m] along the Z axis of its frame."""

    radius: float
    length: float


@dataclass(frozen=True)
class Capsule:
    """Cylinder of `length` [m] along Z with half spheres of `radius` [m] at both ends."""

    radius: float
    length: float


@dataclass(frozen=True)
class Cone:
    """Cone of base `radius` and full `length` [m] along Z, its tip towards +Z."""

    radius: float
    length: float


@dataclass(frozen=True)
class Mesh:
    """Triangles from a file, or given as vertices [m] and vertex indices.

    Attributes:
        path: absolute path of the mesh file; empty for a mesh given by its triangles.
        scale: factor along each axis.
        uri: the address as it stood in the model file, kept for writing it back.
        vertices: corner positions, flattened x y z ... [m]; empty for a file.
        triangles: corner indices, flattened, three per triangle.
    """

    path: str = ''
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    uri: str = ''
    vertices: tuple[float, ...] = ()
    triangles: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ellipsoid:
    """Ellipsoid of half lengths `radii` [m] along the axes of its frame, centred on it."""

    radii: tuple[float, float, float]


@dataclass(frozen=True)
class HeightField:
    """Ground that is a height over a grid: rows along +Y of its frame, columns along +X.

    The first point of the first row is at the origin of the frame, heights are along Z.

    Attributes:
        columns: points per row.
        spacing: distance of the columns and of the rows [m].
        heights: height of every point [m], row by row.
    """

    columns: int
    spacing: tuple[float, float]
    heights: tuple[float, ...]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.heights) // self.columns


Geometry = Box | Sphere | Ellipsoid | Cylinder | Capsule | Cone | Mesh | HeightField


@dataclass
class Shape:
    """One geometry of a link, placed in the link frame.

    Attributes:
        geometry: the solid.
        translation: origin of the geometry's frame in the link frame [m], shape (3,).
        rotation: axes of the geometry's frame in the link frame, shape (3, 3).
        visual: whether it is seen.
        collision: whether it collides.
        color: red, green, blue, opacity in [0, 1].
        name: name in the model file, may be empty.
    """

    geometry: Geometry
    translation: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    visual: bool = True
    collision: bool = True
    color: tuple[float, float, float, float] = (0.7, 0.7, 0.7, 1.0)
    name: str = ''


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another one: q = multiplier * q_followed + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class SoftLimit:
    """Where a joint is braked before its position limits, as in URDF's safety_controller.

    Attributes:
        lower, upper: positions where it begins [rad] or [m].
        k_position: speed allowed per distance to them [1/s].
        k_velocity: effort allowed per excess of that speed [N m s/rad] or [N s/m].
    """

    lower: float
    upper: float
    k_position: float
    k_velocity: float


# Command interfaces whose `min` and `max` limit commands.
LIMITED_INTERFACES = ('position', 'velocity', 'effort', 'acceleration')


@dataclass
class CommandLimit:
    """Limits of the commands to a joint, as in the command interfaces of a ros2_control tag.

    They say nothing of the mechanism: in physics there is no stop where they are.

    Attributes:
        intervals: lower and upper limit by command interface, infinite for none; units of the
            joint: [rad] or [m], [rad/s] or [m/s], [N m] or [N], [rad/s^2] or [m/s^2].
    """

    intervals: dict[str, tuple[float, float]]


@dataclass
class LinkDescription:
    """One link with the joint that holds it to its parent.

    Attributes:
        name: name of the link.
        parent: name of the parent link; None for the root.
        joint_name: name of the joint; the link's name where empty.
        joint_type: kind of the joint; FREE or FIXED for the root.
        joint_id: index in the joint arrays; -1 for none.
        joint_axis: unit axis in the link frame, shape (3,).
        translation: origin of the link frame in the parent frame at q = 0 [m], shape (3,);
            for the root, its default position in the world.
        rotation: axes of the link frame in the parent frame at q = 0, shape (3, 3).
        mass: [kg].
        center_of_mass: in the link frame [m], shape (3,).
        inertia: about the centre of mass, link axes [kg m^2], shape (3, 3).
        q_initial: initial displacement [rad] or [m].
        q_lower, q_upper: displacement limits [rad] or [m]; infinite where unlimited.
        dq_lower, dq_upper: velocity limits [rad/s] or [m/s].
        u_lower, u_upper: effort limits [N m] or [N].
        soft_limit: braking before the displacement limits, if any.
        command_limit: limits of commands besides these, if any.
        rotor_inertia: inertia of the rotor seen at the joint, gear ratio squared included.
        damping: viscous friction of the joint [N m s/rad] or [N s/m].
        friction: Coulomb friction of the joint [N m] or [N].
        actuation_mode: what the model says the joint is commanded by.
        kp, kd: gains of the model's own position actuator; 0 where it has none.
        mimic: the joint that this one follows, if any.
        shapes: what is seen and what collides.
        material: name of the surface material; empty for the default one.
        info: everything else that the model file says of the link.
    """

    name: str
    parent: str | None = None
    joint_name: str = ''
    joint_type: JointType = JointType.FIXED
    joint_id: int = -1
    joint_axis: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    translation: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    mass: float = 1.0
    center_of_mass: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.eye(3))
    q_initial: float = 0.0
    q_lower: float = -np.inf
    q_upper: float = np.inf
    dq_lower: float = -np.inf
    dq_upper: float = np.inf
    u_lower: float = -np.inf
    u_upper: float = np.inf
    soft_limit: SoftLimit | None = None
    command_limit: CommandLimit | None = None
    rotor_inertia: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    actuation_mode: StateFlag = StateFlag.NONE
    kp: float = 0.0
    kd: float = 0.0
    mimic: Mimic | None = None
    shapes: list[Shape] = field(default_factory=list)
    material: str = ''
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Give the joint the link's name where it has none of its own."""
        self.joint_name = self.joint_name or self.name


@dataclass(frozen=True)
class Material:
    """Surface of a link: Coulomb friction coefficient and restitution in [0, 1]."""

    friction: float = 0.5
    restitution: float = 0.0


@dataclass(frozen=True)
class Posture:
    """A posture that the model file names: a keyframe, a group state, a standard pose.

    Attributes:
        q: displacements by joint name [rad] or [m]; joints that are not in it have none.
        position: place of the root in the world [m]; None where the posture does not say.
        rotation: axes of the root in the world, row by row; None where it does not say.
    """

    q: dict[str, float]
    position: tuple[float, float, float] | None = None
    rotation: tuple[tuple[float, float, float], ...] | None = None


class ExtraJointType(Enum):
    """What a joint that closes a loop leaves free."""

    FIXED = 'fixed'
    HINGE = 'hinge'
    BALL = 'ball'
    PISTON = 'piston'


@dataclass
class ExtraJoint:
    """A joint that closes a loop: it holds together two links that the tree has apart.

    It joins one frame on each link. FIXED lets them move in no way, BALL lets them turn about
    their common origin, HINGE about the axis only; PISTON lets the origin of the second frame
    slide along the axis of the first one, and the links turn.

    Attributes:
        kind: what it leaves free.
        links: names of the two links.
        translations: origin of the frame on each link [m], link axes, shape (3,) each.
        rotations: axes of the frame on each link, shape (3, 3) each.
        axis: unit axis of HINGE and PISTON in the frames, shape (3,).
        name: name in the model file, may be empty.
    """

    kind: ExtraJointType
    links: tuple[str, str]
    translations: tuple[np.ndarray, np.ndarray] = field(
        default_factory=lambda: (np.zeros(3), np.zeros(3))
    )
    rotations: tuple[np.ndarray, np.ndarray] = field(
        default_factory=lambda: (np.eye(3), np.eye(3))
    )
    axis: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    name: str = ''


@dataclass(frozen=True)
class ContinuousTrack:
    """Shoes that hang together around wheels, as a chain of links.

    The first shoe is free, each other one hangs on the one before by a revolute joint, and the
    extra joint of the track's name holds the last one to the first.

    Attributes:
        name: name of the track.
        parent: link that carries the wheels.
        links: names of the shoes along the track.
    """

    name: str
    parent: str
    links: tuple[str, ...]


@dataclass
class BodyDescription:
    """A whole robot model as its file states it.

    Attributes:
        name: name of the model.
        links: links in file order; the tree is given by their `parent` names. A link with a
            parent and a FREE joint moves on its own: its translation and rotation are where it
            starts, seen from the parent.
        devices: name of the link that carries it, and the device in its initial state.
        extra_joints: joints that close loops of the tree.
        tracks: tracks made of shoes.
        materials: surface materials by name.
        source: file the model came from, for messages.
        postures: postures that the model names; the first one is its own choice.
        base_reason: why the base is fixed or floating, in words.
        urdf: URDF text that the model was read from; empty for another format.
        mjcf: path of the MJCF file that physics runs as it is; empty for another format.
        scene: path of the MJCF file of the world that the robot is put into; empty for none.
        gravity: acceleration of what falls [m/s^2], world axes, shape (3,).
        warnings: what was assumed or left out when the file was read, one sentence each.
        info: everything else that the model file says of the robot.
    """

    name: str
    links: list[LinkDescription]
    devices: list[tuple[str, Device]] = field(default_factory=list)
    extra_joints: list[ExtraJoint] = field(default_factory=list)
    tracks: list[ContinuousTrack] = field(default_factory=list)
    materials: dict[str, Material] = field(default_factory=dict)
    source: str = ''
    postures: dict[str, Posture] = field(default_factory=dict)
    base_reason: str = ''
    urdf: str = ''
    mjcf: str = ''
    scene: str = ''
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.80665)
    warnings: list[str] = field(default_factory=list)
    info: dict[str, Any] = field(default_factory=dict)

    def warn_of_free_links(self) -> None:
        """Say what becomes of links that have a parent and yet are free."""
        free = [
            repr(link.name)
            for link in self.links
            if link.parent is not None and link.joint_type is JointType.FREE
        ]
        if free:
            self.warnings.append(
                f'free joints inside the tree: {", ".join(free)}. They move on '
                'their own in physics, which gives their poses; centre of mass, momentum and '
                'dynamics of the body take them to be fixed to their parents'
            )
