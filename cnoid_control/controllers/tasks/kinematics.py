"""Jacobians of a body, computed once per tick and shared by all tasks and constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body, Link
from cnoid_control.body.joint_group import JointGroup
from cnoid_control.body.kinematic_tree import ROOT_NV
from cnoid_control.controllers.tasks.exceptions import TaskError

# Singular values below the threshold are damped in inverses, by up to the damping.
THRESHOLD = 0.02
DAMPING = 0.05

WORLD_ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
LOCAL = pin.ReferenceFrame.LOCAL


@dataclass(frozen=True)
class JointMap:
    """A matrix between the velocities of joints and of a body, and the joints that it is about.

    Attributes:
        linear_transform: the matrix; of a Jacobian shape (6, joints.dofs), of its inverse
            (joints.dofs, 6). World axes, linear before angular.
        joints: the joints.
    """

    linear_transform: np.ndarray
    joints: JointGroup

    def inverse(self, threshold: float = THRESHOLD, damping: float = DAMPING) -> JointMap:
        """Pseudo-inverse over the same joints; arguments as for `pseudo_inverse`."""
        return JointMap(pseudo_inverse(self.linear_transform, threshold, damping), self.joints)


class TaskKinematics:
    """The controlled part of a body as the solvers see it.

    The unknowns of the solvers are velocities: those of the controlled joints, in pinocchio's
    order, behind the six of the root where the root may move. Joints that mimic others move with
    them: their columns are those of the joints that they follow.

    Attributes:
        body: the body; its state is the state that tasks work from.
        columns: column of pinocchio's Jacobians of each unknown.
        num_unknowns: number of unknowns.
        root_unknowns: 6 where the velocity of the root is an unknown, else 0.
        joint_slots: row in the body's joint arrays of each unknown behind the root's.
        unknowns: the unknowns as a joint group: the root where it may move, then the controlled
            joints. `unknowns.selection_matrix_to(group) @ velocity` gives those of a group.
    """

    def __init__(self, body: Body, joints: list[Link], moving_root: bool) -> None:
        """Choose the joints that may move.

        Args:
            body: the body.
            joints: controlled joints.
            moving_root: whether the velocity of the root is an unknown too.
        """
        self.body = body
        tree = body.tree
        wanted = {joint.description.joint_name for joint in joints}
        names = {tree.joint_slots[i]: link.joint_name for i, link in enumerate(tree.links)}
        places = [
            place for place, slot in enumerate(tree.slots_in_pin_order) if names[slot] in wanted
        ]
        self.root_unknowns = ROOT_NV if moving_root else 0
        self.joint_slots = tree.slots_in_pin_order[places]
        root_columns = list(range(self.root_unknowns))
        self.columns = np.array(root_columns + [ROOT_NV + place for place in places], dtype=int)
        self.num_unknowns = len(self.columns)
        self._all = self.num_unknowns == body.model.nv
        self._unknown_of_slot = {
            int(slot): self.root_unknowns + i for i, slot in enumerate(self.joint_slots)
        }
        column_of_slot = {slot: ROOT_NV + i for i, slot in enumerate(tree.slots_in_pin_order)}
        self._mimics = [
            (column_of_slot[mimic], column_of_slot[leader], multiplier)
            for mimic, leader, multiplier in zip(
                tree.mimic_slots, tree.mimicked_slots, tree.mimic_multipliers, strict=True
            )
        ]
        self._column_of_slot = column_of_slot
        link_of_slot = {
            tree.joint_slots[link.index]: link
            for link in body.links
            if tree.joint_slots[link.index] >= 0
        }
        self._leader_of_slot = {
            int(mimic): link_of_slot[int(leader)]
            for mimic, leader in zip(tree.mimic_slots, tree.mimicked_slots, strict=True)
        }
        moves = bool(self.root_unknowns) and not body.is_fixed_root
        self._roots = [body.root_link] if moves else []
        self.unknowns = JointGroup(
            'unknowns', self._roots + [link_of_slot[int(slot)] for slot in self.joint_slots]
        )
        self._paths: dict[int, tuple[JointGroup, np.ndarray]] = {}
        self._cache: dict[object, np.ndarray] = {}
        self._model, self._data = body.model, body.data
        # Poses of pinocchio's joints, and which of them is a link's own; -1 where none is.
        self._poses = body.data.oMi
        self._own_joints = [
            joint if placement is None and free < 0 else -1
            for joint, placement, free in zip(
                tree.pin_joints, tree.placements, tree.free_links, strict=True
            )
        ]
        self._plain = not self._mimics
        # All poses as one row of numbers, and arrays that look at single ones; bound once.
        self._pose_values, self._pose_stride = _pose_values(body.data)
        self._carried: dict[int, np.ndarray] = {}
        self._views: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        # Configuration that the Jacobians were computed for by somebody else since the last tick.
        self._known: bytes | None = None

    def update(self) -> None:
        """Take over the body's state; to be called once per tick before anything else."""
        q = self.body.pin_q()
        known, self._known = self._known, None
        if known is None or known != q.tobytes():
            self.update_at(q)
        else:
            self._cache.clear()

    def mark_current(self, q: np.ndarray) -> None:
        """Tell that poses and Jacobians of the body have been computed for this configuration.

        The next `update` leaves them as they are if the body is still there.
        """
        self._known = q.tobytes()

    def forget_current(self) -> None:
        """Take `mark_current` back: somebody may have moved the body to and fro."""
        self._known = None

    def update_at(self, q: np.ndarray) -> None:
        """As `update`, for who has the body's configuration vector of now already."""
        self._cache.clear()
        pin.computeJointJacobians(self._model, self._data, q)

    def unknown(self, joint: Link) -> int | None:
        """Index of a joint's velocity among the unknowns; None where it is not controlled."""
        return self._unknown_of_slot.get(self.body.tree.joint_slots[joint.index])

    def get_body_jacobian(self, body: Link | str) -> JointMap:
        """Jacobian of a link's origin over the joints between it and the world, world axes.

        Joints that are not controlled are among them; the root is where it may move. A joint
        that mimics another is stood for by that one.

        Args:
            body: the link or its name.
        """
        link = self._link(body)
        if link.index not in self._paths:
            self._paths[link.index] = self._path(link)
        joints, columns = self._paths[link.index]
        return JointMap(self.full_jacobian(link)[:, columns], joints)

    def _path(self, link: Link) -> tuple[JointGroup, np.ndarray]:
        slots = self.body.tree.joint_slots
        joints: dict[int, Link] = {}
        place: Link | None = link
        while place is not None:
            slot = slots[place.index]
            if slot >= 0:
                leader = self._leader_of_slot.get(slot, place)
                joints[slots[leader.index]] = leader
            place = place.parent
        columns = [self._column_of_slot[slot] for slot in joints][::-1]
        group = JointGroup(f'path to {link.name}', [*self._roots, *list(joints.values())[::-1]])
        root_columns = range(ROOT_NV if self._roots else 0)
        return group, np.array([*root_columns, *columns], dtype=int)

    def get_transformation(self, from_: Link | str, to: Link | str) -> pin.SE3:
        """Pose of one frame in another: it takes what is given in the first to the second.

        Velocities of a link's origin are only rotated: `rotate(T.rotation, velocity)`.

        Args:
            from_: a link or its name, or 'world'.
            to: likewise.
        """
        return self._frame(to).actInv(self._frame(from_))

    def _frame(self, frame: Link | str) -> pin.SE3:
        return pin.SE3.Identity() if frame == 'world' else self.placement(self._link(frame))

    def _link(self, link: Link | str) -> Link:
        return self.body.link(link) if isinstance(link, str) else link

    def full_jacobian(self, link: Link) -> np.ndarray:
        """Jacobian of a link's origin over all of pinocchio's columns, world axes.

        Rows are linear then angular, shape (6, nv).
        """
        cached = self._cache.get(link.index)
        if cached is None:
            tree = self.body.tree
            if tree.free_links[link.index] >= 0:
                free = tree.links[tree.free_links[link.index]].name
                raise TaskError(
                    f'link {link.name!r} moves with {free!r}, whose free joint is no unknown: '
                    'only joints can be moved there'
                )
            joint = tree.pin_joints[link.index]
            cached = pin.getJointJacobian(self.body.model, self.body.data, joint, WORLD_ALIGNED)
            placement = tree.placements[link.index]
            if placement is not None:
                arm = self.body.data.oMi[joint].rotation @ placement.translation
                cached[:3] -= pin.skew(arm) @ cached[3:]
            cached = self._cache[link.index] = self._led(cached)
        return cached

    def _led(self, jacobian: np.ndarray) -> np.ndarray:
        """Jacobian with the columns of mimic joints added to those of the joints they follow."""
        if not self._mimics:
            return jacobian
        led = jacobian.copy()
        for mimic, leader, multiplier in self._mimics:
            led[:, leader] += multiplier * led[:, mimic]
            led[:, mimic] = 0.0
        return led

    def jacobian(self, link: Link) -> np.ndarray:
        """Jacobian of a link's origin over the unknowns, world axes, shape (6, unknowns)."""
        jacobian = self._cache.get(link.index)
        if jacobian is None:
            jacobian = self.full_jacobian(link)
        return jacobian if self._all else jacobian[:, self.columns]

    def local_jacobian(self, link: Link) -> np.ndarray:
        """Jacobian of a link's origin over the unknowns, the link's own axes."""
        joint = self._own_joints[link.index]
        if joint < 0 or not self._plain:
            return rotate_back(self.placement(link).rotation, self.jacobian(link))
        jacobian = pin.getJointJacobian(self._model, self._data, joint, LOCAL)
        return jacobian if self._all else jacobian[:, self.columns]

    def has_point_rows(self, link: Link) -> bool:
        """Whether `carried` and `twists` tell the Jacobian of a link."""
        return self._plain and self.body.tree.free_links[link.index] < 0

    def carried(self, link: Link) -> np.ndarray:
        """1 for the unknowns that move a link, 0 for the others, shape (unknowns,)."""
        joint = self.body.tree.pin_joints[link.index]
        if joint not in self._carried:
            self._carried[joint] = self._find_carried(joint)
        return self._carried[joint]

    def _find_carried(self, joint: int) -> np.ndarray:
        carried = np.zeros(self._model.nv)
        while joint > 0:
            first = self._model.joints[joint].idx_v
            carried[first : first + self._model.joints[joint].nv] = 1.0
            joint = self._model.parents[joint]
        return carried[self.columns]

    def twists(self) -> np.ndarray:
        """Twist of each unknown about the world's origin, world axes, shape (6, unknowns)."""
        return self._data.J if self._all else self._data.J[:, self.columns]

    def com_jacobian(self) -> np.ndarray:
        """Jacobian of the centre of mass over all of pinocchio's columns, shape (3, nv)."""
        cached = self._cache.get('com')
        if cached is None:
            body = self.body
            self._refuse_free_links('centre of mass')
            jacobian = pin.jacobianCenterOfMass(body.model, body.data, False)
            cached = self._cache['com'] = self._led(jacobian)
        return cached

    def momentum_matrix(self) -> np.ndarray:
        """Map from velocities to momentum about the centre of mass, world axes, shape (6, nv)."""
        cached = self._cache.get('momentum')
        if cached is None:
            body = self.body
            self._refuse_free_links('momentum')
            cached = pin.computeCentroidalMap(body.model, body.data, body.pin_q())
            cached = self._cache['momentum'] = self._led(cached)
        return cached

    def _refuse_free_links(self, what: str) -> None:
        free = max(self.body.tree.free_links)
        if free >= 0:
            name = self.body.tree.links[free].name
            raise TaskError(f'{what}: link {name!r} has a free joint, which is no unknown')

    def select(self, jacobian: np.ndarray) -> np.ndarray:
        """Columns of the unknowns."""
        return jacobian if self._all else jacobian[:, self.columns]

    def placement(self, link: Link) -> pin.SE3:
        """Pose of a link in the world."""
        joint = self._own_joints[link.index]
        return self._poses[joint] if joint >= 0 else self.body.link_placement(link.index)

    def is_live(self, link: Link) -> bool:
        """Whether what `placement` gives for a link stays its pose of now."""
        return self._own_joints[link.index] >= 0 and self._pose_stride > 0

    def axes_places(self, links: list[Link]) -> np.ndarray | None:
        """Where the axes of links are among `pose_values`, shape (links, 3, 3), axis by axis.

        None where one of them is not that of a joint of pinocchio.
        """
        places = self.position_places(links)
        if places is None:
            return None
        return (places.reshape(-1, 3)[:, :1] - np.arange(9, 0, -1)).reshape(-1, 3, 3)

    def position_places(self, links: list[Link]) -> np.ndarray | None:
        """Where the origins of links are among `pose_values`, shape (3 links,).

        None where one of them is not the origin of a joint of pinocchio.
        """
        joints = np.array([self._own_joints[link.index] for link in links], dtype=int)
        if self._pose_stride == 0 or (joints < 0).any():
            return None
        return (joints[:, None] * self._pose_stride + np.arange(9, 12)).reshape(-1)

    @property
    def pose_values(self) -> np.ndarray:
        """Numbers of the poses of all joints of pinocchio, always those of now."""
        return self._pose_values

    def views(self, link: Link) -> tuple[np.ndarray, np.ndarray]:
        """Position and axes of a link in the world; for most links they stay those of now."""
        joint = self._own_joints[link.index]
        if joint < 0 or self._pose_stride == 0:
            placement = self.placement(link)
            return placement.translation, placement.rotation
        views = self._views.get(joint)
        if views is None:
            first = joint * self._pose_stride
            values = self._pose_values[first : first + 12]
            views = self._views[joint] = values[9:], values[:9].reshape(3, 3).T
        return views

    def rotation(self, link: Link | None) -> np.ndarray | None:
        """Axes of a reference link in the world; None for the world itself."""
        return None if link is None else self.placement(link).rotation


def _pose_values(data: pin.Data) -> tuple[np.ndarray, int]:
    """Look at pinocchio's poses as they are in memory: columns of the axes, then the position.

    Returns:
        The numbers of all poses, read only, and how many there are from one pose to the next; 0
        where pinocchio has them in memory in another way.
    """
    poses = [data.oMi[joint] for joint in range(len(data.oMi))]
    first, size = poses[0].rotation, np.dtype(float).itemsize
    begin = _address(first)
    step = _address(poses[-1].rotation) - begin
    stride = step // max(len(poses) - 1, 1)
    expected = [begin + stride * joint for joint in range(len(poses))]
    as_expected = (
        stride >= 12 * size
        and stride % size == 0
        and first.strides == (size, 3 * size)
        and [_address(pose.rotation) for pose in poses] == expected
        and [_address(pose.translation) - 9 * size for pose in poses] == expected
    )
    if not as_expected:
        return np.zeros(0), 0
    count = stride // size
    # As far as the last pose's own numbers.
    numbers = count * (len(poses) - 1) + 12
    values = np.lib.stride_tricks.as_strided(first, (numbers,), (size,), writeable=False)
    return values, count


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__['data'][0])


def pseudo_inverse(
    matrix: np.ndarray, threshold: float = THRESHOLD, damping: float = DAMPING
) -> np.ndarray:
    """Damped pseudo-inverse; the exact one where no singular value is below the threshold.

    Args:
        matrix: what to invert.
        threshold: singular value s below which damping sets in; 0 for none.
        damping: s counts as s / (s^2 + d^2), d growing from 0 at the threshold to this at s = 0.
    """
    if matrix.size == 0:
        return matrix.T
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    near = values < threshold
    ratio = np.divide(values, threshold, out=np.ones_like(values), where=near)
    damped = np.where(near, damping**2 * (1.0 - ratio**2), 0.0)
    # Values that are zero but for rounding stand for directions that do not exist.
    exists = values > 1e-10 * max(values[0], 1e-300)
    inverse = np.divide(values, values**2 + damped, out=np.zeros_like(values), where=exists)
    return (right.T * inverse) @ left.T


def rotate(rotation: np.ndarray | None, value: np.ndarray) -> np.ndarray:
    """Rotate the two 3-vectors of a spatial vector (or 6 rows) from a frame to the world."""
    if rotation is None:
        return value
    return np.concatenate([rotation.dot(value[:3]), rotation.dot(value[3:])])


def rotate_back(rotation: np.ndarray | None, value: np.ndarray) -> np.ndarray:
    """Rotate the two 3-vectors of a spatial vector (or 6 rows) from the world to a frame."""
    return value if rotation is None else rotate(rotation.T, value)
