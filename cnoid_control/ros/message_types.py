"""Message classes by name, and messages out of unchecked bytes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from rclpy.serialization import deserialize_message

from cnoid_control.messages.cdr import MessagePlaces
from cnoid_control.messages.exceptions import MalformedMessage
from cnoid_control.messages.layouts import JOINT_COMMAND
from cnoid_control.ros.exceptions import MissingInterfaces


def message_class(type_name: str) -> type:
    """Message class by its full name, 'package/msg/Type'."""
    package, folder, name = type_name.split('/')
    found: type = getattr(importlib.import_module(f'{package}.{folder}'), name)
    return found


def joint_command_type() -> type:
    """control_msgs/JointCommand, which releases before Kilted do not have.

    Raises:
        MissingInterfaces: it is not installed.
    """
    try:
        return message_class(JOINT_COMMAND)
    except (ImportError, AttributeError) as error:
        purpose = 'a command controller of type joint_command'
        raise MissingInterfaces(JOINT_COMMAND, purpose) from error


def read_message(data: bytes, kind: type) -> Any:
    """Message of a class out of its bytes; None where they are not one."""
    try:
        return deserialize_message(data, kind)
    except (RuntimeError, ValueError):
        return None


def typed_decoder(type_name: str) -> Callable[[bytes], Any]:
    """Function that makes messages of a type out of bytes, by rclpy.

    It raises MalformedMessage where the bytes are not such a message.
    """
    kind = message_class(type_name)

    def decode(data: bytes) -> Any:
        # Nothing may be allocated for a size that is beyond the message's end.
        MessagePlaces(type_name, data)
        message = read_message(data, kind)
        if message is None:
            raise MalformedMessage(f'{len(data)} bytes are not a {type_name}')
        return message

    return decode
