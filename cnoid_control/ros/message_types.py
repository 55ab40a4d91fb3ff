"""Message classes by name, and messages out of unchecked bytes."""

from __future__ import annotations

import importlib
from typing import Any

from rclpy.serialization import deserialize_message

from cnoid_control.messages.cdr import MessagePlaces
from cnoid_control.messages.exceptions import MalformedMessage


def message_class(type_name: str) -> type:
    """Message class by its full name, 'package/msg/Type'."""
    package, folder, name = type_name.split('/')
    found: type = getattr(importlib.import_module(f'{package}.{folder}'), name)
    return found


def read_message(data: bytes, kind: type) -> Any:
    """Message of a class out of its bytes; None where they are not one."""
    try:
        return deserialize_message(data, kind)
    except (RuntimeError, ValueError):
        return None


class TypedDecoder:
    """Deserializes messages of one type by rclpy, after a check of all sizes in them.

    Attributes:
        type_name: ROS type, 'package/msg/Type'.
    """

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name
        self._class = message_class(type_name)

    def decode(self, data: bytes) -> Any:
        """Message out of its bytes.

        Raises:
            MalformedMessage: the bytes are not such a message.
        """
        # A size that is beyond the message's end must not be allocated.
        MessagePlaces(self.type_name, data)
        message = read_message(data, self._class)
        if message is None:
            raise MalformedMessage(f'{len(data)} bytes are not a {self.type_name}')
        return message
