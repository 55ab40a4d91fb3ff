"""A set of joints with a name, and the maps between the vectors of two sets."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cnoid_control.body.description import JointType
from cnoid_control.body.exceptions import UnknownJoint, duplicate_name
from cnoid_control.body.link import Link


class JointGroup:
    """Joints in an order of their own.

    A vector of the group has one element per joint; the free joint of a root has six, linear
    before angular.

    Attributes:
        name: name of the group.
        joints: the joints, in order.
        dofs: length of the group's vectors.
        ids: joint id of every joint with one degree of freedom, -1 for the others and for virtual
            joints; where all are above -1, `body.q[group.ids]` is the group's q.
    """

    def __init__(self, name: str, joints: Iterable[Link]) -> None:
        """Make a group.

        Args:
            name: name of the group.
            joints: joints that move; a free root may be among them.

        Raises:
            UnknownJoint: one of them cannot move.
            ModelError: one of them is named twice.
        """
        self.name = name
        self.joints = list(joints)
        self._rows: dict[str, slice] = {}
        self.dofs = 0
        for joint in self.joints:
            size = joint_dofs(joint)
            if size == 0:
                raise UnknownJoint(joint.joint_name, joint.body.joint_names, joint.body.name)
            if joint.joint_name in self._rows:
                raise duplicate_name('joint', joint.joint_name, f'joint group {name!r}')
            self._rows[joint.joint_name] = slice(self.dofs, self.dofs + size)
            self.dofs += size
        self.ids = np.array([joint.joint_id for joint in self.joints], dtype=int)

    @property
    def joint_names(self) -> list[str]:
        """Names of the joints, in order."""
        return list(self._rows)

    def rows_of(self, joint: str) -> slice:
        """Elements of the group's vectors that belong to a joint.

        Raises:
            UnknownJoint: it is not in the group.
        """
        if joint not in self._rows:
            raise UnknownJoint(joint, self._rows, f'joint group {self.name!r}')
        return self._rows[joint]

    def selection_matrix_from(self, other: JointGroup) -> np.ndarray:
        """Matrix that turns a vector of another group into one of this group.

        What the other group does not have is zero; what only it has is dropped.

        Returns:
            Zeros and ones, shape (dofs, other.dofs).
        """
        matrix = np.zeros((self.dofs, other.dofs))
        for joint, rows in self._rows.items():
            if joint in other._rows:
                matrix[rows, other._rows[joint]] = np.eye(rows.stop - rows.start)
        return matrix

    def selection_matrix_to(self, other: JointGroup) -> np.ndarray:
        """Matrix that turns a vector of this group into one of another group.

        Returns:
            Zeros and ones, shape (other.dofs, dofs).
        """
        return other.selection_matrix_from(self)

    def __len__(self) -> int:
        """Number of joints."""
        return len(self.joints)

    def __contains__(self, joint: object) -> bool:
        """Whether a joint, or a joint of that name, is in the group."""
        return (joint.joint_name if isinstance(joint, Link) else joint) in self._rows

    def __repr__(self) -> str:
        """Name and size."""
        return f'JointGroup({self.name!r}, joints={len(self)}, dofs={self.dofs})'


def joint_dofs(joint: Link) -> int:
    """Degrees of freedom of a joint: 6 for a free one, 0 for a fixed one, else 1."""
    if joint.joint_type is JointType.FREE:
        return 6
    return 1 if joint.joint_type.has_displacement else 0
