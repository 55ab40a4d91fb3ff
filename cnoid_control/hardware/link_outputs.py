"""What links are commanded by besides their joints: the root's motion, and external wrenches."""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.body import Body, StateFlag
from cnoid_control.hardware.exceptions import UnsupportedChannel
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco_geometry import quaternion
from cnoid_control.hardware.mujoco_model import MujocoModel

# Inertia given to a root whose pose is commanded, relative to the robot's mass: the robot's own
# weight and reactions then move it by less than a millionth of what they would.
IMPOSED_INERTIA = 1e7

ROOT_MOTION = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST


class LinkOutputs:
    """Applies the pose or twist commanded to the root and the wrenches commanded to links.

    The delay is that of joint commands: one tick, or none for links in no-delay mode.
    """

    def __init__(self, mapping: MujocoModel, data: mujoco.MjData, body: Body) -> None:
        """Attach to a simulation; nothing is commanded before `open`."""
        self._model, self._data, self._body = mapping.model, data, body
        self._mapping = mapping
        self._root_armature = mapping.model.dof_armature[:6].copy()
        self._imposed = False
        self._wrench_links = np.zeros(0, dtype=np.intp)
        self._pushes = False
        self.active = False

    def open(self, request: IORequest) -> None:
        """Take over the requested channels and the body's present commands.

        Raises:
            UnsupportedChannel: a pose or twist was requested of a link that is no free root.
        """
        root = self._body.root_link
        for name, flags in request.outputs.items():
            link = self._body.link(name)
            motion = flags & ROOT_MOTION
            if motion and not (link.is_root and self._mapping.free_root):
                raise UnsupportedChannel(
                    name,
                    motion.name or motion,
                    'mujoco',
                    ['the free root only' if link.is_root else f'the root {root.name!r} only'],
                )
        flags = request.outputs.get(root.name, StateFlag.NONE)
        self._impose(bool(flags & ROOT_MOTION))
        self._by_pose = bool(flags & StateFlag.LINK_POSITION)
        self._root_at_once = root.name in request.no_delay
        links = [
            self._body.link(name)
            for name, flags in request.outputs.items()
            if flags & StateFlag.LINK_EXT_WRENCH
        ]
        self._wrench_links = np.array([link.index for link in links], dtype=np.intp)
        self._wrench_bodies = self._mapping.links[self._wrench_links]
        self._at_once = np.array([link.name in request.no_delay for link in links], dtype=bool)
        self._written = np.zeros((len(links), 6))
        self._acting = np.zeros((len(links), 6))
        self._data.xfrc_applied[:] = 0.0
        self._pushes = False
        self.active = self._imposed or bool(links)
        if self.active:
            self.write()
            self.latch()

    def _impose(self, imposed: bool) -> None:
        """Make the root follow a pose whatever the forces on it, or set it free again."""
        if imposed == self._imposed:
            return
        self._imposed = imposed
        self._inertia = IMPOSED_INERTIA * max(self._body.mass, 1.0)
        self._model.dof_armature[:6] = self._inertia if imposed else self._root_armature
        mujoco.mj_setConst(self._model, mujoco.MjData(self._model))
        self._data.qfrc_applied[:6] = 0.0

    def write(self) -> None:
        """Take over the body's commands; the wrenches are used up."""
        if self._imposed:
            root = self._body.root_link
            if self._by_pose:
                self._next_motion = (root.p.copy(), quaternion(root.R))
            else:
                self._next_motion = (root.v.copy(), root.w.copy())
            if self._root_at_once:
                self._motion = self._next_motion
        if self._wrench_links.size:
            wrenches = self._body.external_wrenches
            self._written[:] = wrenches[self._wrench_links]
            wrenches[self._wrench_links] = 0.0
            self._acting[self._at_once] = self._written[self._at_once]

    def latch(self) -> None:
        """Let the commands of the last `write` act from now on; called when a tick is over."""
        if self._imposed:
            self._motion = self._next_motion
        self._acting[:] = self._written

    def apply(self) -> None:
        """Put the acting commands into the coming physics step."""
        data = self._data
        pushes = self._wrench_links.size > 0 and bool(self._acting.any())
        if pushes:
            # MuJoCo wants the torque about the centre of mass, the body has it about the origin.
            centers = data.xipos[self._wrench_bodies]
            force = self._acting[:, :3]
            data.xfrc_applied[self._wrench_bodies, :3] = force
            data.xfrc_applied[self._wrench_bodies, 3:] = self._acting[:, 3:] - np.cross(
                centers, force
            )
        elif self._pushes:
            data.xfrc_applied[self._wrench_bodies] = 0.0
        self._pushes = pushes
        if self._imposed:
            step = self._model.opt.timestep
            # The force that brings the heavy root to its velocity within the step.
            change = self._root_velocity(step) - data.qvel[:6]
            data.qfrc_applied[:6] = self._inertia * change / step

    def _root_velocity(self, step: float) -> np.ndarray:
        """Velocity, angular part in root axes, by which the root gets where it is to be."""
        data = self._data
        velocity = np.empty(6)
        if self._by_pose:
            position, orientation = self._motion
            velocity[:3] = (position - data.qpos[:3]) / step
            mujoco.mju_subQuat(velocity[3:], orientation, data.qpos[3:7])
            velocity[3:] /= step
        else:
            velocity[:3], spin = self._motion
            velocity[3:] = data.xmat[self._mapping.links[0]].reshape(3, 3).T @ spin
        return velocity
