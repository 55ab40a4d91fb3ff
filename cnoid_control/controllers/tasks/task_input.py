"""Targets that come from outside, and what happens when they stop coming."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from cnoid_control.controllers.tasks.body_tasks import LookAtTask
from cnoid_control.controllers.tasks.config import TaskFactory
from cnoid_control.controllers.tasks.exceptions import TaskError
from cnoid_control.controllers.tasks.parameters import TaskParameters
from cnoid_control.controllers.tasks.target import PoseTarget
from cnoid_control.controllers.tasks.task import BodyTask, JointTask, Task
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.plugin.controller_io import ControllerIO
from cnoid_control.plugin.mailbox import JointValues, Mailbox, Message, Pose, Twist


class TaskInput:
    """Feeds the target of one task from a mailbox.

    A message that does not fit is refused, told once, and the old target stays. When no message
    has come for `timeout` after the first one, the task's velocity fades to zero in `stop_time`;
    with the next message it fades back in.

    Attributes:
        task: task that is fed.
        refused: number of messages that did not fit.
    """

    def __init__(
        self,
        io: ControllerIO,
        task: Task,
        kind: type[Message],
        parameters: TaskParameters,
        factory: TaskFactory,
    ) -> None:
        """Open the mailbox `<task>/target`."""
        self.task = task
        self.refused = 0
        self._io = io
        self._factory = factory
        self._mailbox: Mailbox[Any] = io.mailbox(f'{task.name}/target', kind)
        self.apply(parameters)
        self._last: float | None = None

    def apply(self, parameters: TaskParameters) -> None:
        """Use the time-out of these options."""
        self._timeout = parameters.timeout
        self._stop_time = parameters.stop_time

    def step(self, time: float, dt: float) -> None:
        """Take the newest message, and fade the task where there was none for too long."""
        message = self._mailbox.take_latest()
        if message is not None:
            self._take(message, time)
        task = self.task
        late = self._last is not None and 0.0 < self._timeout < time - self._last
        change = dt / self._stop_time
        if late:
            task.activation = max(task.activation - change, 0.0)
        elif task.activation < 1.0:
            task.activation = min(task.activation + change, 1.0)

    def _take(self, message: Message, time: float) -> None:
        try:
            self.task.target.set(self._value(message))
        except CnoidControlError as error:
            if self.refused == 0:
                print(f'{error}', file=self._io.os)
            self.refused += 1
            return
        self._last = time

    def _value(self, message: Message) -> np.ndarray:
        if isinstance(message, Twist):
            return self._twist(message)
        if isinstance(message, Pose):
            return self._pose(message)
        assert isinstance(message, JointValues)  # The mailbox takes nothing else.
        return self._joints(message)

    def _twist(self, message: Twist) -> np.ndarray:
        """Velocity in the axes of the task's reference."""
        value = np.concatenate([message.linear, message.angular])
        if not isinstance(self.task, BodyTask):
            return value
        frame = self._factory.reference(message.frame)
        if frame is self.task.reference:
            return value
        turn = _rotation(self.task.reference).T @ _rotation(frame)
        return np.concatenate([turn @ value[:3], turn @ value[3:]])

    def _pose(self, message: Pose) -> np.ndarray:
        """Pose in the task's reference, or the point of it for a task without orientation."""
        pose = _placement(self._factory.reference(message.frame)) * pin.SE3(
            np.asarray(message.T, dtype=float)
        )
        if isinstance(self.task.target, PoseTarget):
            reference = getattr(self.task, 'reference', None)
            return _placement(reference).actInv(pose).homogeneous
        return pose.translation

    def _joints(self, message: JointValues) -> np.ndarray:
        """Values of the task's joints; those that the message does not name stay."""
        assert isinstance(self.task, JointTask)  # Only joint tasks get joint values.
        value = np.array(self.task.target.input)
        given = message.velocity if self.task.wants_velocity else message.position
        if len(given) != len(message.names):
            what = 'velocities' if self.task.wants_velocity else 'positions'
            raise TaskError(
                f'{self.task.name}: {len(message.names)} {what} expected, got {len(given)}'
            )
        known = {joint.joint_name: i for i, joint in enumerate(self.task.joint_group.joints)}
        for name, number in zip(message.names, given, strict=True):
            if name not in known:
                raise TaskError(f'{self.task.name}: unknown joint {name!r}; {choices(known)}')
            value[known[name]] = number
        return value


def make_input(
    io: ControllerIO, task: Task, parameters: TaskParameters, factory: TaskFactory
) -> TaskInput:
    """Input of the kind that fits the task."""
    kind: type[Message]
    if isinstance(task, JointTask):
        kind = JointValues
    elif isinstance(task.target, PoseTarget) or isinstance(task, LookAtTask) or task.size == 3:
        kind = Pose
    else:
        kind = Twist
    return TaskInput(io, task, kind, parameters, factory)


def _placement(link: Any) -> pin.SE3:
    return pin.SE3.Identity() if link is None else link.body.link_placement(link.index)


def _rotation(link: Any) -> np.ndarray:
    return _placement(link).rotation
