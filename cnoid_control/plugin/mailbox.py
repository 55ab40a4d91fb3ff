"""Mailboxes: typed messages from outside for a controller."""

from __future__ import annotations

import dataclasses
import json
import re
import time
import types
import typing
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from cnoid_control.plugin.exceptions import ControllerError


@dataclass(frozen=True)
class Message:
    """Base of all messages.

    Attributes:
        stamp: time that the sender gave it [s]; 0 for none.
    """

    stamp: float = 0.0


@dataclass(frozen=True)
class Trigger(Message):
    """Something has happened; it carries nothing."""


@dataclass(frozen=True)
class Value(Message):
    """A number."""

    value: float = 0.0


@dataclass(frozen=True)
class Twist(Message):
    """A velocity: linear [m/s] and angular [rad/s], in the axes of the link or frame `frame`."""

    frame: str = ''
    linear: np.ndarray = field(default_factory=lambda: np.zeros(3))
    angular: np.ndarray = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class Pose(Message):
    """A pose in the link or frame `frame`; empty or 'world' for the world, shape (4, 4)."""

    frame: str = ''
    T: np.ndarray = field(default_factory=lambda: np.eye(4))


@dataclass(frozen=True)
class Joy(Message):
    """State of a joystick; a message says all of it.

    Attributes:
        axes: positions of the sticks in [-1, 1], left and up positive, shape (axes,).
        buttons: 1 for each button that is pressed, 0 for the others.
    """

    axes: np.ndarray = field(default_factory=lambda: np.zeros(0))
    buttons: tuple[int, ...] = ()


@dataclass(frozen=True)
class JointValues(Message):
    """Values of joints by name [rad, rad/s, N m] or [m, m/s, N]; an empty array says nothing."""

    names: tuple[str, ...] = ()
    position: np.ndarray = field(default_factory=lambda: np.zeros(0))
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(0))
    effort: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class JointTrajectory(Message):
    """Points for joints by name.

    Attributes:
        names: joints, in the order of the columns.
        times: time of each point from the start [s], shape (points,).
        positions: shape (points, joints); empty for none, as are the others.
        velocities: shape (points, joints).
        accelerations: shape (points, joints).
        efforts: shape (points, joints).
    """

    names: tuple[str, ...] = ()
    times: np.ndarray = field(default_factory=lambda: np.zeros(0))
    positions: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    velocities: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    accelerations: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    efforts: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))


MessageT = TypeVar('MessageT', bound=Message)


def message_to_text(message: Message) -> str:
    """JSON of what a message says; numbers keep their bits.

    Fields that are no data, such as the handle of a goal, are left out.
    """
    return json.dumps(_encode(message))


def message_from_text(kind: type[MessageT], text: str) -> MessageT:
    """Message of a kind that says what the text says; what was left out has its default.

    Raises:
        ValueError: the text is not that of such a message.
    """
    try:
        return _decode(kind, json.loads(text))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f'no {kind.__name__}: {text[:80]!r}') from error


def _is_data(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, (bool, int, float, str, tuple, list, dict, np.ndarray))
        or dataclasses.is_dataclass(value)
    )


def _encode(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {name: _encode(part) for name, part in fields if _is_data(part)}
    if isinstance(value, np.ndarray):
        return {'shape': list(value.shape), 'data': value.reshape(-1).tolist()}
    if isinstance(value, (tuple, list)):
        return [_encode(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _encode(part) for key, part in value.items()}
    return value


def _decode(kind: Any, value: Any) -> Any:
    origin = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        return _decode(next(one for one in arguments if one is not type(None)), value)
    if origin is tuple:
        return tuple(_decode(arguments[0], part) for part in value)
    if origin is list:
        return [_decode(arguments[0], part) for part in value]
    if origin is dict:
        return {key: _decode(arguments[1], part) for key, part in value.items()}
    if kind is np.ndarray:
        return np.array(value['data'], dtype=float).reshape(value['shape'])
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        parts = {name: _decode(hints[name], part) for name, part in value.items()}
        return typing.cast(type, kind)(**parts)
    return value


TOPIC_NAME = re.compile(r'(~?/)?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


class Mailbox(Generic[MessageT]):
    """Messages of one kind, posted from any thread, taken by the controller in its tick.

    Attributes:
        name: name, unique in the controller; the default of the topic.
        kind: class of the messages.
        topic: relative ROS topic that feeds it.
        message_type: ROS type of the messages there, where there is a choice; what is published
            where empty.
        validate: the controller's own check of a message, run by who posts it; raises to refuse.
        status: what the controller tells the senders, replaced as a whole; None for nothing.
        taken: told each message that the controller takes; None for nobody.
    """

    message_type: str = ''
    validate: Callable[[MessageT], None] | None = None
    status: Any = None
    taken: Callable[[MessageT], None] | None = None

    def __init__(self, name: str, kind: type[MessageT], topic: str = '', depth: int = 16) -> None:
        """Make an empty mailbox; beyond `depth` the oldest messages fall out.

        Raises:
            ControllerError: what would feed it is no topic name.
        """
        self.name = name
        self.kind = kind
        self.topic = topic or f'~/{name}'
        # Said where the controller asks for it, not when the robot is already the controller's.
        if TOPIC_NAME.fullmatch(self.topic) is None:
            raise ControllerError(
                f'mailbox {name!r}: {self.topic!r} is no topic name; it consists of letters, '
                "digits and underscores, in parts that '/' separates and that no digit begins, "
                "and may begin with '~/' or '/'"
            )
        # A deque's append and popleft are atomic: no lock is taken in the control loop.
        self._messages: deque[MessageT] = deque(maxlen=depth)
        self._last_time = float('-inf')

    def check(self, message: MessageT) -> None:
        """Raise what `post` would raise for this message.

        Raises:
            TypeError: it is not of the mailbox's kind.
            CnoidControlError: the controller cannot use it.
        """
        if not isinstance(message, self.kind):
            raise TypeError(
                f'mailbox {self.name!r} takes {self.kind.__name__}, got {type(message).__name__}'
            )
        if self.validate is not None:
            self.validate(message)

    def post(self, message: MessageT) -> None:
        """Leave a message that `check` does not refuse."""
        self.check(message)
        self._last_time = time.monotonic()
        self._messages.append(message)

    def take(self) -> MessageT | None:
        """Oldest message that was not taken yet; None where there is none."""
        try:
            message = self._messages.popleft()
        except IndexError:
            return None
        if self.taken is not None:
            self.taken(message)
        return message

    def take_latest(self) -> MessageT | None:
        """Newest message, dropping older ones; None where there is none."""
        # Mostly there is none, and an exception takes longer than the look.
        if not self._messages:
            return None
        message = self.take()
        while message is not None:
            newer = self.take()
            if newer is None:
                return message
            message = newer
        return None

    @property
    def age(self) -> float:
        """Time since the last message was posted [s], steady clock; infinite before the first."""
        return time.monotonic() - self._last_time
