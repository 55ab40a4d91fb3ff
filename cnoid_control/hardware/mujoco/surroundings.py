"""What a robot in MuJoCo touches, and the things around it, for who looks on."""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.hardware.mujoco.model import MujocoModel

STATE = mujoco.mjtState.mjSTATE_INTEGRATION

# Columns of a contact: index of the link, position [m] and force on the link [N], world axes.
CONTACT_COLUMNS = 7


def moving_things(model: mujoco.MjModel, links: np.ndarray) -> dict[str, int]:
    """MuJoCo bodies that move and are no part of a robot, by name.

    Args:
        model: the compiled model.
        links: MuJoCo bodies of the robot's links.
    """
    robot = set(links.tolist()) - {0}
    found = {}
    for body in range(1, model.nbody):
        if body in robot or not model.body_weldid[body]:
            continue
        found[model.body(body).name or f'body_{body}'] = body
    return found


class Surroundings:
    """Contacts and things, found when they are asked for; the simulation is not touched."""

    def __init__(self, mapping: MujocoModel, data: mujoco.MjData) -> None:
        """Look for the robot and the things.

        Args:
            mapping: the robot in the model.
            data: the state of the simulation.
        """
        self._model, self._data = mapping.model, data
        self._link_of_body = np.full(mapping.model.nbody, -1)
        for index, body in enumerate(mapping.links):
            if body and index not in mapping.inner_links:
                self._link_of_body[body] = index
        self._things = moving_things(mapping.model, mapping.links)
        self._scratch: mujoco.MjData | None = None
        self._state = np.zeros(mujoco.mj_stateSize(mapping.model, int(STATE)))
        self._force = np.zeros(6)

    def contact_forces(self) -> np.ndarray:
        """Contacts of the robot in the present state, shape (points, CONTACT_COLUMNS).

        The simulation has found where things touch, and finds the forces in its next step only:
        they are computed here on a copy of the state.
        """
        model, data = self._model, self._data
        if not data.ncon:
            return np.zeros((0, CONTACT_COLUMNS))
        if self._scratch is None:
            self._scratch = mujoco.MjData(model)
        scratch, force = self._scratch, self._force
        mujoco.mj_getState(model, data, self._state, int(STATE))
        mujoco.mj_setState(model, scratch, self._state, int(STATE))
        mujoco.mj_forward(model, scratch)
        contacts = scratch.contact
        # Bodies of both geoms, as links; -1 for what is no link of the robot.
        links = self._link_of_body[model.geom_bodyid[contacts.geom]]
        acting = np.flatnonzero((contacts.efc_address >= 0) & (links >= 0).any(axis=1))
        forces = np.empty((len(acting), 3))
        for row, i in enumerate(acting.tolist()):
            mujoco.mj_contactForce(model, scratch, i, force)
            forces[row] = force[:3]
        in_world = np.einsum('ni,nij->nj', forces, contacts.frame[acting].reshape(-1, 3, 3))
        # The force is that which the first geom exerts on the second one.
        sides = [
            np.column_stack([links[acting, side], contacts.pos[acting], sign * in_world])
            for side, sign in ((1, 1.0), (0, -1.0))
        ]
        rows = np.concatenate(sides)
        return rows[rows[:, 0] >= 0.0]

    def things(self) -> dict[str, np.ndarray]:
        """Poses of what moves besides the robot: x y z and quaternion x y z w, by name."""
        data = self._data
        return {
            name: np.concatenate([data.xpos[body], data.xquat[body][[1, 2, 3, 0]]])
            for name, body in self._things.items()
        }
