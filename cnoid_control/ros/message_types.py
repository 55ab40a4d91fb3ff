"""Message classes by name."""

from __future__ import annotations

import importlib


def message_class(type_name: str) -> type:
    """Message class by its full name, 'package/msg/Type'."""
    package, folder, name = type_name.split('/')
    found: type = getattr(importlib.import_module(f'{package}.{folder}'), name)
    return found
