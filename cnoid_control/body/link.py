"""A rigid part of a robot together with the joint that holds it to its parent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from cnoid_control.body.description import JointType, LinkDescription
from cnoid_control.body.joint_values import JOINT_ARRAYS, joint_values
from cnoid_control.body.read_only import read_only
from cnoid_control.body.rotations import rotation_matrix

if TYPE_CHECKING:
    from cnoid_control.body.body import Body


@dataclass
class ContactPoint:
    """A point where another object touches a link, world frame, seen from the link.

    Attributes:
        position: [m], shape (3,).
        normal: from the other object to the link, unit length, shape (3,).
        force: from the other object on the link [N], shape (3,).
        velocity: of the link relative to the other object [m/s], shape (3,).
        depth: penetration [m].
    """

    position: np.ndarray
    normal: np.ndarray
    force: np.ndarray
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(3))
    depth: float = 0.0


def _joint_value(
    array: str, doc: str, put: Callable[[Link, float], None] | None = None
) -> property:
    """Property that reads and writes this joint's element of one of the body's joint arrays."""

    def put_by_name(self: Link, value: float) -> None:
        setattr(self.joint_values, array, value)

    # attrgetter is quicker than a function: controllers read these joint by joint.
    return property(attrgetter(f'joint_values.{array}'), put or put_by_name, doc=doc)


# Controllers write these joint by joint, which takes longer by name.
def _put_u(self: Link, value: float) -> None:
    self.joint_values.u = value


def _put_q_target(self: Link, value: float) -> None:
    self.joint_values.q_target = value


def _put_dq_target(self: Link, value: float) -> None:
    self.joint_values.dq_target = value


class Link:
    """Thin view on the body's arrays; holds no state of its own except its actuation mode.

    What the model file says of it (m, c, I, b, Rb) is shared by all clones and is read only.
    World quantities of the root are inputs and can be set; those of other links are what the last
    `Body.calc_forward_kinematics` found, or what was set since. An array that a property gives is
    either live (p, v, w, dv, dw of the root, F_ext: writing to an element takes effect) or read
    only (writing to an element raises); assigning a whole value always takes effect.

    Attributes:
        name: name of the link.
        index: place in the depth-first order; -1 for the filler of a joint-id hole.
        body: body that it belongs to.
        parent: link that carries it; None for the root.
        children: links that it carries, in file order.
        actuation_mode: what the joint (or the root) is commanded by.
        contact_points: where other objects touch it.
        joint_values: the joint's elements of the body's joint arrays, as attributes.
    """

    def __init__(self, body: Body, description: LinkDescription, index: int, slot: int) -> None:
        """Attach the view; made by Body only."""
        self.body = body
        self.description = description
        self.name = description.name
        self.index = index
        self.parent: Link | None = None
        self.children: list[Link] = []
        self.actuation_mode = description.actuation_mode
        self.contact_points: list[ContactPoint] = []
        self.joint_values: Any
        if slot < 0:
            # Without a joint it has values of its own, which move nothing.
            own = np.array([getattr(description, name, 0.0) for name in JOINT_ARRAYS])
            self.joint_values = joint_values(own, 1, 0)
        else:
            self.joint_values = body.joint_values(slot)

    # --- the tree -----------------------------------------------------------------------------

    @property
    def child(self) -> Link | None:
        """First child."""
        return self.children[0] if self.children else None

    @property
    def sibling(self) -> Link | None:
        """Next child of the same parent."""
        if self.parent is None:
            return None
        later = self.parent.children[self.parent.children.index(self) + 1 :]
        return later[0] if later else None

    @property
    def is_root(self) -> bool:
        """Whether no link carries this one."""
        return self.index == 0

    # --- the joint ----------------------------------------------------------------------------

    q = _joint_value('q', 'Joint displacement [rad] or [m].')
    dq = _joint_value('dq', 'Joint velocity [rad/s] or [m/s].')
    ddq = _joint_value('ddq', 'Joint acceleration [rad/s^2] or [m/s^2].')
    u = _joint_value('u', 'Joint effort [N m] or [N].', _put_u)
    q_target = _joint_value('q_target', 'Commanded displacement [rad] or [m].', _put_q_target)
    dq_target = _joint_value('dq_target', 'Commanded velocity [rad/s] or [m/s].', _put_dq_target)
    kp = _joint_value('kp', 'Position gain of the PID actuator [N m/rad] or [N/m].')
    ki = _joint_value('ki', 'Integral gain of the PID actuator [N m/(rad s)] or [N/(m s)].')
    kd = _joint_value('kd', 'Velocity gain of the PID actuator [N m s/rad] or [N s/m].')
    q_lower = _joint_value('q_lower', 'Lower displacement limit [rad] or [m].')
    q_upper = _joint_value('q_upper', 'Upper displacement limit [rad] or [m].')
    dq_lower = _joint_value('dq_lower', 'Lower velocity limit [rad/s] or [m/s].')
    dq_upper = _joint_value('dq_upper', 'Upper velocity limit [rad/s] or [m/s].')
    u_lower = _joint_value('u_lower', 'Lower effort limit [N m] or [N].')
    u_upper = _joint_value('u_upper', 'Upper effort limit [N m] or [N].')

    @property
    def joint_id(self) -> int:
        """Row of the joint in the body's joint arrays; -1 for none."""
        return self.description.joint_id

    @property
    def joint_name(self) -> str:
        """Name of the joint; the link's name where the model gives none."""
        return self.description.joint_name

    @property
    def joint_type(self) -> JointType:
        """Kind of the joint."""
        return self.description.joint_type

    @property
    def is_fixed_joint(self) -> bool:
        """Whether the link does not move against its parent, or against the world."""
        return self.joint_type is JointType.FIXED

    @property
    def is_free_joint(self) -> bool:
        """Whether the link is a root that nothing holds."""
        return self.joint_type is JointType.FREE

    @property
    def is_revolute_joint(self) -> bool:
        """Whether the link turns about its joint axis."""
        return self.joint_type is JointType.REVOLUTE

    @property
    def is_prismatic_joint(self) -> bool:
        """Whether the link slides along its joint axis."""
        return self.joint_type is JointType.PRISMATIC

    @property
    def joint_axis(self) -> np.ndarray:
        """Unit axis of the joint in the link frame, shape (3,)."""
        axis = self.description.joint_axis
        return read_only(axis / np.linalg.norm(axis))

    @property
    def a(self) -> np.ndarray:
        """Short name of `joint_axis`."""
        return self.joint_axis

    @property
    def q_initial(self) -> float:
        """Displacement in the model's initial posture [rad] or [m]."""
        return self.description.q_initial

    @property
    def rotor_inertia(self) -> float:
        """Inertia of the rotor seen at the joint, gear ratio squared included."""
        return self.description.rotor_inertia

    # --- mass and offset ----------------------------------------------------------------------

    @property
    def m(self) -> float:
        """Mass [kg]."""
        return self.description.mass

    @property
    def c(self) -> np.ndarray:
        """Centre of mass in the link frame [m], shape (3,)."""
        return read_only(self.description.center_of_mass)

    @property
    def I(self) -> np.ndarray:  # noqa: E743
        """Inertia about the centre of mass, link axes [kg m^2], shape (3, 3)."""
        return read_only(self.description.inertia)

    @property
    def b(self) -> np.ndarray:
        """Origin of the link frame in the parent frame at q = 0 [m], shape (3,)."""
        return read_only(self.description.translation)

    @property
    def Rb(self) -> np.ndarray:
        """Axes of the link frame in the parent frame at q = 0, shape (3, 3)."""
        return read_only(self.description.rotation)

    @property
    def wc(self) -> np.ndarray:
        """Centre of mass in the world [m], shape (3,)."""
        return read_only(self.p + self.R @ self.c)

    # --- pose and motion in the world ---------------------------------------------------------

    @property
    def p(self) -> np.ndarray:
        """Position of the link origin in the world [m], shape (3,)."""
        return self.body.link_position(self.index)

    @p.setter
    def p(self, value: np.ndarray) -> None:
        self.body.set_link_value(self.index, 'p', value)

    translation = p

    @property
    def R(self) -> np.ndarray:
        """Axes of the link in the world, shape (3, 3); read only."""
        return self.body.link_rotation(self.index)

    @R.setter
    def R(self, value: np.ndarray) -> None:
        self.body.set_link_value(self.index, 'R', value)

    @property
    def rotation(self) -> np.ndarray:
        """Axes of the link in the world; set from a matrix, a quaternion or axis and angle."""
        return self.R

    @rotation.setter
    def rotation(self, value: object) -> None:
        self.R = rotation_matrix(value)

    @property
    def T(self) -> np.ndarray:
        """Pose in the world, shape (4, 4); read only, assign a whole pose, or `p` or `R`."""
        pose = np.eye(4)
        pose[:3, :3] = self.R
        pose[:3, 3] = self.p
        return read_only(pose)

    @T.setter
    def T(self, value: np.ndarray) -> None:
        value = np.asarray(value, dtype=float)
        if value.shape != (4, 4):
            raise ValueError(f'{self.name}.T needs shape (4, 4), got {value.shape}')
        self.R = value[:3, :3]
        self.p = value[:3, 3]

    position = T

    @property
    def v(self) -> np.ndarray:
        """Velocity of the link origin, world axes [m/s], shape (3,)."""
        return self.body.link_motion(self.index, 'v')

    @v.setter
    def v(self, value: np.ndarray) -> None:
        self.body.set_link_value(self.index, 'v', value)

    @property
    def w(self) -> np.ndarray:
        """Angular velocity, world axes [rad/s], shape (3,)."""
        return self.body.link_motion(self.index, 'w')

    @w.setter
    def w(self, value: np.ndarray) -> None:
        self.body.set_link_value(self.index, 'w', value)

    @property
    def dv(self) -> np.ndarray:
        """Acceleration of the link origin as a point, world axes [m/s^2], shape (3,)."""
        return self.body.link_motion(self.index, 'dv')

    @dv.setter
    def dv(self, value: np.ndarray) -> None:
        self.body.set_link_value(self.index, 'dv', value)

    @property
    def dw(self) -> np.ndarray:
        """Angular acceleration, world axes [rad/s^2], shape (3,)."""
        return self.body.link_motion(self.index, 'dw')

    @dw.setter
    def dw(self, value: np.ndarray) -> None:
        self.body.set_link_value(self.index, 'dw', value)

    # --- forces -------------------------------------------------------------------------------

    @property
    def F_ext(self) -> np.ndarray:
        """External force [N] and torque about the world origin [N m], world axes, shape (6,)."""
        return self.body.external_wrenches[self.index]

    @F_ext.setter
    def F_ext(self, value: np.ndarray) -> None:
        self.body.external_wrenches[self.index] = value

    def add_external_force_at_global_position(self, f: np.ndarray, p: np.ndarray) -> None:
        """Add a force f [N] that acts at the world position p [m]."""
        wrench = self.F_ext
        wrench[:3] += f
        wrench[3:] += np.cross(p, f)

    def add_external_force_at_local_position(self, f: np.ndarray, p: np.ndarray) -> None:
        """Add a world-axes force f [N] that acts at the position p of the link frame [m]."""
        self.add_external_force_at_global_position(f, self.p + self.R @ np.asarray(p, dtype=float))

    def __repr__(self) -> str:
        """Name, index and joint id."""
        return f'Link({self.name!r}, index={self.index}, joint_id={self.joint_id})'
