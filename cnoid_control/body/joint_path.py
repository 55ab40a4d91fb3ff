"""The chain of joints between two links: its Jacobian and inverse kinematics."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntFlag

import numpy as np
import pinocchio as pin

from cnoid_control.body.description import JointType
from cnoid_control.body.kinematics import calc_link_jacobian
from cnoid_control.body.link import Link
from cnoid_control.body.read_only import read_only

# An iteration that leaves more than this share of the squared error stagnates.
STAGNATING_SHARE = 0.98
MAX_STAGNATION = 3


class Rows(IntFlag):
    """Rows of a Jacobian: velocity along and angular velocity about the world axes."""

    X = 1
    Y = 2
    Z = 4
    WX = 8
    WY = 16
    WZ = 32
    LINEAR = X | Y | Z
    ANGULAR = WX | WY | WZ
    ALL = LINEAR | ANGULAR

    @property
    def indices(self) -> list[int]:
        """Numbers of the rows among the six."""
        bits = int(self)
        return [row for row in range(6) if bits >> row & 1]


class JointPath:
    """Joints between a base link and an end link, in the order of the way.

    The way may lead up to a common ancestor first; joints on the way up turn the other way round.
    Only joints with an id count; others on the way keep their displacement. The base stays where
    it is when the joints move, so the root of the body moves where the way leads up.

    Attributes:
        base_link: link at which the path begins.
        end_link: link at which it ends.
        joints: joints on the way.
        max_iterations: how often inverse kinematics improve the joints before they give up.
        step: share of each improvement that is taken.
        damping: damping of the least squares.
        tolerance: norm of the error, in [m] and [rad], below which the goal is reached.
        within_limits: whether joints are kept within their displacement limits.
        best_effort: whether the best joints found are kept when the goal is not reached.
        exact_end_pose: whether a goal that is reached is set as the end's pose exactly.
    """

    def __init__(self, base_link: Link, end_link: Link) -> None:
        """Find the way from one link to another of the same body.

        Raises:
            ValueError: the links are of different bodies.
        """
        if base_link.body is not end_link.body:
            raise ValueError(f'{base_link!r} and {end_link!r} are of different bodies')
        self.base_link = base_link
        self.end_link = end_link
        self.body = base_link.body
        up, down = _way(base_link, end_link)
        self.joints = [link for link in up + down if _counts(link)]
        self._num_upward = sum(_counts(link) for link in up)
        self._ids = np.array([joint.joint_id for joint in self.joints], dtype=int)
        self._turns = np.array(
            [j.joint_type is JointType.REVOLUTE for j in self.joints], dtype=bool
        )
        self.max_iterations = 50
        self.step = 0.9
        self.damping = 1e-6
        self.tolerance = 1e-7
        self.within_limits = False
        self.best_effort = False
        self.exact_end_pose = True
        self._best = self.q
        self._base_goal: np.ndarray | None = None
        self._target: tuple[Callable[[], np.ndarray], Callable[[], np.ndarray]] | None = None

    @property
    def num_joints(self) -> int:
        """Number of joints on the way."""
        return len(self.joints)

    @property
    def joints_in_id_order(self) -> list[Link]:
        """The joints, sorted by joint id."""
        return sorted(self.joints, key=lambda joint: joint.joint_id)

    def joint(self, index: int) -> Link:
        """Joint by its place on the way."""
        return self.joints[index]

    def is_joint_downward(self, index: int) -> bool:
        """Whether the way passes a joint from the parent to the child."""
        return index >= self._num_upward

    @property
    def q(self) -> np.ndarray:
        """Displacements of the joints [rad] or [m] in the order of the way; read only."""
        return read_only(self.body.q[self._ids])

    # --- kinematics ---------------------------------------------------------------------------

    def calc_forward_kinematics(self) -> None:
        """Find where all links are while the base stays where it is now."""
        self._move_with_base_at(_pose(self.base_link))

    def _move_with_base_at(self, base: pin.SE3) -> None:
        self.body.calc_forward_kinematics()
        if self._num_upward or self._base_goal is not None:
            root = self.body.root_link
            moved = base * _pose(self.base_link).inverse() * _pose(root)
            root.R = moved.rotation
            root.p = moved.translation
            self.body.calc_forward_kinematics()

    def calc_jacobian(
        self, rows: Rows = Rows.ALL, local_point: np.ndarray | None = None
    ) -> np.ndarray:
        """Velocity of the end link, seen from the base, from those of the joints.

        Args:
            rows: rows to give.
            local_point: point in the end link's frame [m] whose velocity it is; the origin where
                None.

        Returns:
            Rows [linear, angular] in world axes, as far as asked for; one column per joint.
        """
        jacobian = calc_link_jacobian(self.end_link, local_point, self.base_link)
        columns = jacobian[:, self._ids]
        return columns if rows is Rows.ALL else columns[rows.indices]

    # --- inverse kinematics -------------------------------------------------------------------

    def set_base_link_goal(self, T: np.ndarray | None) -> None:
        """Pose (4, 4) that the base is put to before inverse kinematics; None for its own."""
        self._base_goal = None if T is None else np.array(T, dtype=float)

    def customize_target(
        self, error: Callable[[], np.ndarray], jacobian: Callable[[], np.ndarray]
    ) -> None:
        """Replace the pose as what inverse kinematics aim at.

        Args:
            error: gives what is missing to the target at the body's posture, shape (k,).
            jacobian: gives how the joints of the path reduce it, shape (k, num_joints).
        """
        self._target = (error, jacobian)

    def calc_inverse_kinematics(self, T: np.ndarray | None = None) -> bool:
        """Find displacements that bring the end link to a pose, by damped least squares.

        All links are moved with the joints. Revolute joints end at the angle nearest to where
        they started, or within their limits where they have some. On failure everything is put
        back, unless `best_effort`.

        Args:
            T: pose of the end link in the world, shape (4, 4); not needed with a custom target.

        Returns:
            Whether the goal was reached.

        Raises:
            ValueError: neither a pose nor a custom target was given.
        """
        if T is None and self._target is None:
            raise ValueError('inverse kinematics need a pose or a custom target')
        goal = None if T is None else pin.SE3(np.array(T, dtype=float))
        root = self.body.root_link
        start, start_root = self.q, root.T
        base = _pose(self.base_link) if self._base_goal is None else pin.SE3(self._base_goal)
        reached = self._iterate(base, goal, start)
        if not reached and not self.best_effort:
            root.T = start_root
            self.body.q[self._ids] = start
            self.body.calc_forward_kinematics()
            return False
        self.body.q[self._ids] = self._nearest_phase(self._best, start)
        self._move_with_base_at(base)
        if reached and goal is not None and self._target is None and self.exact_end_pose:
            self.end_link.T = goal.homogeneous
        return reached

    def _iterate(self, base: pin.SE3, goal: pin.SE3 | None, q: np.ndarray) -> bool:
        """Whether the goal is reached; `_best` has the best displacements found."""
        least = previous = np.inf
        stagnation = 0
        for iteration in range(self.max_iterations + 1):
            self.body.q[self._ids] = q
            self._move_with_base_at(base)
            error = self._error(goal)
            squared = float(error @ error)
            if squared < least:
                least, self._best = squared, q.copy()
            if squared < self.tolerance**2:
                return True
            stagnation = stagnation + 1 if squared > STAGNATING_SHARE * previous else 0
            if stagnation >= MAX_STAGNATION or iteration == self.max_iterations:
                return False
            previous = squared
            q = q + self.step * self._improvement(error)
            if self.within_limits:
                q = np.clip(q, self.body.q_lower[self._ids], self.body.q_upper[self._ids])
        return False

    def _error(self, goal: pin.SE3 | None) -> np.ndarray:
        if self._target is not None:
            return np.asarray(self._target[0](), dtype=float)
        assert goal is not None
        end = _pose(self.end_link)
        turn = end.rotation @ pin.log3(end.rotation.T @ goal.rotation)
        return np.concatenate([goal.translation - end.translation, turn])

    def _improvement(self, error: np.ndarray) -> np.ndarray:
        jacobian = self.calc_jacobian() if self._target is None else self._target[1]()
        damped = jacobian @ jacobian.T + self.damping**2 * np.eye(len(error))
        return jacobian.T @ np.linalg.solve(damped, error)

    def _nearest_phase(self, q: np.ndarray, start: np.ndarray) -> np.ndarray:
        turn = 2.0 * np.pi
        nearest = start + np.remainder(q - start + np.pi, turn) - np.pi
        lower, upper = self.body.q_lower[self._ids], self.body.q_upper[self._ids]
        for phase in (turn, -turn):
            moved = nearest + phase
            outside = (nearest < lower) | (nearest > upper)
            nearest = np.where(outside & (moved >= lower) & (moved <= upper), moved, nearest)
        return np.where(self._turns, nearest, q)


def get_joint_path(base_link: Link, end_link: Link) -> JointPath:
    """Joints between two links, in the order of the way from the first to the second."""
    return JointPath(base_link, end_link)


def _counts(link: Link) -> bool:
    return link.joint_id >= 0 and link.joint_type.has_displacement


def _pose(link: Link) -> pin.SE3:
    return pin.SE3(link.R.copy(), link.p.copy())


def _way(base: Link, end: Link) -> tuple[list[Link], list[Link]]:
    """Links whose joints are passed upwards from the base, and downwards to the end."""
    above_base = _ancestors(base)
    above_end = _ancestors(end)
    shared = set(map(id, above_base)) & set(map(id, above_end))
    up = [link for link in above_base if id(link) not in shared]
    down = [link for link in above_end if id(link) not in shared]
    return up, down[::-1]


def _ancestors(link: Link) -> list[Link]:
    """A link and the links above it, the root last."""
    found = [link]
    while found[-1].parent is not None:
        found.append(found[-1].parent)
    return found
