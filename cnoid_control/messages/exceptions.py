"""Errors of the messages room."""

from __future__ import annotations

from cnoid_control.exceptions import CnoidControlError


class MalformedMessage(CnoidControlError):
    """Bytes that are not a message of the expected type, or a message with unusable content."""
