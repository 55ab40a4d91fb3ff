"""Pseudo continuous tracks in MuJoCo: links whose surface runs, as of crawlers and conveyors."""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.body import Body, JointType, Link, StateFlag
from cnoid_control.hardware.exceptions import UnsupportedChannel
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco.model import MujocoModel

# Sine of the angle between contact normal and track axis below which the surface slows down:
# the side of a track does not run.
SIDE = 0.1
# a x b = CROSS[i, j, k] a[j] b[k].
CROSS = np.zeros((3, 3, 3))
CROSS[[0, 1, 2], [1, 2, 0], [2, 0, 1]] = 1.0
CROSS[[0, 1, 2], [2, 0, 1], [1, 2, 0]] = -1.0


class TrackCommands:
    """Lets the surfaces of tracks run at the commanded velocities.

    At each contact the surface runs in the contact plane, square to the joint axis, so a track
    does what its kinematics say on any slope and at any edge. It runs as a belt that turns about
    the axis: along axis x outward normal. With its axis to the left a vehicle goes ahead at
    dq_target [m/s], and a conveyor carries forwards.

    The measured q is the way that the surface has gone [m], dq its velocity and u the force by
    which the contacts push the track along.
    """

    def __init__(self, mapping: MujocoModel, data: mujoco.MjData, body: Body) -> None:
        """Find the tracks; none runs before `open`."""
        self._model, self._data = mapping.model, data
        self._arrays = body.joint_arrays
        self._slots_of_links = body.tree.joint_slots
        self._tracks = [
            (link, int(mapping.links[link.index]))
            for link in body.links
            if link.joint_type is JointType.PSEUDO_CONTINUOUS_TRACK
        ]
        self.active = False
        self._reads_effort = False

    def open(self, request: IORequest) -> None:
        """Take over the tracks that are commanded, and the present commands.

        Raises:
            UnsupportedChannel: a track is commanded by something else than a velocity.
        """
        driven = [track for track in self._tracks if request.outputs.get(track[0].name)]
        for link, _ in driven:
            self._check(link, request.outputs[link.name])
        names = [link.name for link, _ in driven]
        self._slots = np.array(
            [self._slots_of_links[link.index] for link, _ in driven], dtype=np.intp
        )
        self._bodies = np.array([body for _, body in driven], dtype=np.intp)
        self._axes = np.array(
            [link.joint_axis / np.linalg.norm(link.joint_axis) for link, _ in driven]
        ).reshape(-1, 3)
        self._at_once = np.array([name in request.no_delay for name in names], dtype=bool)
        self._track_of_geom = np.full(self._model.ngeom, -1)
        for place, body in enumerate(self._bodies):
            self._track_of_geom[self._model.geom_bodyid == body] = place
        self._reads_effort = any(
            request.inputs.get(name, StateFlag.NONE) & StateFlag.JOINT_EFFORT for name in names
        )
        # Surfaces that nobody drives stand still.
        slots = {int(self._slots_of_links[link.index]) for link, _ in self._tracks}
        idle = sorted(slots.difference(self._slots.tolist()))
        for name in ('dq', 'u'):
            self._arrays[name][idle] = 0.0
        self._written = np.zeros(len(driven))
        self._acting = np.zeros(len(driven))
        self._touching: list[tuple[int, int, np.ndarray]] = []
        self.active = bool(driven)
        if self.active:
            self.write()
            self.latch()

    def _check(self, link: Link, mode: StateFlag) -> None:
        if mode & ~StateFlag.HIGH_GAIN_ACTUATION != StateFlag.JOINT_VELOCITY:
            known = [StateFlag.JOINT_VELOCITY.name]
            raise UnsupportedChannel(link.name, mode, 'mujoco', known)

    def write(self) -> None:
        """Take over the body's commands; those in no-delay mode act from now on."""
        self._written[:] = self._arrays['dq_target'][self._slots]
        self._acting[self._at_once] = self._written[self._at_once]

    def latch(self) -> None:
        """Let the commands of the last `write` act from now on."""
        self._acting[:] = self._written

    def apply(self) -> None:
        """Let the surfaces run in the coming physics step, whose contacts are known."""
        data = self._data
        self._touching = []
        if not data.ncon:
            return
        contacts = data.contact
        tracks = self._track_of_geom[contacts.geom]
        rows = np.flatnonzero((tracks >= 0).any(axis=1))
        if not rows.size:
            return
        axes = np.einsum('nij,nj->ni', data.xmat[self._bodies].reshape(-1, 3, 3), self._axes)
        crosses = np.einsum('ijk,nj->nik', CROSS, axes)
        frames = contacts.frame[rows].reshape(-1, 3, 3)
        relative = np.zeros((rows.size, 3))
        # The first axis of a frame points from the first geom to the second one.
        for side, sign in ((0, -1.0), (1, 1.0)):
            places = np.flatnonzero(tracks[rows, side] >= 0)
            own = tracks[rows[places], side]
            along = sign * np.einsum('nij,nj->ni', crosses[own], frames[places, 0])
            along /= np.maximum(np.linalg.norm(along, axis=1), SIDE)[:, None]
            # The surface runs backwards where the track is to be pushed ahead.
            relative[places] -= sign * self._acting[own, None] * along
            self._touching += zip(rows[places], own, sign * along, strict=True)
        self._slide(rows, np.einsum('nij,nj->ni', frames[:, 1:], relative))

    def _slide(self, rows: np.ndarray, velocities: np.ndarray) -> None:
        """Have the solver see contacts that slide at velocities more than their bodies do.

        A constraint's reference acceleration is -b (its velocity) - k (its violation), with the b
        and k of this step: the velocity of the surface goes into the first part.

        Args:
            rows: the contacts.
            velocities: along the two tangents of each [m/s], shape (n, 2).
        """
        data, contacts = self._data, self._data.contact
        held = (contacts.efc_address[rows] >= 0) & (contacts.dim[rows] > 1)
        rows, velocities = rows[held], velocities[held]
        first = contacts.efc_address[rows, None]
        if self._model.opt.cone == int(mujoco.mjtCone.mjCONE_ELLIPTIC):
            addresses = first + np.array([1, 2])
        else:
            # Edges of a pyramid: normal plus and minus friction times each tangent.
            addresses = first + np.arange(4)
            signs = [1.0, -1.0, 1.0, -1.0]
            velocities = (contacts.friction[rows, :2] * velocities).repeat(2, axis=1) * signs
        damping = data.efc_KBIP.reshape(-1, 4)[:, 1]
        data.efc_aref[addresses] -= damping[addresses] * velocities

    def integrate(self, duration: float) -> None:
        """Show in the body how the surfaces have run for a time [s]; called before `latch`."""
        self._arrays['q'][self._slots] += self._acting * duration
        self._arrays['dq'][self._slots] = self._acting
        if not self._reads_effort:
            return
        effort = np.zeros(self._slots.size)
        force = np.zeros(6)
        for row, track, along in self._touching:
            mujoco.mj_contactForce(self._model, self._data, int(row), force)
            # The force is that of the first geom on the second one.
            effort[track] += along @ (force[:3] @ self._data.contact[int(row)].frame.reshape(3, 3))
        self._arrays['u'][self._slots] = effort
