"""Errors of the log room."""

from __future__ import annotations

from cnoid_control.exceptions import CnoidControlError


class LogError(CnoidControlError):
    """A log file that cannot be written, read or used; the message begins with its path."""
