"""When a state machine changes its state."""

from __future__ import annotations

import abc
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cnoid_control.controllers.composition.base_controller import Message
from cnoid_control.controllers.composition.exceptions import unknown_item
from cnoid_control.controllers.sensor_reading import SensorReading, find_device
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin.mailbox import Mailbox, Trigger

if TYPE_CHECKING:
    from cnoid_control.plugin import ControllerIO

# What a message has besides sensors; efforts and the root only where they are read.
STATE_ITEMS = ('t', 'dt', 'q', 'dq', 'qcmd', 'dqcmd', 'u', 'root_p', 'root_R', 'root_v', 'root_w')
# Numbers of values of those that are not one a joint.
SIZES = {'t': 1, 'dt': 1, 'root_p': 3, 'root_R': 9, 'root_v': 3, 'root_w': 3}


class Condition(abc.ABC):
    """Something that is true or not in a tick; its text says what."""

    @abc.abstractmethod
    def __call__(self, inputs: Message) -> bool:
        """Whether it is true."""

    def attach(self, io: ControllerIO) -> None:  # noqa: B027 - most look at the message alone
        """Enable what it looks at."""

    def reset(self) -> None:  # noqa: B027 - most have no memory
        """Forget what was before; called when the state is entered."""


class After(Condition):
    """A time after the state was entered."""

    def __init__(self, time: float) -> None:
        """Be true from `time` [s] on."""
        self.time = time

    def __call__(self, inputs: Message) -> bool:
        """Whether the time has come; half a period early rather than late."""
        return inputs['state_time'] >= self.time - 0.5 * inputs.get('dt', 0.0)

    def __str__(self) -> str:
        """When."""
        return f'after {self.time:g} s'


class Finished(Condition):
    """The state's controller has nothing more to do."""

    def __call__(self, inputs: Message) -> bool:
        """Whether it said so in this tick."""
        return bool(inputs['finished'])

    def __str__(self) -> str:
        """When."""
        return 'finished'


class Threshold(Condition):
    """An element of a vector, or its norm, beyond a bound."""

    def __init__(self, item: str, above: float = np.inf, below: float = -np.inf) -> None:
        """Be true where the value is above one bound or below the other.

        Args:
            item: item of the message, 'NAME' for its norm or 'NAME[i]' for an element.
            above: bound from which on it is true.
            below: bound down from which it is true.
        """
        self.item = item
        self.above = above
        self.below = below
        match = re.fullmatch(r'(.+?)(?:\[(\d+)\])?', item)
        assert match is not None  # mypy: the pattern fits every text.
        self._name = match[1]
        self._index = None if match[2] is None else int(match[2])

    def __call__(self, inputs: Message) -> bool:
        """Whether the value of this tick is beyond a bound."""
        if self._name not in inputs:
            raise unknown_item(self._name, inputs)
        vector = np.ravel(inputs[self._name])
        value = np.linalg.norm(vector) if self._index is None else vector[self._index]
        return bool(value > self.above or value < self.below)

    def attach(self, io: ControllerIO) -> None:
        """Read the device that it looks at.

        Raises:
            CnoidControlError: the robot has no such device, or it measures fewer values.
        """
        if self._name in STATE_ITEMS:
            size = SIZES.get(self._name, io.body.num_joints)
        else:
            device = find_device(io.body, self._name)
            io.enable_input(device)
            size = SensorReading.of_device(device).measurements.size
        if self._index is not None and self._index >= size:
            raise CnoidControlError(f'{self.item}: {self._name} has the values 0 to {size - 1}')

    def __str__(self) -> str:
        """When."""
        bounds = []
        if np.isfinite(self.above):
            bounds.append(f'{self.item} > {self.above:g}')
        if np.isfinite(self.below):
            bounds.append(f'{self.item} < {self.below:g}')
        return ' or '.join(bounds)


class MessageArrived(Condition):
    """A message from outside since the state was entered."""

    def __init__(self, name: str) -> None:
        """Wait for a `Trigger` in the mailbox of that name, a service where there is ROS."""
        self.name = name
        self._mailbox: Mailbox[Trigger] = Mailbox(name, Trigger)

    def __call__(self, inputs: Message) -> bool:
        """Whether one has come."""
        return self._mailbox.take_latest() is not None

    def attach(self, io: ControllerIO) -> None:
        """Open the mailbox."""
        self._mailbox = io.mailbox(self.name, Trigger)

    def reset(self) -> None:
        """Drop what came too early."""
        self._mailbox.take_latest()

    def __str__(self) -> str:
        """When."""
        return f'message {self.name}'


class AllOf(Condition):
    """Several conditions at once."""

    def __init__(self, conditions: Sequence[Condition]) -> None:
        """Be true when all are."""
        self.conditions = list(conditions)
        self._arrived: set[int] = set()

    def __call__(self, inputs: Message) -> bool:
        """Whether all are true; a message that came stays until the rest is true too."""
        for i, condition in enumerate(self.conditions):
            if isinstance(condition, MessageArrived) and condition(inputs):
                self._arrived.add(i)
        return all(
            i in self._arrived if isinstance(condition, MessageArrived) else condition(inputs)
            for i, condition in enumerate(self.conditions)
        )

    def attach(self, io: ControllerIO) -> None:
        """Enable what they look at."""
        for condition in self.conditions:
            condition.attach(io)

    def reset(self) -> None:
        """Forget what was before."""
        self._arrived.clear()
        for condition in self.conditions:
            condition.reset()

    def __str__(self) -> str:
        """When."""
        return ' and '.join(str(condition) for condition in self.conditions)
