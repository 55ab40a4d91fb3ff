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
        self._link_of_body = {
            int(body): index
            for index, body in enumerate(mapping.links)
            if body and index not in mapping.inner_links
        }
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
        rows: list[np.ndarray] = []
        bodies = model.geom_bodyid
        for i in range(scratch.ncon):
            contact = scratch.contact[i]
            if contact.efc_address < 0:
                continue
            mujoco.mj_contactForce(model, scratch, i, force)
            in_world = force[:3] @ contact.frame.reshape(3, 3)
            # The force is that which the first geom exerts on the second one.
            for geom, sign in ((contact.geom2, 1.0), (contact.geom1, -1.0)):
                link = self._link_of_body.get(int(bodies[geom]))
                if link is not None:
                    rows.append(np.concatenate([[link], contact.pos, sign * in_world]))
        return np.array(rows).reshape(-1, CONTACT_COLUMNS)

    def things(self) -> dict[str, np.ndarray]:
        """Poses of what moves besides the robot: x y z and quaternion x y z w, by name."""
        data = self._data
        return {
            name: np.concatenate([data.xpos[body], data.xquat[body][[1, 2, 3, 0]]])
            for name, body in self._things.items()
        }
