"""What is in the picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
import viser

from cnoid_control.body import Body
from cnoid_control.runtime.config import RunConfig
from cnoid_control.viewer.frame import Frame

# Told who has clicked, the link, the point in its axes [m] and the line of sight in the world.
Clicked = Callable[[Any, str, np.ndarray, np.ndarray], None]


class Scene:
    """The robot and what is around it."""

    def __init__(self, server: viser.ViserServer, body: Body, config: RunConfig | None) -> None:
        """Put everything into the picture.

        Args:
            server: viser's server.
            body: the robot that is shown; frames are put into it.
            config: the configuration, for what is around the robot; None where there is none.
        """
        self._server = server
        self._body = body
        self._links = {
            link.name: server.scene.add_frame(f'/robot/{link.name}', axes_length=0.1)
            for link in body.links
        }
        server.scene.add_grid('/ground')

    def add_controls(self) -> None:
        """Add what is shown and what is not to the panel that is open."""

    def on_click(self, clicked: Clicked) -> None:
        """Have somebody told when a link is clicked."""

    def show(self, frame: Frame) -> None:
        """Show a frame."""
        body = self._body
        if frame.q.size == body.num_joints:
            body.q[:] = frame.q
        if frame.root.size:
            body.root_link.p = frame.root[:3]
            body.root_link.R = pin.Quaternion(frame.root[3:]).matrix()
        body.calc_forward_kinematics()
        for link in body.links:
            node = self._links[link.name]
            node.position = link.p
            x, y, z, w = pin.Quaternion(link.R).coeffs()
            node.wxyz = np.array([w, x, y, z])
