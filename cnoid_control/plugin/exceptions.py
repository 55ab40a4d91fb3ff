"""What can be wrong with a controller: one class per fact."""

from __future__ import annotations

from cnoid_control.exceptions import CnoidControlError


class ControllerError(CnoidControlError):
    """A controller cannot be used as it is."""
