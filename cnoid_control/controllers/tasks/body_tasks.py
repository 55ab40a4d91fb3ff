"""Body tasks: pose, velocity, screw, relative pose, gaze."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from cnoid_control.body import Link
from cnoid_control.controllers.tasks.exceptions import wrong_target
from cnoid_control.controllers.tasks.kinematics import TaskKinematics, rotate_back
from cnoid_control.controllers.tasks.strict import put
from cnoid_control.controllers.tasks.target import PoseTarget, Target, fixed
from cnoid_control.controllers.tasks.task import BodyTask, GenericTask, note_row_change

# Attributes that say what a pose task asks for, and methods of which others may be put there.
SETTINGS = frozenset(
    {
        'link',
        'reference',
        'selection',
        'gain',
        'feedforward',
        'target',
        'shaper',
        'activation',
        'restart',
        'compute',
        'compute_body_velocity',
    }
)
METHODS = frozenset({'update', 'jacobian'})

log3, log6, Jlog6 = pin.log3, pin.log6, pin.Jlog6


# Another one whenever one of these is set on any pose task.
_state_of_poses = object()


def state_of_poses() -> object:
    """An object that is another one once any pose task asks in another way than before."""
    return _state_of_poses


def _note_pose_change() -> None:
    global _state_of_poses
    _state_of_poses = object()


class BodyPositionTask(BodyTask):
    """The target is a pose of the link in the frame of the reference.

    The origin goes straight and the orientation turns about one axis: velocity = gain error +
    feedforward, error = [p* - p, log(R* R^T)] in the axes of the reference. Until a target is
    set, it holds the pose that it was enabled in.

    Attributes:
        gain: [1/s].
        feedforward: whether the velocity of the target's own motion is added.
    """

    def __init__(
        self, name: str, link: Link, reference: Link | None = None, gain: float = 1.0
    ) -> None:
        """Make a task that holds."""
        super().__init__(name, link, reference)
        self.gain = gain
        self.feedforward = True
        self.target = PoseTarget(name)
        # Goal of the last tick, and arrays that look at its position and axes.
        self._goal: pin.SE3 | None = None
        self._goal_views = np.zeros(3), np.eye(3)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; see `Strict`."""
        super().__setattr__(name, value)
        if name in SETTINGS:
            _note_pose_change()
        elif name in METHODS:
            _note_pose_change()
            note_row_change()

    def pose(self, kinematics: TaskKinematics) -> pin.SE3:
        """Pose of the link in the frame of the reference."""
        pose = kinematics.placement(self.link)
        if self.reference is None:
            return pose
        return kinematics.placement(self.reference).actInv(pose)

    def on_enable(self, kinematics: TaskKinematics) -> None:
        """Start the way to the target from where the link is."""
        goal, was_set = self.target.input, self.target.is_set
        self.target.reset(self.pose(kinematics).homogeneous)
        if was_set:
            self.target.set(goal)

    def places(self, kinematics: TaskKinematics) -> tuple[np.ndarray, np.ndarray] | None:
        """Poses of the target and of the link in the world."""
        goal = self.target.output
        if self.reference is not None:
            goal = kinematics.placement(self.reference) * goal
        return goal.homogeneous, kinematics.placement(self.link).homogeneous

    def compute_body_velocity(self, kinematics: TaskKinematics, dt: float) -> np.ndarray:
        """Velocity towards the target."""
        target = self.target
        goal = target.step(dt)
        position, axes = kinematics.views(self._link)
        reference = None
        if self._reference is not None:
            placement = kinematics.placement(self._reference)
            goal, reference = placement * goal, placement.rotation
        if goal is not self._goal:
            put(self, '_goal', goal)
            put(self, '_goal_views', (goal.translation, goal.rotation))
        goal_position, goal_axes = self._goal_views
        error = np.zeros(6)
        error[:3] = goal_position
        error[:3] -= position
        # The rotation costs most, and most hands are asked for a place only.
        if self._turns:
            error[3:] = log3(goal_axes.dot(axes.T))
        if reference is not None:
            error = rotate_back(reference, error)
        if not self._selects_all:
            error *= self._selection
        put(self, 'error', error)
        velocity = self.gain * error
        if self.feedforward:
            velocity += target.velocity
        return velocity


class BodyScrewTask(BodyPositionTask):
    """A pose task whose error is the twist log(T^-1 T*), in the link's own axes.

    Position and orientation arrive together on one screw motion. The rows, the selection and the
    weights are in the axes of the link, not of the reference.
    """

    _screw: tuple[pin.SE3, pin.SE3]

    @property
    def screw(self) -> tuple[pin.SE3, pin.SE3]:
        """Pose of the target in the world, and seen from the link, at the last update."""
        return self._screw

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Ask for a velocity along the screw to the target."""
        goal = self.target.step(dt)
        if self._reference is not None:
            goal = kinematics.placement(self._reference) * goal
        pose = kinematics.placement(self._link)
        offset = pose.actInv(goal)
        error = log6(offset).vector
        if not self._selects_all:
            error *= self._selection
        put(self, '_screw', (goal, offset))
        put(self, 'error', error)
        put(self, 'velocity', self.gain * error)
        put(self, '_axes', pose.rotation)

    def jacobian(self, kinematics: TaskKinematics) -> np.ndarray:
        """How the twist from the target changes with the unknowns, link axes."""
        return Jlog6(self._screw[1].inverse()).dot(kinematics.local_jacobian(self.link))


class BodyVelocityTask(BodyTask):
    """The target is linear [m/s] and angular [rad/s] velocity, axes of the reference.

    Only the axes of the reference count: it is the velocity of the link's own origin, and the
    motion of the reference itself is not added.
    """

    def __init__(self, name: str, link: Link, reference: Link | None = None) -> None:
        """Make a task that asks for rest."""
        super().__init__(name, link, reference)
        self.target = Target(name, 6)

    def compute_body_velocity(self, kinematics: TaskKinematics, dt: float) -> np.ndarray:
        """Velocity of the target."""
        output = self.target.step(dt)
        self.error = self._selection * (self.target.input - output)
        return output


class RelativeBodyTask(BodyPositionTask):
    """A pose task in which the reference moves too: both links give way.

    The rows are the velocity of the link as an observer on the reference sees it.
    """

    def jacobian(self, kinematics: TaskKinematics) -> np.ndarray:
        """Velocity of the link relative to the reference, axes of the reference."""
        if self.reference is None:
            return super().jacobian(kinematics)
        reference = kinematics.placement(self.reference)
        arm = kinematics.placement(self.link).translation - reference.translation
        carried = kinematics.jacobian(self.reference)
        relative = kinematics.jacobian(self.link) - carried
        relative[:3] += pin.skew(arm) @ carried[3:]
        return rotate_back(reference.rotation, relative)


class LookAtTask(GenericTask):
    """The target is a point in the world [m], shape (3,), that an axis of a link points at.

    The rows are the two components, across the axis, of the direction to the point seen from the
    link; both are zero when the axis points at it. Rotation about the axis stays free.

    Attributes:
        link: link that looks.
        gain: [1/s].
    """

    def __init__(
        self, name: str, link: Link, axis: np.ndarray | None = None, gain: float = 1.0
    ) -> None:
        """Make a task; the axis is x where not given."""
        super().__init__(name, 2)
        self.link = link
        self.axis = np.array([1.0, 0.0, 0.0]) if axis is None else axis
        self.gain = gain
        self.target = Target(name, 3)

    @property
    def axis(self) -> np.ndarray:
        """Unit axis that looks, in the link frame, shape (3,)."""
        return self._axis

    @axis.setter
    def axis(self, value: np.ndarray) -> None:
        array = np.array(value, dtype=float)
        length = float(np.linalg.norm(array))
        if array.shape != (3,) or not 0.0 < length < np.inf:
            raise wrong_target(f'{self.name}.axis', value, 'an axis of three numbers')
        self._axis = fixed(array / length)
        # Two unit vectors across the axis and each other.
        helper = np.eye(3)[np.argmin(np.abs(self._axis))]
        first = np.cross(self._axis, helper)
        first /= np.linalg.norm(first)
        self._across = np.stack([first, np.cross(self._axis, first)])

    def on_enable(self, kinematics: TaskKinematics) -> None:
        """Start the way to the target from a point one metre ahead of the axis."""
        goal, was_set = self.target.input, self.target.is_set
        pose = kinematics.placement(self.link)
        self.target.reset(pose.translation + pose.rotation @ self.axis)
        if was_set:
            self.target.set(goal)

    def places(self, kinematics: TaskKinematics) -> tuple[np.ndarray, np.ndarray] | None:
        """The point that is looked at, and the origin of the link that looks."""
        return self.target.output, kinematics.placement(self.link).translation

    def update(self, kinematics: TaskKinematics, dt: float) -> None:
        """Ask for a turn towards the point."""
        pose = kinematics.placement(self.link)
        offset = self.target.step(dt) - pose.translation
        self._distance = max(float(np.linalg.norm(offset)), 1e-6)
        self._direction = offset / self._distance
        seen = pose.rotation.T @ self._direction
        across = self._across @ seen
        if seen @ self.axis < 0.0:
            # Behind: turn at full rate, to either side where the point is right behind.
            length = float(np.linalg.norm(across))
            across = across / length if length > 1e-9 else np.array([1.0, 0.0])
        self.error = -self._selection * across
        self.velocity = self.gain * self.error

    def jacobian(self, kinematics: TaskKinematics) -> np.ndarray:
        """How the two components change with the unknowns, shape (2, unknowns)."""
        jacobian = kinematics.jacobian(self.link)
        rotation = kinematics.placement(self.link).rotation
        direction = self._direction
        turning = np.outer(direction, direction) - np.eye(3)
        rate = turning @ jacobian[:3] / self._distance + pin.skew(direction) @ jacobian[3:]
        return self._across @ rotation.T @ rate
