"""What a task should reach: an input, and an output that goes there through an interpolator."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from cnoid_control.controllers.tasks.exceptions import wrong_target
from cnoid_control.controllers.tasks.interpolators import IdentityInterpolator, Interpolator

IDENTITY = np.eye(3)


class Target:
    """A vector target.

    Attributes:
        name: name of the task, for messages.
        size: number of elements.
        input: what was asked for, shape (size,).
        interpolator: how the output goes to the input.
        is_set: whether anything was asked for since the last reset.
    """

    def __init__(self, name: str, size: int, interpolator: Interpolator | None = None) -> None:
        """Start at zero."""
        self.name = name
        self.size = size
        self.interpolator = interpolator or IdentityInterpolator()
        self.reset(np.zeros(size))

    def set(self, value: np.ndarray) -> None:
        """Ask for a value.

        Raises:
            TaskError: it has the wrong size or is not finite; the old input stays.
        """
        array = np.array(value, dtype=float)
        if array.shape != (self.size,) or not np.isfinite(array).all():
            raise wrong_target(self.name, value, f'{self.size} finite numbers')
        self.input = array
        self.is_set = True
        self.interpolator.set_goal(array)

    def replace_interpolator(self, interpolator: Interpolator) -> None:
        """Go on from the present output by another interpolator."""
        interpolator.reset(self.output)
        interpolator.set_goal(self.input)
        self.interpolator = interpolator

    def reset(self, value: np.ndarray) -> None:
        """Put input and output to a value, with no motion between."""
        self.input = np.array(value, dtype=float)
        self.is_set = False
        self.interpolator.reset(self.input)
        self.output = self.interpolator.output

    def step(self, dt: float) -> np.ndarray:
        """Refresh the output; called once a tick."""
        self.output = self.interpolator.step(dt)
        return self.output


class PoseTarget:
    """A pose target; it moves along the screw from where it was to what was asked for.

    Attributes:
        input: pose asked for, shape (4, 4).
        output: pose now, as pinocchio's SE3.
        velocity: twist of the output, in the axes of the frame that the pose is given in [m/s,
            rad/s], shape (6,).
    """

    def __init__(self, name: str, interpolator: Interpolator | None = None) -> None:
        """Start at the identity."""
        self.name = name
        self.interpolator = interpolator or IdentityInterpolator()
        self.reset(np.eye(4))

    def set(self, value: np.ndarray) -> None:
        """Ask for a pose.

        Raises:
            TaskError: it is not a finite (4, 4) pose; the old input stays.
        """
        array = np.array(value, dtype=float)
        if array.shape != (4, 4) or not np.isfinite(array).all():
            raise wrong_target(self.name, value, 'a finite pose of shape (4, 4)')
        rotation = array[:3, :3]
        if np.abs(rotation @ rotation.T - IDENTITY).max() > 1e-6:
            raise wrong_target(self.name, value, 'a rotation in the upper left (3, 3) block')
        self.input = array
        self.is_set = True
        self._goal = pin.SE3(array[:3, :3].copy(), array[:3, 3].copy())
        self._moves = not isinstance(self.interpolator, IdentityInterpolator)
        if not self._moves:
            self.output = self._goal
        else:
            # The way is straight in the coordinates of the twist from the pose of now.
            self._start = self.output
            self.interpolator.reset(np.zeros(6))
            self.interpolator.set_goal(pin.log6(self._start.actInv(self._goal)).vector)

    def replace_interpolator(self, interpolator: Interpolator) -> None:
        """Go on from the present output by another interpolator."""
        was_set = self.is_set
        self.interpolator = interpolator
        self.set(self.input)
        self.is_set = was_set

    def reset(self, value: np.ndarray) -> None:
        """Put input and output to a pose, with no motion between."""
        self.input = np.array(value, dtype=float)
        self.is_set = False
        self._goal = pin.SE3(self.input[:3, :3].copy(), self.input[:3, 3].copy())
        self._start = self.output = self._goal
        self._moves = False
        self.velocity = np.zeros(6)
        self.interpolator.reset(np.zeros(6))

    def step(self, dt: float) -> pin.SE3:
        """Refresh the output; called once a tick."""
        if self._moves:
            before = self.output
            self.output = self._start * pin.exp6(self.interpolator.step(dt))
            rotation = before.rotation
            self.velocity[:3] = (self.output.translation - before.translation) / dt
            self.velocity[3:] = rotation @ pin.log3(rotation.T @ self.output.rotation) / dt
        return self.output
