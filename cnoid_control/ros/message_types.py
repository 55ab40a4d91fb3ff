"""Message classes by name, and messages out of bytes that nobody has checked."""

from __future__ import annotations

import importlib
from typing import Any

from rclpy.serialization import deserialize_message


def message_class(type_name: str) -> type:
    """Message class by its full name, 'package/msg/Type'."""
    package, folder, name = type_name.split('/')
    found: type = getattr(importlib.import_module(f'{package}.{folder}'), name)
    return found


def read_message(data: bytes, kind: type) -> Any:
    """Message of a class out of its bytes; None where they are none."""
    try:
        return deserialize_message(data, kind)
    except (RuntimeError, ValueError):
        return None
