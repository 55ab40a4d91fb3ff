"""What is read of links: pose, motion, wrenches and contacts, from MuJoCo into the body."""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.body import Body, ContactPoint, Link, StateFlag
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco_model import MujocoModel

XBODY = mujoco.mjtObj.mjOBJ_XBODY


class LinkInputs:
    """Copies the requested link states, world axes, in two parts.

    `take_forces` copies what belongs to the physics step that has just ended, before the next one
    begins; `take_motion` what belongs to the state that it led to.
    """

    def __init__(self, mapping: MujocoModel, data: mujoco.MjData, body: Body) -> None:
        """Attach to a simulation; nothing is read before `open`."""
        self._model, self._data, self._body = mapping.model, data, body
        self._mapping = mapping
        self._buffer = np.zeros(6)
        self._force = np.zeros(6)
        self._gravity = np.array(mapping.model.opt.gravity)
        self.open(IORequest())

    def open(self, request: IORequest) -> None:
        """Sort the requested links by what is read of them."""

        def links_with(flag: StateFlag) -> list[tuple[int, int]]:
            return [
                (link.index, int(self._mapping.links[link.index]))
                for link in map(self._body.link, request.inputs)
                if request.inputs[link.name] & flag
            ]

        def moving(flag: StateFlag) -> list[tuple[int, int]]:
            # A free root is followed in any case.
            follows_root = self._mapping.free_root
            return [pair for pair in links_with(flag) if pair[0] or not follows_root]

        self._positions = [
            (index, self._data.xpos[body], self._data.xmat[body].reshape(3, 3))
            for index, body in moving(StateFlag.LINK_POSITION)
        ]
        self._twists = moving(StateFlag.LINK_TWIST)
        self._accelerations = links_with(StateFlag.LINK_ACCELERATION)
        self._touched: dict[int, Link] = {
            body: self._body.links[index]
            for index, body in links_with(StateFlag.LINK_CONTACT_STATE)
        }

    @property
    def reads_acceleration(self) -> bool:
        """Whether link accelerations are read: MuJoCo finds them on request only."""
        return bool(self._accelerations)

    @property
    def reads_forces(self) -> bool:
        """Whether `take_forces` has anything to do."""
        return bool(self._accelerations or self._touched)

    @property
    def reads_motion(self) -> bool:
        """Whether `take_motion` has anything to do."""
        return bool(self._positions or self._twists)

    def take_forces(self) -> None:
        """Copy accelerations and contacts of the physics step that has just ended."""
        if self._touched:
            self._take_contacts()
        if not self._accelerations:
            return
        model, data, buffer = self._model, self._data, self._buffer
        for index, body in self._accelerations:
            mujoco.mj_objectAcceleration(model, data, XBODY, body, buffer, 0)
            self._body.set_link_value(index, 'dw', buffer[:3])
            # MuJoCo's acceleration is what an accelerometer feels.
            self._body.set_link_value(index, 'dv', buffer[3:] + self._gravity)

    def take_motion(self) -> None:
        """Copy poses and twists of the present state."""
        put = self._body.set_link_value
        for index, position, rotation in self._positions:
            put(index, 'p', position)
            put(index, 'R', rotation)
        model, data, buffer = self._model, self._data, self._buffer
        for index, body in self._twists:
            mujoco.mj_objectVelocity(model, data, XBODY, body, buffer, 0)
            put(index, 'w', buffer[:3])
            put(index, 'v', buffer[3:])

    def _take_contacts(self) -> None:
        model, data, force = self._model, self._data, self._force
        for link in self._touched.values():
            link.contact_points = []
        for i in range(data.ncon):
            contact = data.contact[i]
            pair = (int(model.geom_bodyid[contact.geom1]), int(model.geom_bodyid[contact.geom2]))
            if contact.efc_address < 0 or not (
                pair[0] in self._touched or pair[1] in self._touched
            ):
                continue
            mujoco.mj_contactForce(model, data, i, force)
            frame = contact.frame.reshape(3, 3)
            velocities = [self._velocity_at(body, contact.pos) for body in pair]
            # Normal and force are those that the first geom exerts on the second one.
            for side, sign in ((1, 1.0), (0, -1.0)):
                touched = self._touched.get(pair[side])
                if touched is not None:
                    touched.contact_points.append(
                        ContactPoint(
                            position=contact.pos.copy(),
                            normal=sign * frame[0],
                            force=sign * (force[:3] @ frame),
                            velocity=velocities[side] - velocities[1 - side],
                            depth=max(0.0, -float(contact.dist)),
                        )
                    )

    def _velocity_at(self, body: int, point: np.ndarray) -> np.ndarray:
        """Velocity of the point of a MuJoCo body that is at `point` [m/s], world axes."""
        twist = self._buffer
        mujoco.mj_objectVelocity(self._model, self._data, XBODY, body, twist, 0)
        return twist[3:] + np.cross(twist[:3], point - self._data.xpos[body])
