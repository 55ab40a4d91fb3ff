"""Body: a robot with its links, joints and devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
import pinocchio as pin

from cnoid_control.body.description import BodyDescription, JointType, LinkDescription
from cnoid_control.body.devices.base import Device, DeviceList
from cnoid_control.body.exceptions import ModelError, UnknownJoint, UnknownLink, duplicate_name
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.body.joint_values import (
    BLOCK_ARRAYS,
    JOINT_ARRAYS,
    LIMIT_ARRAYS,
    joint_values,
)
from cnoid_control.body.kinematic_tree import ROOT_NQ, ROOT_NV, KinematicTree
from cnoid_control.body.link import Link
from cnoid_control.body.read_only import read_only
from cnoid_control.exceptions import choices

# Looked up once: the look-ups would add a tenth to the cost of the calls.
forward_kinematics = pin.forwardKinematics
center_of_mass = pin.centerOfMass

WORLD_ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

STATE_ARRAYS = ('q', 'dq', 'ddq', 'u', 'q_target', 'dq_target')

MOMENTUM_POINTS = ('world', 'root', 'com')


def _joint_array(name: str) -> Any:
    """Property that gives one of the joint arrays and, when set, takes the values over.

    Links, hardware and loop look at the arrays, so `body.u = gains * error` must not put another
    array in their stead.
    """

    def put(body: Body, value: object) -> None:
        array = body.joint_arrays[name][: body.tree.num_joints]
        try:
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError) as error:
            raise _wrong_array(name, array.shape, value) from error
        if value is None or numbers.shape not in ((), array.shape):
            raise _wrong_array(name, array.shape, value)
        array[:] = numbers

    # attrgetter is quicker than a function: controllers read these in every step.
    return property(attrgetter(f'_{name}'), put)


def _wrong_array(name: str, shape: tuple[int, ...], value: object) -> ValueError:
    given = np.shape(value) if isinstance(value, np.ndarray) else repr(value)[:80]
    return ValueError(f'body.{name} has shape {shape} and takes one number per joint, got {given}')


def cross(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Cross product of two vectors of 3, in a tenth of the time that numpy's general one takes."""
    a, b, c = one.tolist()
    x, y, z = other.tolist()
    return np.array((b * z - c * y, c * x - a * z, a * y - b * x))


DeviceT = TypeVar('DeviceT', bound=Device)


@dataclass(frozen=True)
class BodyState:
    """Copy of everything that moves: joints, root, external wrenches, poses of free links."""

    joints: dict[str, np.ndarray]
    root_q: np.ndarray
    root_motion: np.ndarray
    root_acceleration: np.ndarray
    external_wrenches: np.ndarray
    free_poses: dict[int, pin.SE3] = field(default_factory=dict)


class Body:
    """A robot model with its state.

    The state lives in arrays, one element per joint in joint-id order; links are views on them.
    Forward kinematics are run by `calc_forward_kinematics`; the poses and velocities
    of links are the results of the last run.

    Attributes:
        tree: links and pinocchio model, shared by clones.
        model: pinocchio's model.
        data: results of pinocchio's last call.
        q: joint displacements [rad] or [m], shape (num_joints,).
        dq: joint velocities [rad/s] or [m/s].
        ddq: joint accelerations [rad/s^2] or [m/s^2].
        u: joint efforts [N m] or [N].
        q_target: commanded joint displacements [rad] or [m].
        dq_target: commanded joint velocities [rad/s] or [m/s].
        kp: position gains of the joints' PID actuators, commanded along with the targets.
        ki: their integral gains.
        kd: their velocity gains.
        q_lower: lower limits of q; infinite for none, as with all limits.
        q_upper: upper limits of q.
        dq_lower: lower limits of dq.
        dq_upper: upper limits of dq.
        u_lower: lower limits of u.
        u_upper: upper limits of u.
        joint_arrays: the arrays by name, with the virtual joints behind the joints.
        configuration: root_q and the displacements of all joints in one array; simulators write
            to it, and give the root's axes by `set_root_axes`.
        values: root_motion, root_q and the joint arrays in one array, behind the velocity of the
            root in its own axes, which kinematics write there.
        state_and_effort: q, dq and u of all joints in one array.
        root_q: pose of the root in the world: position [m] and quaternion x y z w, shape (7,);
            read only, set the pose through `root_link`.
        root_motion: velocity [m/s] and angular velocity [rad/s] of the root, world axes, (2, 3).
        external_wrenches: force [N] and torque about the world origin [N m] on each link, world
            axes, shape (num_links, 6).
        devices: devices on its links, sorted by link.
        joint_groups: sets of joints by name.
        start_posture: displacements in which the robot starts [rad] or [m], shape (num_joints,):
            the model's, or those in which a configuration places it.
    """

    q: np.ndarray = _joint_array('q')
    dq: np.ndarray = _joint_array('dq')
    ddq: np.ndarray = _joint_array('ddq')
    u: np.ndarray = _joint_array('u')
    q_target: np.ndarray = _joint_array('q_target')
    dq_target: np.ndarray = _joint_array('dq_target')
    kp: np.ndarray = _joint_array('kp')
    ki: np.ndarray = _joint_array('ki')
    kd: np.ndarray = _joint_array('kd')
    q_lower: np.ndarray = _joint_array('q_lower')
    q_upper: np.ndarray = _joint_array('q_upper')
    dq_lower: np.ndarray = _joint_array('dq_lower')
    dq_upper: np.ndarray = _joint_array('dq_upper')
    u_lower: np.ndarray = _joint_array('u_lower')
    u_upper: np.ndarray = _joint_array('u_upper')

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
        self.tree = description
        self.model = self.tree.model
        self.data = pin.Data(self.model)
        self._com = read_only(np.zeros(3))
        self._make_arrays()
        self.name = name or self.model_name
        self._make_links()
        self._make_devices()
        moving = [joint for joint in self.joints if joint.joint_type.has_displacement]
        self.joint_groups = {'all': JointGroup('all', moving)}
        self.initialize_position()
        self.initialize_state()
        self.start_posture = self.q.copy()

    def _make_arrays(self) -> None:
        tree = self.tree
        # Everything lies in one array: [velocity of the root in its own axes, root_motion, root
        # configuration, q, dq], which a single indexing turns into pinocchio's order and a
        # simulator fills by another one; behind them the commands side by side, so that those of
        # all joints are copied in one piece, and whoever looks at a state sees one piece, too.
        first, count = 2 * ROOT_NV + ROOT_NQ, tree.num_slots
        self.values = np.zeros(first + len(JOINT_ARRAYS) * count)
        velocity, motion, self._root_q, self._joint_part = np.split(
            self.values, [ROOT_NV, 2 * ROOT_NV, first]
        )
        self._packed = self.values[: first + 2 * count]
        self._root_v, self.root_motion = velocity.reshape(2, 3), motion.reshape(2, 3)
        self.configuration = self.values[2 * ROOT_NV : first + count]
        self.state_and_effort = self._joint_part[: 3 * count]
        rows = self._joint_part.reshape(len(JOINT_ARRAYS), count)
        self.joint_block = rows[2 : 2 + len(BLOCK_ARRAYS)]
        self._root_q[-1] = 1.0
        # Written to, its quaternion would differ from the root's axes.
        self.root_q = read_only(self._root_q)
        self.joint_arrays: dict[str, np.ndarray] = dict(zip(JOINT_ARRAYS, rows, strict=True))
        for name in LIMIT_ARRAYS:
            self.joint_arrays[name][:] = -np.inf if name.endswith('lower') else np.inf
            for link, slot in zip(tree.links, tree.joint_slots, strict=True):
                if slot >= 0:
                    self.joint_arrays[name][slot] = getattr(link, name)
        for name, array in self.joint_arrays.items():
            setattr(self, f'_{name}', array[: tree.num_joints])
        self._pin_state = np.zeros(self.model.nq + self.model.nv)
        self._pin_q, self._pin_v = np.split(self._pin_state, [self.model.nq])
        self._pin_a = np.zeros(self.model.nv)
        self._pin_root_a = self._pin_a[:ROOT_NV].reshape(2, 3)
        self._pin_joint_a = self._pin_a[ROOT_NV:]
        # Bound once: looking these up would cost as much as using them.
        self._pack: Callable[..., Any] = self._packed.take
        self._pack_arguments = (tree.packed_in_pin_order, None, self._pin_state, 'clip')
        self._position_arguments = (self.model, self.data, self._pin_q)
        self._velocity_arguments = (self.model, self.data, self._pin_q, self._pin_v)
        self._com_arguments = (self.model, self.data, pin.POSITION, False)
        self._has_mimics = tree.mimic_slots.size > 0
        self._root_R = np.eye(3)
        self._turn_root_motion = self.root_motion.dot
        self._root_acceleration = np.zeros((2, 3))
        self.external_wrenches = np.zeros((len(tree.links), 6))
        # World values set by hand on links other than the root; the next kinematics drops them.
        self._overrides: dict[tuple[int, str], np.ndarray] = {}
        # Poses of links with a free joint and a parent, once they have left it.
        self._free_poses: dict[int, pin.SE3] = {}

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

    # --- links, joints and devices ------------------------------------------------------------

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
            ModelError: there is none.
        """
        if name not in self.joint_groups:
            raise ModelError(
                f'unknown joint group {name!r}; {choices(self.joint_groups)}', self.name
            )
        return self.joint_groups[name]

    def add_joint_group(self, name: str, joints: Iterable[str]) -> JointGroup:
        """Make a joint group of joints given by their names; a free root by its link's name.

        Raises:
            ModelError: there is one of that name, or a joint is named twice.
            UnknownJoint: one of the joints does not exist, or cannot move.
        """
        if name in self.joint_groups:
            raise duplicate_name('joint group', name, self.name)
        root = self.root_link
        members = [
            root if joint in (root.name, root.joint_name) else self.joint(joint)
            for joint in joints
        ]
        self.joint_groups[name] = JointGroup(name, members)
        return self.joint_groups[name]

    def add_rotor_inertia(self, joint_id: int, inertia: float) -> None:
        """Give a joint more rotor inertia [kg m^2] or [kg], in its model too.

        All clones share the model: to be called before there are any.
        """
        link = self.joints[joint_id]
        link.description.rotor_inertia += inertia
        joint = self.model.joints[self.tree.pin_joints[link.index]]
        self.model.armature[joint.idx_v] = link.description.rotor_inertia

    def device(self, index: int | str) -> Device:
        """Device by its index or its name.

        Raises:
            ModelError: there is none of that name; the message has those that there are.
        """
        if not isinstance(index, str):
            return self.devices[index]
        for device in self.devices:
            if device.name == index:
                return device
        raise ModelError(
            f'{self.name} has no device {index!r}; {choices(one.name for one in self.devices)}'
        )

    def devices_of(self, device_type: type[DeviceT]) -> DeviceList[DeviceT]:
        """Devices of one type, derived types included.

        Raises:
            ModelError: what is given is no class.
        """
        if not isinstance(device_type, type):
            raise ModelError(
                f'{device_type!r} is no type of device; give the class, such as '
                f'cnoid_control.body.devices.Camera, or use body.device(name)'
            )
        return self.devices.of_type(device_type)

    def find_device(self, device_type: type[DeviceT], name: str) -> DeviceT:
        """Device of that type and name; whether there is one, `devices_of` tells.

        Raises:
            ModelError: there is none; the message has those of the type that there are.
        """
        found = self.devices_of(device_type)
        for device in found:
            if device.name == name:
                return device
        kind = device_type.__name__
        raise ModelError(
            f'{self.name} has no {kind} {name!r}; {choices(one.name for one in found)}'
        )

    # --- state --------------------------------------------------------------------------------

    def initialize_position(self) -> None:
        """Put the root at the model's default pose, joints to q_initial, and run kinematics."""
        root = self.tree.links[0]
        self._free_poses.clear()
        self.root_link.R = root.rotation
        self.root_link.p = root.translation
        for link, slot in zip(self.tree.links, self.tree.joint_slots, strict=True):
            if slot >= 0:
                self.joint_arrays['q'][slot] = link.q_initial
        self.calc_forward_kinematics()

    def placed_description(self) -> BodyDescription:
        """The model with the present place and posture as those that it starts in."""
        q = self.joint_arrays['q']
        links = [
            replace(link, q_initial=float(q[slot])) if slot >= 0 else link
            for link, slot in zip(self.tree.links, self.tree.joint_slots, strict=True)
        ]
        root = self.root_link
        links[0] = replace(links[0], translation=root.p.copy(), rotation=root.R.copy())
        return replace(self.description, links=links)

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
            free_poses=dict(self._free_poses),
        )

    def restore_state(self, state: BodyState) -> None:
        """Go back to a saved state and run kinematics with velocity and acceleration."""
        for name, array in state.joints.items():
            self.joint_arrays[name][:] = array
        self._root_q[:] = state.root_q
        self._root_R = pin.Quaternion(self._root_q[3:]).toRotationMatrix()
        self.root_motion[:] = state.root_motion
        self._root_acceleration[:] = state.root_acceleration
        self.external_wrenches[:] = state.external_wrenches
        self._free_poses = dict(state.free_poses)
        self.calc_forward_kinematics(velocity=True, acceleration=True)

    def clone(self) -> Body:
        """Body of the same model and state that shares nothing that changes."""
        twin = Body(self.tree, self.name)
        for name, group in self.joint_groups.items():
            if name not in twin.joint_groups:
                twin.add_joint_group(name, group.joint_names)
        twin.copy_state_from(self)
        twin.start_posture = self.start_posture.copy()
        return twin

    def copy_state_from(self, source: Body) -> None:
        """Take over all that changes from a body of the same model: joints, modes, devices."""
        for name, array in source.joint_arrays.items():
            self.joint_arrays[name][:] = array
        for mine, theirs in zip(self.links, source.links, strict=True):
            mine.actuation_mode = theirs.actuation_mode
        for own, device in zip(self.devices, source.devices, strict=True):
            own.copy_state_from(device)
        self.restore_state(source.save_state())

    # --- kinematics ---------------------------------------------------------------------------

    def pin_q(self) -> np.ndarray:
        """Pinocchio's configuration vector [root position, quaternion x y z w, joints], current.

        The vector is the body's own and changes with it; copy it to keep it.
        """
        self._update_pin_state()
        return self._pin_q

    def pin_v(self) -> np.ndarray:
        """Pinocchio's velocity vector [root linear, root angular (root axes), joints], current."""
        self._update_pin_state()
        return self._pin_v

    def pin_state(self) -> tuple[np.ndarray, np.ndarray]:
        """Both vectors, for little more than one."""
        self._update_pin_state()
        return self._pin_q, self._pin_v

    def pin_a(self) -> np.ndarray:
        """Pinocchio's acceleration vector (spatial, root axes, then joints), current."""
        return self.pin_acceleration(self._root_acceleration[0])

    def pin_acceleration(self, root_dv: np.ndarray) -> np.ndarray:
        """As `pin_a`, with another acceleration of the root's origin [m/s^2], world axes."""
        ddq = self.joint_arrays['ddq']
        tree = self.tree
        if self._has_mimics:
            ddq[tree.mimic_slots] = tree.mimic_multipliers * ddq[tree.mimicked_slots]
        ddq.take(tree.slots_in_pin_order, None, self._pin_joint_a, 'clip')
        acceleration = self._root_acceleration.copy()
        acceleration[0] = root_dv
        (x, y, z), (a, b, c) = self.root_motion.tolist()
        # A root that does not turn is as frequent as one that does.
        if a or b or c:
            acceleration[0] -= (b * z - c * y, c * x - a * z, a * y - b * x)
        acceleration.dot(self._root_R, self._pin_root_a)
        return self._pin_a

    def _update_pin_state(self) -> None:
        if self._has_mimics:
            self._move_mimics()
        self._turn_root_motion(self._root_R, self._root_v)
        self._pack(*self._pack_arguments)

    def _move_mimics(self) -> None:
        q, dq = self.joint_arrays['q'], self.joint_arrays['dq']
        tree = self.tree
        q[tree.mimic_slots] = tree.mimic_multipliers * q[tree.mimicked_slots] + tree.mimic_offsets
        dq[tree.mimic_slots] = tree.mimic_multipliers * dq[tree.mimicked_slots]

    def calc_forward_kinematics(self, velocity: bool = False, acceleration: bool = False) -> None:
        """Find where all links are (and how they move) from the root and the joints.

        Args:
            velocity: find v and w too, from the root's v and w and dq.
            acceleration: find v, w, dv and dw too, from the root's dv and dw and ddq as well.
        """
        if self._overrides:
            self._overrides.clear()
        if self._has_mimics:
            self._move_mimics()
        self._turn_root_motion(self._root_R, self._root_v)
        self._pack(*self._pack_arguments)
        if acceleration:
            forward_kinematics(*self._velocity_arguments, self.pin_a())
        elif velocity:
            forward_kinematics(*self._velocity_arguments)
        else:
            forward_kinematics(*self._position_arguments)

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return self.tree.mass

    def calc_center_of_mass(self) -> np.ndarray:
        """Centre of mass in the world [m], shape (3,), at the last forward kinematics."""
        self._com = com = center_of_mass(*self._com_arguments)
        com.setflags(False)
        return com

    @property
    def center_of_mass(self) -> np.ndarray:
        """Centre of mass that `calc_center_of_mass` found last [m], shape (3,); read only."""
        return self._com

    def calc_total_momentum(self, about: str = 'world') -> tuple[np.ndarray, np.ndarray]:
        """Momentum of the whole body at the last forward kinematics with velocity.

        Args:
            about: point that the angular momentum is about: 'world' for the world origin, as
                Choreonoid does, 'root' for the origin of the root link, 'com' for the centre of
                mass.

        Returns:
            Momentum [kg m/s] and angular momentum [kg m^2/s], world axes, shape (3,) each.

        Raises:
            ValueError: `about` is none of these.
        """
        if about not in MOMENTUM_POINTS:
            raise ValueError(f'about is {about!r}; {choices(MOMENTUM_POINTS)}')
        momentum = pin.computeCentroidalMomentum(self.model, self.data)
        linear, angular = momentum.linear.copy(), momentum.angular.copy()
        if about == 'com':
            return linear, angular
        arm = self.data.com[0] - (self.root_q[:3] if about == 'root' else 0.0)
        return linear, angular + cross(arm, linear)

    # --- access for links and simulators ------------------------------------------------------

    def joint_values(self, slot: int) -> object:
        """View on one joint's elements of the joint arrays."""
        return joint_values(self._joint_part, self.tree.num_slots, slot)

    def place_in_values(self, array: np.ndarray) -> int:
        """Where one of the body's arrays begins in `values`."""
        return (array.ctypes.data - self.values.ctypes.data) // self.values.itemsize

    def link_placement(self, index: int) -> pin.SE3:
        """Pose of a link in the world at the last forward kinematics."""
        placement = self._placement_on_tree(index)
        if self._free_poses:
            free = self.tree.free_links[index]
            pose = self._free_poses.get(free)
            if pose is not None:
                return pose * self._placement_on_tree(free).actInv(placement)
        return placement

    def _placement_on_tree(self, index: int) -> pin.SE3:
        """Pose of a link where every free link is on its parent."""
        placement = self.tree.placements[index]
        carrier = self.data.oMi[self.tree.pin_joints[index]]
        return carrier if placement is None else carrier * placement

    def set_free_pose(self, index: int, rotation: np.ndarray, position: np.ndarray) -> None:
        """Put a link with a free joint and a parent, and all that it carries, somewhere.

        For simulators; everybody else sets p and R of the link.
        """
        self._free_poses[index] = pin.SE3(rotation, position)

    def link_position(self, index: int) -> np.ndarray:
        """Origin of a link in the world [m]; a writable view for the root, else read only."""
        if index == 0:
            return self._root_q[:3]
        if (index, 'p') in self._overrides:
            return read_only(self._overrides[index, 'p'])
        return read_only(self.link_placement(index).translation.copy())

    def link_rotation(self, index: int) -> np.ndarray:
        """Axes of a link in the world, read only."""
        if index == 0:
            return read_only(self._root_R)
        if (index, 'R') in self._overrides:
            return read_only(self._overrides[index, 'R'])
        return read_only(self.link_placement(index).rotation.copy())

    def link_motion(self, index: int, name: str) -> np.ndarray:
        """v, w, dv or dw of a link, world axes; writable view for the root, else read only."""
        row = 0 if name.endswith('v') else 1
        rate = name.startswith('d')
        if index == 0:
            return self._root_acceleration[row] if rate else self.root_motion[row]
        if (index, name) in self._overrides:
            return read_only(self._overrides[index, name])
        joint = self.tree.pin_joints[index]
        placement = self.tree.placements[index] or pin.SE3.Identity()
        get = pin.getFrameClassicalAcceleration if rate else pin.getFrameVelocity
        motion = get(self.model, self.data, joint, placement, WORLD_ALIGNED)
        return read_only(motion.angular if row else motion.linear)

    @property
    def root_axes(self) -> np.ndarray:
        """Axes of the root in the world, shape (3, 3): `root_link.R` for who is in a hurry.

        It is not to be written to, and another array later.
        """
        return self._root_R

    def set_root_pose(self, pose: pin.SE3) -> None:
        """Put the root to a pose: `root_link.T` for who is in a hurry."""
        self._root_R = np.array(pose.rotation)
        self._root_q[:] = pin.SE3ToXYZQUAT(pose)

    def set_root_axes(self, R: np.ndarray) -> None:
        """Take the root's axes from an array of a simulator, which may change it later.

        For simulators, which write `configuration` themselves; everybody else sets `root_link.R`.
        """
        self._root_R = R

    def set_link_value(self, index: int, name: str, value: np.ndarray) -> None:
        """Set p, R, v, w, dv or dw of a link.

        But for the root and the poses of free links, it is until the next kinematics.
        """
        array = np.array(value, dtype=float)
        expected = (3, 3) if name == 'R' else (3,)
        if array.shape != expected:
            raise ValueError(
                f'{self.tree.links[index].name}.{name} needs shape {expected}, got {array.shape}'
            )
        if index != 0 and self.tree.free_links[index] == index and name in ('p', 'R'):
            pose = self.link_placement(index)
            rotation, position = pose.rotation.copy(), pose.translation.copy()
            if name == 'R':
                self.set_free_pose(index, array, position)
            else:
                self.set_free_pose(index, rotation, array)
        elif index != 0:
            self._overrides[index, name] = array
        elif name == 'R':
            self._root_R = array
            self._root_q[3:] = pin.Quaternion(array).coeffs()
        elif name == 'p':
            self._root_q[:3] = array
        else:
            self.link_motion(0, name)[:] = array

    def __repr__(self) -> str:
        """Name and size."""
        return f'Body({self.name!r}, links={self.num_links}, joints={self.num_joints})'
