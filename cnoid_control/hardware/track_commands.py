"""Crawlers: links whose surface runs while they themselves do not turn."""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.hardware.exceptions import UnsupportedChannel
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco_model import MujocoModel

UP = np.array([0.0, 0.0, 1.0])


class TrackCommands:
    """Lets the surfaces of pseudo continuous tracks run at the commanded velocities.

    The surface moves so that the robot is driven along joint axis x up on level ground: a track
    with its axis to the left drives ahead at dq_target [m/s].
    """

    def __init__(self, mapping: MujocoModel, data: mujoco.MjData, body: Body) -> None:
        """Find the tracks; none runs before `open`."""
        self._model, self._data, self._body = mapping.model, data, body
        self._tracks = [
            (link, int(mapping.links[link.index]))
            for link in body.links
            if link.joint_type is JointType.PSEUDO_CONTINUOUS_TRACK
        ]
        self.active = False

    def open(self, request: IORequest) -> None:
        """Take over the tracks that are commanded, and the present commands.

        Raises:
            UnsupportedChannel: a track is commanded by something else than a velocity or has no
                joint id, or this MuJoCo has no running surfaces.
        """
        self._slots: list[int] = []
        self._axes: list[np.ndarray] = []
        self._at_once: list[bool] = []
        self._bodies: list[int] = []
        self._geoms: list[np.ndarray] = []
        for link, body in self._tracks:
            mode = request.outputs.get(link.name, StateFlag.NONE)
            if not mode:
                continue
            known = hasattr(self._model, 'geom_surfacevel')
            if mode != StateFlag.JOINT_VELOCITY or not known:
                choice = StateFlag.JOINT_VELOCITY.name if known else 'none before MuJoCo 3.17'
                raise UnsupportedChannel(link.name, mode.name or mode, 'mujoco', [choice])
            slot = self._body.tree.joint_slots[link.index]
            if slot < 0:
                raise UnsupportedChannel(
                    link.name, mode.name, 'mujoco', ['tracks with a joint id']
                )
            self._slots.append(slot)
            self._axes.append(link.joint_axis)
            self._at_once.append(link.name in request.no_delay)
            self._bodies.append(body)
            self._geoms.append(np.flatnonzero(self._model.geom_bodyid == body))
        self.active = bool(self._slots)
        self._written = np.zeros(len(self._slots))
        self._acting = np.zeros(len(self._slots))
        if self.active:
            self._model.flg_surfacevel = 1
            self.write()
            self.latch()

    def write(self) -> None:
        """Take over the body's commands; those in no-delay mode act from now on."""
        self._written[:] = self._body.joint_arrays['dq_target'][self._slots]
        self._acting[self._at_once] = self._written[self._at_once]

    def latch(self) -> None:
        """Let the commands of the last `write` act from now on."""
        self._acting[:] = self._written

    def apply(self) -> None:
        """Let the surfaces run in the coming physics step as the tracks lie now."""
        data = self._data
        for speed, axis, body, geoms in zip(
            self._acting, self._axes, self._bodies, self._geoms, strict=True
        ):
            along = np.cross(data.xmat[body].reshape(3, 3) @ axis, UP)
            for geom in geoms:
                # Backwards, in the geom's own axes.
                surface = data.geom_xmat[geom].reshape(3, 3).T @ (-speed * along)
                self._model.geom_surfacevel[geom, :3] = surface
