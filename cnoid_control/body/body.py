"""A robot: links, joints, devices, and the state that they share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pinocchio as pin

from cnoid_control.body.body_motion import STATE_ARRAYS, BodyMotion
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.device import Device
from cnoid_control.body.device_list import DeviceList
from cnoid_control.body.exceptions import (
    DuplicateName,
    UnknownJoint,
    UnknownJointGroup,
    UnknownLink,
)
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.body.joint_type import JointType
from cnoid_control.body.kinematic_tree import KinematicTree
from cnoid_control.body.link import Link

DeviceT = TypeVar('DeviceT', bound=Device)


@dataclass(frozen=True)
class BodyState:
    """Copy of everything that moves: joint arrays, root motion and external wrenches."""

    joints: dict[str, np.ndarray]
    root_q: np.ndarray
    root_motion: np.ndarray
    root_acceleration: np.ndarray
    external_wrenches: np.ndarray


class Body(BodyMotion):
    """A robot model with its state.

    The state lives in arrays, one element a joint in joint-id order; links are views on them.
    Forward kinematics are run by `calc_forward_kinematics`; what links say of their place in the
    world is the result of the last run.

    Attributes:
        q: joint displacements [rad] or [m], shape (num_joints,).
        dq: joint velocities [rad/s] or [m/s].
        ddq: joint accelerations [rad/s^2] or [m/s^2].
        u: joint efforts [N m] or [N].
        q_target, dq_target: commanded displacements and velocities.
        kp, ki, kd: gains of the joints' PID actuators, commanded along with the targets.
        q_lower, q_upper, dq_lower, dq_upper, u_lower, u_upper: limits; infinite for none.
        joint_arrays: the arrays by name, with the virtual joints behind the joints.
        configuration: root_q and the displacements of all joints in one array.
        root_q: pose of the root in the world: position [m] and quaternion x y z w, shape (7,); a
            view to read from, set the pose through `root_link`.
        root_motion: velocity [m/s] and angular velocity [rad/s] of the root, world axes, (2, 3).
        external_wrenches: force [N] and torque about the world origin [N m] on each link, world
            axes, shape (num_links, 6).
        devices: what it carries, sorted by link.
        joint_groups: sets of joints by name.
    """

    def __init__(self, description: BodyDescription | KinematicTree, name: str = '') -> None:
        """Build a body in its initial posture.

        Args:
            description: the model, or the tree of a body to share it with.
            name: name of this robot; the model's name where empty.

        Raises:
            ModelError: the description is not a robot.
        """
        if isinstance(description, BodyDescription):
            description = KinematicTree(description)
        super().__init__(description)
        self.name = name or self.model_name
        self._make_links()
        self._make_devices()
        moving = [joint for joint in self.joints if joint.joint_type.has_displacement]
        self.joint_groups = {'all': JointGroup('all', moving)}
        self.initialize_position()
        self.initialize_state()

    def _make_links(self) -> None:
        tree = self.tree
        self.links = [
            Link(self, link, i, tree.joint_slots[i]) for i, link in enumerate(tree.links)
        ]
        for link, parent in zip(self.links, tree.parents, strict=True):
            if parent >= 0:
                link.parent = self.links[parent]
                self.links[parent].children.append(link)
        self.all_joints: list[Link] = [
            Link(self, LinkDescription(name='', joint_id=slot), -1, slot)
            for slot in range(tree.num_slots)
        ]
        for link, slot in zip(self.links, tree.joint_slots, strict=True):
            if slot >= 0:
                self.all_joints[slot] = link
        self.joints = self.all_joints[: tree.num_joints]
        self._link_of_name = {link.name: link for link in self.links}
        self._joint_of_name = {joint.joint_name: joint for joint in self.all_joints if joint.name}

    def _make_devices(self) -> None:
        placed = [
            (self._link_of_name[name], device) for name, device in self.tree.description.devices
        ]
        placed.sort(key=lambda pair: pair[0].index)
        self.devices = DeviceList(Device)
        for index, (link, prototype) in enumerate(placed):
            device = prototype.clone()
            device.link = link
            device.index = index
            self.devices.append(device)

    # --- what it consists of ------------------------------------------------------------------

    @property
    def description(self) -> BodyDescription:
        """The model as loaded."""
        return self.tree.description

    @property
    def model_name(self) -> str:
        """Name that the model file gives."""
        return self.tree.description.name

    @property
    def num_links(self) -> int:
        """Number of links, fixed ones included."""
        return len(self.links)

    @property
    def num_joints(self) -> int:
        """Highest joint id + 1: the length of the joint arrays."""
        return self.tree.num_joints

    @property
    def num_virtual_joints(self) -> int:
        """Number of joints that move but have no joint id."""
        return self.tree.num_slots - self.tree.num_joints

    @property
    def num_all_joints(self) -> int:
        """Joints with and without a joint id."""
        return self.tree.num_slots

    @property
    def num_devices(self) -> int:
        """Number of devices."""
        return len(self.devices)

    @property
    def root_link(self) -> Link:
        """The link that carries all others."""
        return self.links[0]

    @property
    def is_fixed_root(self) -> bool:
        """Whether the root is fixed to the world."""
        return self.root_link.joint_type is not JointType.FREE

    @property
    def joint_names(self) -> list[str]:
        """Names of the joints in joint-id order; empty for a hole in the ids."""
        return [joint.joint_name for joint in self.joints]

    def link(self, key: int | str) -> Link:
        """Link by its depth-first index or its name.

        Raises:
            UnknownLink: there is none.
        """
        if isinstance(key, str):
            found = self._link_of_name.get(key)
        else:
            found = self.links[key] if 0 <= key < len(self.links) else None
        if found is None:
            raise UnknownLink(key, self._link_of_name, self.name)
        return found

    def joint(self, key: int | str) -> Link:
        """Joint by its id or name; ids from num_joints on give the virtual joints.

        Raises:
            UnknownJoint: there is none.
        """
        if isinstance(key, str):
            found = self._joint_of_name.get(key)
        else:
            found = self.all_joints[key] if 0 <= key < len(self.all_joints) else None
        if found is None:
            raise UnknownJoint(key, self._joint_of_name, self.name)
        return found

    def joint_ids(self, names: Iterable[str]) -> np.ndarray:
        """Ids of joints by their names, to index `q` and the other arrays with.

        Raises:
            UnknownJoint: one does not exist, or has no id.
        """
        ids = [(name, self.joint(name).joint_id) for name in names]
        for name, joint_id in ids:
            if joint_id < 0:
                raise UnknownJoint(name, self.joint_names, self.name)
        return np.array([joint_id for _, joint_id in ids], dtype=np.intp)

    def joint_group(self, name: str) -> JointGroup:
        """Joint group by its name; 'all' has all joints with an id, in the order of their ids.

        Raises:
            UnknownJointGroup: there is none.
        """
        if name not in self.joint_groups:
            raise UnknownJointGroup(name, self.joint_groups, self.name)
        return self.joint_groups[name]

    def add_joint_group(self, name: str, joints: Iterable[str]) -> JointGroup:
        """Make a joint group of joints given by their names; a free root by its link's name.

        Raises:
            DuplicateName: there is one of that name, or a joint is named twice.
            UnknownJoint: one of the joints does not exist, or cannot move.
        """
        if name in self.joint_groups:
            raise DuplicateName('joint group', name, self.name)
        root = self.root_link
        members = [
            root if joint in (root.name, root.joint_name) else self.joint(joint)
            for joint in joints
        ]
        self.joint_groups[name] = JointGroup(name, members)
        return self.joint_groups[name]

    def device(self, index: int) -> Device:
        """Device by its index."""
        return self.devices[index]

    def devices_of(self, device_type: type[DeviceT]) -> DeviceList[DeviceT]:
        """Devices of one type, derived types included."""
        return self.devices.of_type(device_type)

    def find_device(self, device_type: type[DeviceT], name: str) -> DeviceT | None:
        """Device of that type and name; None where the name is of another type or unknown."""
        for device in self.devices:
            if device.name == name and isinstance(device, device_type):
                return device
        return None

    # --- state --------------------------------------------------------------------------------

    def initialize_position(self) -> None:
        """Put the root at the model's default pose, joints to q_initial, and run kinematics."""
        root = self.tree.links[0]
        self.root_link.R = root.rotation
        self.root_link.p = root.translation
        for link, slot in zip(self.tree.links, self.tree.joint_slots, strict=True):
            if slot >= 0:
                self.joint_arrays['q'][slot] = link.q_initial
        self.calc_forward_kinematics()

    def initialize_state(self) -> None:
        """Stop all motion: velocities, accelerations, efforts, wrenches to 0, targets to q."""
        for name in ('dq', 'ddq', 'u', 'dq_target'):
            self.joint_arrays[name][:] = 0.0
        self.joint_arrays['q_target'][:] = self.joint_arrays['q']
        self.root_motion[:] = 0.0
        self._root_acceleration[:] = 0.0
        self.external_wrenches[:] = 0.0
        for link in self.links:
            link.contact_points = []
        self.calc_forward_kinematics(velocity=True, acceleration=True)

    def save_state(self) -> BodyState:
        """Copy of the state, for `restore_state`."""
        return BodyState(
            joints={name: self.joint_arrays[name].copy() for name in STATE_ARRAYS},
            root_q=self.root_q.copy(),
            root_motion=self.root_motion.copy(),
            root_acceleration=self._root_acceleration.copy(),
            external_wrenches=self.external_wrenches.copy(),
        )

    def restore_state(self, state: BodyState) -> None:
        """Go back to a saved state and run kinematics with velocity and acceleration."""
        for name, array in state.joints.items():
            self.joint_arrays[name][:] = array
        self.root_q[:] = state.root_q
        self._root_R = pin.Quaternion(self.root_q[3:]).toRotationMatrix()
        self.root_motion[:] = state.root_motion
        self._root_acceleration[:] = state.root_acceleration
        self.external_wrenches[:] = state.external_wrenches
        self.calc_forward_kinematics(velocity=True, acceleration=True)

    def clone(self) -> Body:
        """Body of the same model and state that shares nothing that changes."""
        twin = Body(self.tree, self.name)
        for name, array in self.joint_arrays.items():
            twin.joint_arrays[name][:] = array
        for mine, theirs in zip(self.links, twin.links, strict=True):
            theirs.actuation_mode = mine.actuation_mode
        for device, copied in zip(self.devices, twin.devices, strict=True):
            copied.copy_state_from(device)
        for name, group in self.joint_groups.items():
            if name not in twin.joint_groups:
                twin.add_joint_group(name, group.joint_names)
        twin.restore_state(self.save_state())
        return twin

    def __repr__(self) -> str:
        """Name and size."""
        return f'Body({self.name!r}, links={self.num_links}, joints={self.num_joints})'
