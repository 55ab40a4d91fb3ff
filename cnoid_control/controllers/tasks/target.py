"""What a task should reach: an input, and an output that goes there through an interpolator."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from cnoid_control.controllers.tasks.exceptions import wrong_target
from cnoid_control.controllers.tasks.interpolators import IdentityInterpolator, Interpolator
from cnoid_control.controllers.tasks.strict import Strict, put

IDENTITY = np.eye(3)
LAST_ROW = [0.0, 0.0, 0.0, 1.0]


def determinant(matrix: np.ndarray) -> float:
    """Determinant of a matrix of shape (3, 3), in a fifth of the time of numpy's general one."""
    (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def fixed(array: np.ndarray) -> np.ndarray:
    """The array, made so that a change of an element is refused: it would have no effect."""
    array.flags.writeable = False
    return array


class Target(Strict):
    """A vector target.

    Attributes:
        name: name of the task, for messages.
        size: number of elements.
        is_set: whether anything was asked for since the last reset.
        output: what counts now, shape (size,).
    """

    def __init__(self, name: str, size: int, interpolator: Interpolator | None = None) -> None:
        """Start at zero."""
        self.name = name
        self.size = size
        self._interpolator = interpolator or IdentityInterpolator()
        self.reset(np.zeros(size))

    @property
    def input(self) -> np.ndarray:
        """What was asked for, shape (size,); ask for something else by `set`."""
        return self._input

    @property
    def interpolator(self) -> Interpolator:
        """How the output goes to the input; another one goes on from the present output."""
        return self._interpolator

    @interpolator.setter
    def interpolator(self, interpolator: Interpolator) -> None:
        interpolator.reset(self.output)
        interpolator.take_motion(self._interpolator.velocity)
        interpolator.set_goal(self._input)
        self._interpolator = interpolator

    def set(self, value: np.ndarray) -> None:
        """Ask for a value.

        Raises:
            TaskError: it has the wrong size or is not finite; the old input stays.
        """
        array = np.array(value, dtype=float)
        if array.shape != (self.size,) or not np.isfinite(array).all():
            raise wrong_target(self.name, value, f'{self.size} finite numbers')
        self._input = fixed(array)
        self.is_set = True
        self._interpolator.set_goal(array)

    def reset(self, value: np.ndarray) -> None:
        """Put input and output to a value, with no motion between."""
        self._input = fixed(np.array(value, dtype=float))
        self.is_set = False
        self._interpolator.reset(self._input)
        self.output = self._interpolator.output

    def step(self, dt: float) -> np.ndarray:
        """Refresh the output; called once per tick."""
        output = self._interpolator.step(dt)
        put(self, 'output', output)
        return output


class PoseTarget(Strict):
    """A pose target; it moves along the screw from where it was to what was asked for.

    Attributes:
        name: name of the task, for messages.
        is_set: whether anything was asked for since the last reset.
        output: pose now, as pinocchio's SE3.
        velocity: twist of the output, in the axes of the frame that the pose is given in [m/s,
            rad/s], shape (6,).
    """

    def __init__(self, name: str, interpolator: Interpolator | None = None) -> None:
        """Start at the identity."""
        self.name = name
        self._interpolator = interpolator or IdentityInterpolator()
        self._input = np.eye(4)
        # Position of the pose asked for where it is another one than in `_input`.
        self._position: np.ndarray | None = None
        # Whether the output is on a way, and not at the goal.
        self._moves = False
        self.output: pin.SE3 = pin.SE3.Identity()
        self.reset(self._input)

    @property
    def input(self) -> np.ndarray:
        """Pose asked for, shape (4, 4); ask for another one by `set`."""
        if self._position is not None:
            array = self._input.copy()
            array[:3, 3] = self._position
            self._input = fixed(array)
            self._position = None
        return self._input

    @property
    def is_moving(self) -> bool:
        """Whether the output may have a velocity."""
        return self._moves

    @property
    def interpolator(self) -> Interpolator:
        """How the output goes to the input; another one goes on from the present output."""
        return self._interpolator

    @interpolator.setter
    def interpolator(self, interpolator: Interpolator) -> None:
        # A way in twist coordinates starts at zero.
        interpolator.reset(np.zeros(6))
        self._interpolator = interpolator
        self._go(self.output)

    def set(self, value: np.ndarray) -> None:
        """Ask for a pose.

        Raises:
            TaskError: it is not a finite (4, 4) pose; the old input stays.
        """
        array = np.array(value, dtype=float)
        if array.shape != (4, 4) or not np.isfinite(array).all():
            raise wrong_target(self.name, value, 'a finite pose of shape (4, 4)')
        rotation = array[:3, :3]
        turns = np.abs(rotation @ rotation.T - IDENTITY).max() <= 1e-6
        if not turns or determinant(rotation) < 0.0:
            raise wrong_target(self.name, value, 'a rotation in the upper left (3, 3) block')
        if array[3].tolist() != LAST_ROW:
            raise wrong_target(self.name, value, f'{LAST_ROW} as its last row')
        self._input, self._position = fixed(array), None
        self.is_set = True
        self._axes = array[:3, :3].copy()
        self._goal = pin.SE3(self._axes, array[:3, 3].copy())
        self._go(self.output)

    def move_to(self, position: np.ndarray) -> None:
        """Ask for the pose with another position [m], shape (3,), and the orientation asked for.

        Raises:
            TaskError: it is not a finite position; the old input stays.
        """
        # The square is quicker than a look at every element, and is not finite if one is not.
        if position.shape != (3,) or not (
            math.isfinite(position.dot(position)) or np.isfinite(position).all()
        ):
            raise wrong_target(self.name, position, 'a finite position of shape (3,)')
        goal = pin.SE3(self._axes, position)
        # Targets that move by themselves come here in every tick: `input` is made when wanted.
        put(self, '_position', goal.translation)
        put(self, 'is_set', True)
        put(self, '_goal', goal)
        self._go(self.output)

    def _go(self, start: pin.SE3) -> None:
        """Plan the way from a pose to the goal."""
        if isinstance(self._interpolator, IdentityInterpolator):
            put(self, 'output', self._goal)
            if self._moves:
                # A way that was being gone is not gone on with.
                self._moves = False
                self._twist = np.zeros(6)
                self.velocity = np.zeros(6)
            return
        self._moves = True
        # The way is straight in the coordinates of the twist from the pose of now.
        self._start = start
        self._interpolator.reset(np.zeros(6))
        self._interpolator.take_motion(self._twist)
        self._interpolator.set_goal(pin.log6(start.actInv(self._goal)).vector)

    def reset(self, value: np.ndarray) -> None:
        """Put input and output to a pose, with no motion between."""
        self._input = fixed(np.array(value, dtype=float))
        self._position = None
        self.is_set = False
        self._axes = self._input[:3, :3].copy()
        self._goal = pin.SE3(self._axes, self._input[:3, 3].copy())
        self._start = self.output = self._goal
        self._moves = False
        self.velocity = np.zeros(6)
        # The velocity in the axes of the pose itself.
        self._twist = np.zeros(6)
        self._interpolator.reset(np.zeros(6))

    def step(self, dt: float) -> pin.SE3:
        """Refresh the output; called once per tick."""
        if self._moves:
            before = self.output
            self.output = self._start * pin.exp6(self._interpolator.step(dt))
            self._twist = pin.log6(before.actInv(self.output)).vector / dt
            rotation = before.rotation
            self.velocity[:3] = (self.output.translation - before.translation) / dt
            self.velocity[3:] = rotation @ pin.log3(rotation.T @ self.output.rotation) / dt
        return self.output
