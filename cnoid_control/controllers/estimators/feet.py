"""Feet of a legged robot: which they are, where they can touch, and how they move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body, Link
from cnoid_control.body.body import cross
from cnoid_control.body.devices import ForceSensor
from cnoid_control.body.solids import corners, solid_shapes
from cnoid_control.body.standing import ancestors, limbs_of, touching_links
from cnoid_control.exceptions import CnoidControlError, choices

# Directions along which the outermost points of a shape are kept: a mesh has too many corners.
DIRECTIONS = 256
# What is this near to the lowest point of a foot is its sole: share of the foot's height.
TOUCH = 0.1


class Foot(NamedTuple):
    """A link that stands on the ground.

    Attributes:
        link: index of the link.
        joint: number of the joint that carries it, in pinocchio's order.
        points: points of its outline, in that joint's frame [m], shape (n, 3).
        radii: radius of the sphere around each of them [m], shape (n,).
        sole: the middle of what touches the ground in the initial posture, joint frame [m].
        sensor: force sensor in front of it; None where there is none.
    """

    link: int
    joint: int
    points: np.ndarray
    radii: np.ndarray
    sole: np.ndarray
    sensor: ForceSensor | None


class Soles(NamedTuple):
    """Where the feet are and how they move relative to the root, in root axes.

    Attributes:
        soles: the middles of the soles [m], shape (feet, 3).
        contacts: lowest points, where a foot that stands touches the ground [m], shape (feet, 3).
        velocities: of the material points there [m/s], shape (feet, 3).
        rates: angular velocities of the feet [rad/s], shape (feet, 3).
    """

    soles: np.ndarray
    contacts: np.ndarray
    velocities: np.ndarray
    rates: np.ndarray


class Feet:
    """The feet of a robot, in any posture.

    Attributes:
        feet: the feet, in the order in which they are named, or found.
        model: a robot whose root is at the origin, in the posture of the last `place`.
        height: height of the root above the feet in the initial posture [m].
    """

    def __init__(self, body: Body, names: Sequence[str] = ()) -> None:
        """Find the feet.

        Args:
            body: the robot; its sensors are taken.
            names: links or force sensors; where empty, the ends of the limbs that the robot
                stands on in its initial posture.

        Raises:
            CnoidControlError: there is no such link, or the robot has none that it stands on.
        """
        self.model = body.clone()
        model = self.model
        model.initialize_position()
        model.q[:] = body.start_posture
        root = model.root_link
        root.p, root.R = np.zeros(3), np.eye(3)
        root.v, root.w = np.zeros(3), np.zeros(3)
        model.calc_forward_kinematics(velocity=True)
        links = _named(body, names) if names else _found(body, model)
        self.feet = [_make_foot(body, model.links[link.index]) for link in links]
        self.height = -float(self.place(np.array([0.0, 0.0, 1.0])).contacts[:, 2].min())

    @property
    def sensors(self) -> list[ForceSensor]:
        """Force sensors of all feet; none where one foot has none."""
        found = [foot.sensor for foot in self.feet if foot.sensor is not None]
        return found if len(found) == len(self.feet) else []

    def move(self, q: np.ndarray, dq: np.ndarray) -> None:
        """Bring the model into a posture and motion."""
        self.model.q[:], self.model.dq[:] = q, dq
        self.model.calc_forward_kinematics(velocity=True)

    def place(self, up: np.ndarray) -> Soles:
        """Where the feet of the model are, and how they move.

        Args:
            up: upwards, in root axes, shape (3,).
        """
        found = np.empty((4, len(self.feet), 3))
        poses, motions = self.model.data.oMi, self.model.data.v
        for i, foot in enumerate(self.feet):
            pose, motion = poses[foot.joint], motions[foot.joint]
            R, p, w = pose.rotation, pose.translation, motion.angular
            # In the frame of the joint, in which pinocchio has the velocities.
            local_up = up @ R
            lowest = (foot.points @ local_up - foot.radii).argmin()
            contact = foot.points[lowest] - foot.radii[lowest] * local_up
            found[0, i] = p + R @ foot.sole
            found[1, i] = p + R @ contact
            found[2, i] = R @ (motion.linear + cross(w, contact))
            found[3, i] = R @ w
        return Soles(*found)


def _named(body: Body, names: Sequence[str]) -> list[Link]:
    sensors = {device.name: device.link for device in body.devices_of(ForceSensor)}
    known = {link.name: link for link in body.links}
    found = []
    for name in names:
        link = sensors.get(name) or known.get(name)
        if link is None:
            raise CnoidControlError(f'unknown foot {name!r}; {choices([*sensors, *known])}')
        found.append(link)
    return found


def _found(body: Body, model: Body) -> list[Link]:
    links = [body.links[link.index] for link in limbs_of(touching_links(model))]
    # What does not move against the root is no leg.
    links = [link for link in links if any(_moves(above) for above in ancestors(link))]
    if not links:
        links = [device.link for device in body.devices_of(ForceSensor) if device.link is not None]
    if not links:
        raise CnoidControlError(f'{body.name}: no limb touches the ground: name the feet')
    return links


def _moves(link: Link) -> bool:
    return link.parent is not None and link.joint_type.has_displacement


def _make_foot(body: Body, placed: Link) -> Foot:
    """Foot of a robot; `placed` is the link in the initial posture, the root upright."""
    link = body.links[placed.index]
    points, radii = _outline(body, link)
    heights = points @ placed.R[2] - radii
    low = heights <= heights.min() + TOUCH * np.ptp(heights)
    fixed = body.tree.placements[link.index] or pin.SE3.Identity()
    points = points @ fixed.rotation.T + fixed.translation
    joint = body.tree.pin_joints[link.index]
    return Foot(link.index, joint, points, radii, points[low].mean(axis=0), _sensor(body, link))


def _outline(body: Body, link: Link) -> tuple[np.ndarray, np.ndarray]:
    """Outermost points of a link and of what is fixed to it, link frame, and their radii."""
    shapes = solid_shapes(one.description for one in body.links)
    solids = [corners(shape) for shape in shapes[link.name]]
    found = [(solid.points, solid.radius) for solid in solids if solid is not None]
    if not found:
        return np.zeros((1, 3)), np.zeros(1)
    points = np.concatenate([one for one, _ in found])
    radii = np.concatenate([np.full(len(one), radius) for one, radius in found])
    if len(points) > DIRECTIONS:
        reach = points @ _directions().T + radii[:, None]
        kept = np.unique(np.argmax(reach, axis=0))
        points, radii = points[kept], radii[kept]
    return points, radii


def _directions() -> np.ndarray:
    """Unit vectors all over the sphere, on a spiral, shape (DIRECTIONS, 3)."""
    numbers = np.arange(DIRECTIONS) + 0.5
    z = 1.0 - 2.0 * numbers / DIRECTIONS
    turn = np.pi * (1.0 + np.sqrt(5.0)) * numbers
    around = np.sqrt(1.0 - z * z)
    return np.stack([around * np.cos(turn), around * np.sin(turn), z], axis=1)


def _sensor(body: Body, link: Link) -> ForceSensor | None:
    """Force sensor between the foot and the joint that moves it."""
    piece = [link]
    while piece[-1].parent is not None and not piece[-1].joint_type.has_displacement:
        piece.append(piece[-1].parent)
    for device in body.devices_of(ForceSensor):
        if any(device.link is one for one in piece):
            return device
    return None
