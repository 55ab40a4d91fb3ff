"""Live plots."""

from __future__ import annotations

import viser

from cnoid_control.body import Body
from cnoid_control.viewer.frame import Frame


class LivePlots:
    """Curves of the last seconds."""

    def __init__(self, server: viser.ViserServer, body: Body) -> None:
        """Add them to the panel that is open."""

    def show(self, frame: Frame) -> None:
        """Take a frame in."""
