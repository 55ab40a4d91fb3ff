"""The kinematic tree of a body and its pinocchio model."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.body.description import BodyDescription, JointType, LinkDescription
from cnoid_control.body.exceptions import (
    ModelError,
    UnknownLink,
    duplicate_name,
    root_link_error,
)
from cnoid_control.exceptions import choices


def depth_first_order(description: BodyDescription) -> list[LinkDescription]:
    """Check the description and give its links depth-first, children in file order.

    Raises:
        ModelError: the subclass that names the first fact found wrong.
    """
    _check_names(description)
    for link in description.links:
        _check_link(link, description.source)
    _check_mimics(description)
    ordered = _sort_tree(description)
    _check_rigid_parts(ordered, description.source)
    return ordered


def _check_names(description: BodyDescription) -> None:
    source = description.source
    links: set[str] = set()
    joints: set[str] = set()
    joint_of_id: dict[int, str] = {}
    for link in description.links:
        if link.name in links:
            raise duplicate_name('link', link.name, source)
        links.add(link.name)
        if link.parent is not None and link.joint_name in joints:
            raise duplicate_name('joint', link.joint_name, source)
        joints.add(link.joint_name)
        if link.joint_id >= 0:
            if link.joint_id in joint_of_id:
                raise ModelError(
                    f'joint id {link.joint_id} is used by {joint_of_id[link.joint_id]!r} and '
                    f'by {link.joint_name!r}',
                    source,
                )
            joint_of_id[link.joint_id] = link.joint_name
    devices: set[str] = set()
    for link_name, device in description.devices:
        if link_name not in links:
            raise UnknownLink(link_name, sorted(links), source)
        if device.name and device.name in devices:
            raise duplicate_name('device', device.name, source)
        devices.add(device.name)


def _invalid_inertia(link: LinkDescription, source: str) -> ModelError:
    inertia = link.inertia.tolist()
    return ModelError(
        f'link {link.name!r} has inertia {inertia}; it must be symmetric and positive definite',
        source,
    )


def _check_link(link: LinkDescription, source: str) -> None:
    if not np.isfinite(link.mass) or link.mass < 0.0:
        raise ModelError(
            f'link {link.name!r} has mass {link.mass}; it must be finite and >= 0', source
        )
    inertia = link.inertia
    if not np.all(np.isfinite(inertia)) or not np.allclose(inertia, inertia.T, atol=1e-9):
        raise _invalid_inertia(link, source)
    moments = np.linalg.eigvalsh(inertia)
    # Zero moments are looked at later, with what the link is fixed to; negative ones never are.
    if moments[0] < -1e-9 * moments[2] - 1e-15:
        raise _invalid_inertia(link, source)
    for lower, upper in (('q_lower', 'q_upper'), ('dq_lower', 'dq_upper'), ('u_lower', 'u_upper')):
        # Written so that a limit which is not a number is refused too.
        if not getattr(link, lower) <= getattr(link, upper):
            limits = getattr(link, lower), getattr(link, upper)
            raise ModelError(
                f'joint {link.joint_name!r} has {lower} {limits[0]} above its upper limit '
                f'{limits[1]}',
                source,
            )
    axis = link.joint_axis
    needs_axis = link.joint_type.is_joint
    if not np.all(np.isfinite(axis)) or (needs_axis and not np.linalg.norm(axis) > 0.0):
        raise ModelError(
            f'link {link.name!r} has joint axis {axis.tolist()}; it must be a finite non-zero '
            'vector',
            source,
        )


def _check_mimics(description: BodyDescription) -> None:
    leaders = [
        link.joint_name
        for link in description.links
        if link.joint_type.has_displacement and link.mimic is None
    ]
    for link in description.links:
        if link.mimic is not None and link.mimic.joint not in leaders:
            raise ModelError(
                f'joint {link.joint_name!r} cannot mimic {link.mimic.joint!r}; {choices(leaders)}',
                description.source,
            )


def _sort_tree(description: BodyDescription) -> list[LinkDescription]:
    names = [link.name for link in description.links]
    children: dict[str | None, list[LinkDescription]] = {}
    for link in description.links:
        if link.parent is not None and link.parent not in names:
            raise ModelError(
                f'link {link.name!r} has unknown parent {link.parent!r}; {choices(names)}',
                description.source,
            )
        children.setdefault(link.parent, []).append(link)
    roots = children.get(None, [])
    if len(roots) > 1 or (not roots and not names):
        raise root_link_error([link.name for link in roots], description.source)
    ordered: list[LinkDescription] = []
    stack = list(roots)
    while stack:
        link = stack.pop()
        ordered.append(link)
        stack.extend(reversed(children.get(link.name, [])))
    if len(ordered) < len(names):
        reached = {link.name for link in ordered}
        raise ModelError(
            f'links in a cycle: {", ".join(name for name in names if name not in reached)}',
            description.source,
        )
    return ordered


def _pieces(ordered: list[LinkDescription]) -> list[list[LinkDescription]]:
    """Links that move as one, parents first."""
    pieces: dict[str, list[LinkDescription]] = {}
    piece_of: dict[str, str] = {}
    for link in ordered:
        moves = link.joint_type.has_displacement or link.joint_type is JointType.FREE
        fixed = link.parent is not None and not moves
        piece_of[link.name] = piece_of[str(link.parent)] if fixed else link.name
        pieces.setdefault(piece_of[link.name], []).append(link)
    return list(pieces.values())


def _check_rigid_parts(ordered: list[LinkDescription], source: str) -> None:
    """Refuse inertias that leave what moves as one piece without a moment about some axis.

    Links that are fixed to others often have a point mass, a flat plate's inertia or nothing at
    all: what counts is the piece that they are part of.
    """
    for links in _pieces(ordered):
        flat = [link for link in links if _is_flat(link)]
        if flat and not (np.linalg.eigvalsh(_inertia_of_piece(links))[0] > 0.0):
            raise _invalid_inertia(flat[0], source)


def _is_flat(link: LinkDescription) -> bool:
    """Whether a link with mass or inertia has no moment about some axis."""
    if link.mass == 0.0 and not link.inertia.any():
        return False
    moments = np.linalg.eigvalsh(link.inertia)
    return bool(moments[0] <= 1e-9 * moments[2])


def _inertia_of_piece(links: list[LinkDescription]) -> np.ndarray:
    """Inertia of links that move as one, about their centre of mass, axes of the first."""
    poses = {links[0].name: (np.zeros(3), np.eye(3))}
    mass, moment, total = 0.0, np.zeros(3), np.zeros((3, 3))
    for link in links:
        if link is not links[0]:
            origin, axes = poses[str(link.parent)]
            poses[link.name] = (origin + axes @ link.translation, axes @ link.rotation)
        origin, axes = poses[link.name]
        center = origin + axes @ link.center_of_mass
        mass += link.mass
        moment += link.mass * center
        total += axes @ link.inertia @ axes.T + link.mass * _about(center)
    if mass > 0.0:
        total -= mass * _about(moment / mass)
    return total


def _about(point: np.ndarray) -> np.ndarray:
    """Inertia of a unit mass at a point about the origin."""
    return float(point @ point) * np.eye(3) - np.outer(point, point)


ROOT_NQ = 7
ROOT_NV = 6


class KinematicTree:
    """What all clones of a body share: the checked links and the pinocchio model.

    The root is a free-flyer in pinocchio even where the body is fixed to the world, so that its
    pose is an input of forward kinematics in both cases. Links with a free joint and a parent are
    on their parent there, as in Choreonoid's kinematics; their poses are a state of the body.

    Attributes:
        description: the model as loaded.
        links: links depth-first; the index of a link is its place here.
        parents: index of each link's parent; -1 for the root.
        free_links: index of the nearest free link that carries each link, or is it; -1 for none.
            The root does not count.
        mass: total mass [kg].
        model: the pinocchio model, moving links only, with the description's gravity.
        pin_joints: index of the pinocchio joint that carries each link.
        placements: pose of each link on that joint; None where the link is the joint's own.
        joint_slots: row of each link's joint in the joint arrays (joint-id order, then the
            virtual joints in link order); -1 for links without a joint that can be commanded.
        num_joints: highest joint id + 1.
        num_slots: rows of the joint arrays.
        slots_in_pin_order: slot of each one-dof pinocchio joint, in pinocchio's order.
        packed_in_pin_order: place of each element of pinocchio's configuration and velocity in
            [root velocity (6), root motion (6), root configuration (7), q, dq], q and dq being in
            slot order.
        joint_map: velocities of pinocchio's one-dof joints from those of the joints with an id,
            shape (model.nv - 6, num_joints); mimic joints follow, virtual joints stand still.
    """

    def __init__(self, description: BodyDescription) -> None:
        """Check the description and build the pinocchio model.

        Raises:
            ModelError: the description is not a robot.
        """
        self.description = description
        self.links = depth_first_order(description)
        index = {link.name: i for i, link in enumerate(self.links)}
        self.parents = [-1 if link.parent is None else index[link.parent] for link in self.links]
        self.free_links: list[int] = []
        for i, (link, parent) in enumerate(zip(self.links, self.parents, strict=True)):
            free = parent >= 0 and link.joint_type is JointType.FREE
            above = self.free_links[parent] if parent >= 0 else -1
            self.free_links.append(i if free else above)
        self.mass = float(sum(link.mass for link in self.links))
        self._assign_slots()
        self._build_model()

    def _assign_slots(self) -> None:
        self.num_joints = 1 + max((link.joint_id for link in self.links), default=-1)
        slots = []
        next_virtual = self.num_joints
        for link in self.links:
            if link.joint_id >= 0:
                slots.append(link.joint_id)
            elif link.joint_type.is_joint and link.parent is not None:
                slots.append(next_virtual)
                next_virtual += 1
            else:
                slots.append(-1)
        self.joint_slots = slots
        self.num_slots = next_virtual
        slot_of_joint = {link.joint_name: slots[i] for i, link in enumerate(self.links)}
        mimics = [
            (slots[i], slot_of_joint[link.mimic.joint], link.mimic.multiplier, link.mimic.offset)
            for i, link in enumerate(self.links)
            if link.mimic is not None
        ]
        self.mimic_slots = np.array([row[0] for row in mimics], dtype=int)
        self.mimicked_slots = np.array([row[1] for row in mimics], dtype=int)
        self.mimic_multipliers = np.array([row[2] for row in mimics], dtype=float)
        self.mimic_offsets = np.array([row[3] for row in mimics], dtype=float)

    def _build_model(self) -> None:
        model = pin.Model()
        model.name = self.description.name
        model.gravity.linear = np.array(self.description.gravity)
        joints: list[int] = []
        placements: list[pin.SE3 | None] = []
        order: list[int] = []
        for i, link in enumerate(self.links):
            parent = self.parents[i]
            if parent < 0:
                joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), link.name)
                placement = None
            else:
                offset = pin.SE3(link.rotation, link.translation)
                carrier = placements[parent]
                offset = offset if carrier is None else carrier * offset
                if link.joint_type.has_displacement:
                    joint = model.addJoint(joints[parent], _joint_model(link), offset, link.name)
                    model.armature[model.joints[joint].idx_v] = link.rotor_inertia
                    order.append(self.joint_slots[i])
                    placement = None
                else:
                    joint = joints[parent]
                    placement = offset
            inertia = pin.Inertia(link.mass, link.center_of_mass, link.inertia)
            model.appendBodyToJoint(joint, inertia, placement or pin.SE3.Identity())
            joints.append(joint)
            placements.append(placement)
        self.model = model
        self.pin_joints = joints
        self.placements = placements
        self.slots_in_pin_order = np.array(order, dtype=np.intp)
        root_start = 2 * ROOT_NV
        start = root_start + ROOT_NQ
        self.packed_in_pin_order = np.concatenate(
            [
                root_start + np.arange(ROOT_NQ),
                start + self.slots_in_pin_order,
                np.arange(ROOT_NV),
                start + self.num_slots + self.slots_in_pin_order,
            ]
        )
        slot_map = np.eye(self.num_slots)
        slot_map[self.mimic_slots] = 0.0
        slot_map[self.mimic_slots, self.mimicked_slots] = self.mimic_multipliers
        self.joint_map = slot_map[self.slots_in_pin_order, : self.num_joints]


def _joint_model(link: LinkDescription) -> pin.JointModel:
    axis = link.joint_axis / np.linalg.norm(link.joint_axis)
    revolute = link.joint_type is JointType.REVOLUTE
    # The aligned joint types are cheaper in pinocchio than the general one.
    aligned = {
        (1.0, 0.0, 0.0): (pin.JointModelRX, pin.JointModelPX),
        (0.0, 1.0, 0.0): (pin.JointModelRY, pin.JointModelPY),
        (0.0, 0.0, 1.0): (pin.JointModelRZ, pin.JointModelPZ),
    }.get(tuple(axis.tolist()))
    if aligned is not None:
        return aligned[0 if revolute else 1]()
    unaligned = pin.JointModelRevoluteUnaligned if revolute else pin.JointModelPrismaticUnaligned
    return unaligned(axis)
