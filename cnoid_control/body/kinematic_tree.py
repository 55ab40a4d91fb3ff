"""A description turned into a pinocchio model, with the maps between the two orders."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.joint_type import JointType
from cnoid_control.body.validation import depth_first_order

ROOT_NQ = 7
ROOT_NV = 6


class KinematicTree:
    """What all clones of a body share: the checked links and the pinocchio model.

    The root is a free-flyer in pinocchio even where the body is fixed to the world, so that its
    pose is an input of forward kinematics in both cases.

    Attributes:
        description: the model as loaded.
        links: links depth-first; the index of a link is its place here.
        parents: index of each link's parent; -1 for the root.
        mass: total mass [kg].
        model: the pinocchio model, moving links only, gravity (0, 0, -9.80665).
        pin_joints: index of the pinocchio joint that carries each link.
        placements: pose of each link on that joint; None where the link is the joint's own.
        joint_slots: row of each link's joint in the joint arrays (joint-id order, then the
            virtual joints in link order); -1 for links without a displacement.
        num_joints: highest joint id + 1.
        num_slots: rows of the joint arrays.
        slots_in_pin_order: slot of each one-dof pinocchio joint, in pinocchio's order.
        packed_in_pin_order: place of each element of pinocchio's configuration and velocity in
            [root configuration (7), q, root velocity (6), dq], q and dq being in slot order.
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
            elif link.joint_type.has_displacement and link.parent is not None:
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
        model.gravity.linear = np.array([0.0, 0.0, -9.80665])
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
        velocity_start = ROOT_NQ + self.num_slots
        self.packed_in_pin_order = np.concatenate(
            [
                np.arange(ROOT_NQ),
                ROOT_NQ + self.slots_in_pin_order,
                velocity_start + np.arange(ROOT_NV),
                velocity_start + ROOT_NV + self.slots_in_pin_order,
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
