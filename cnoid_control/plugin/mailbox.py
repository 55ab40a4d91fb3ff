"""A place where messages wait until the controller looks."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from cnoid_control.plugin.exceptions import MailboxNotATopic
from cnoid_control.plugin.messages import Message

MessageT = TypeVar('MessageT', bound=Message)
TOPIC_NAME = re.compile(r'(~?/)?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')


class Mailbox(Generic[MessageT]):
    """Messages of one kind, posted from any thread, taken by the controller in its tick.

    Attributes:
        name: name, unique in the controller; the default of the topic.
        kind: class of the messages.
        topic: relative ROS topic that feeds it.
        validate: the controller's own check of a message, run by who posts it; raises to refuse.
        status: what the controller tells the senders, replaced as a whole; None for nothing.
        taken: told each message that the controller takes; None for nobody.
    """

    validate: Callable[[MessageT], None] | None = None
    status: Any = None
    taken: Callable[[MessageT], None] | None = None

    def __init__(self, name: str, kind: type[MessageT], topic: str = '', depth: int = 16) -> None:
        """Make an empty mailbox; beyond `depth` the oldest messages fall out.

        Raises:
            MailboxNotATopic: what would feed it is no topic name.
        """
        self.name = name
        self.kind = kind
        self.topic = topic or f'~/{name}'
        # Said where the controller asks for it, not when the robot is already the controller's.
        if TOPIC_NAME.fullmatch(self.topic) is None:
            raise MailboxNotATopic(name, self.topic)
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
