"""Link states and external wrenches in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.body import Body, ContactPoint, Link, StateFlag
from cnoid_control.body.channels import JOINT_FLAGS, commanded_flags
from cnoid_control.hardware.exceptions import UnsupportedChannel
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco.geometry import quaternion
from cnoid_control.hardware.mujoco.model import MujocoModel

XBODY = mujoco.mjtObj.mjOBJ_XBODY


class LinkInputs:
    """Copies the requested link states, world axes, in two parts.

    `take_forces` copies what belongs to the physics step that has just ended, before the next one
    begins; `take_motion` what belongs to the state that it led to.
    """

    def __init__(self, mapping: MujocoModel, data: mujoco.MjData, body: Body) -> None:
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

        inner = self._mapping.inner_links
        self._refuse_inner(request)
        self._positions = [
            (index, self._data.xpos[body], self._data.xmat[body].reshape(3, 3))
            for index, body in moving(StateFlag.LINK_POSITION)
            if index not in inner
        ]
        self._twists = [pair for pair in moving(StateFlag.LINK_TWIST) if pair[0] not in inner]
        self._inner = sorted(
            index
            for index in inner
            if request.inputs.get(self._body.links[index].name, StateFlag.NONE)
            & (StateFlag.LINK_POSITION | StateFlag.LINK_TWIST)
        )
        self._twin = self._body.clone() if self._inner else None
        self._accelerations = links_with(StateFlag.LINK_ACCELERATION)
        self._touched: dict[int, Link] = {
            body: self._body.links[index]
            for index, body in links_with(StateFlag.LINK_CONTACT_STATE)
            if index not in inner
        }

    def _refuse_inner(self, request: IORequest) -> None:
        for index in self._mapping.inner_links:
            name = self._body.links[index].name
            flags = request.inputs.get(name, StateFlag.NONE) & StateFlag.LINK_ACCELERATION
            flags |= request.outputs.get(name, StateFlag.NONE) & StateFlag.LINK_EXT_WRENCH
            if flags:
                raise UnsupportedChannel(
                    name, flags.name or flags, 'mujoco', ['links that are bodies in the MJCF file']
                )

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
        return bool(self._positions or self._twists or self._inner)

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
        if self._twin is not None:
            self._take_inner(self._twin)

    def _take_inner(self, twin: Body) -> None:
        """Find the links between the joints of one MuJoCo body, which MuJoCo does not know."""
        data, mapping = self._data, self._mapping
        twin.joint_arrays['q'][mapping.slots] = data.qpos[mapping.qpos]
        twin.joint_arrays['dq'][mapping.slots] = data.qvel[mapping.dofs]
        root, mine = twin.root_link, self._body.root_link
        root.p, root.R, root.v, root.w = mine.p, mine.R, mine.v, mine.w
        twin.calc_forward_kinematics(velocity=True)
        for index in self._inner:
            link = twin.links[index]
            for name in ('p', 'R', 'v', 'w'):
                self._body.set_link_value(index, name, getattr(link, name))

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


# Inertia given to a root whose pose is commanded, relative to the robot's mass: the robot's own
# weight and reactions then move it by less than a millionth of what they would.
IMPOSED_INERTIA = 1e7

ROOT_MOTION = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST | StateFlag.LINK_ACCELERATION
ROOT_MODES = (
    StateFlag.NONE,
    StateFlag.LINK_POSITION,
    StateFlag.LINK_TWIST,
    StateFlag.LINK_POSITION | StateFlag.LINK_TWIST,
    StateFlag.LINK_ACCELERATION,
)


class LinkOutputs:
    """Applies the motion commanded to the root and the wrenches commanded to links.

    The root is put to a pose, or moved with a twist, or with an acceleration. With pose and twist
    it is at the pose at the beginning of a tick and moves on with the twist. The delay is that of
    joint commands: one tick, or none for links in no-delay mode.
    """

    def __init__(self, mapping: MujocoModel, data: mujoco.MjData, body: Body) -> None:
        self._model, self._data, self._body = mapping.model, data, body
        self._mapping = mapping
        self._root_armature = mapping.model.dof_armature[mapping.root_dofs].copy()
        self._imposed = False
        self._root_mode = StateFlag.NONE
        self._next_rate = self._rate = (np.zeros(3), np.zeros(3))
        self._wrench_links = np.zeros(0, dtype=np.intp)
        self._pushes = False
        self.active = False

    def open(self, request: IORequest) -> None:
        """Take over the requested channels and the body's present commands.

        Raises:
            UnsupportedChannel: a motion was requested of a link that is no free root, or one that
                contradicts itself, or a joint's channel of a link without a joint.
        """
        root = self._body.root_link
        for name, flags in request.outputs.items():
            link = self._body.link(name)
            flags = commanded_flags(link, flags)
            motion = flags & ROOT_MOTION
            own = flags & JOINT_FLAGS
            if own and self._body.tree.joint_slots[link.index] < 0:
                raise UnsupportedChannel(name, own, 'mujoco', ['a link that a joint moves'])
            if motion and not (link.is_root and self._mapping.free_root):
                raise UnsupportedChannel(
                    name,
                    motion,
                    'mujoco',
                    ['the free root only' if link.is_root else f'the root {root.name!r} only'],
                )
        flags = commanded_flags(root, request.outputs.get(root.name, StateFlag.NONE))
        self._root_mode = flags & ROOT_MOTION
        if self._root_mode not in ROOT_MODES:
            raise UnsupportedChannel(root.name, self._root_mode, 'mujoco', ROOT_MODES)
        self._impose(bool(self._root_mode))
        self._next_rate = (np.zeros(3), np.zeros(3))
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
        root = self._mapping.root_dofs
        self._model.dof_armature[root] = self._inertia if imposed else self._root_armature
        mujoco.mj_setConst(self._model, mujoco.MjData(self._model))
        self._data.qfrc_applied[root] = 0.0

    def write(self) -> None:
        """Take over the body's commands; the wrenches are used up."""
        if self._imposed:
            root = self._body.root_link
            if self._root_mode & StateFlag.LINK_POSITION:
                self._next_pose = (root.p.copy(), quaternion(root.R))
            if self._root_mode & StateFlag.LINK_TWIST:
                self._next_rate = (root.v.copy(), root.w.copy())
            elif self._root_mode & StateFlag.LINK_ACCELERATION:
                self._next_rate = (root.dv.copy(), root.dw.copy())
            if self._root_at_once:
                self._latch_motion()
        if self._wrench_links.size:
            wrenches = self._body.external_wrenches
            self._written[:] = wrenches[self._wrench_links]
            wrenches[self._wrench_links] = 0.0
            self._acting[self._at_once] = self._written[self._at_once]

    def latch(self) -> None:
        """Let the commands of the last `write` act from now on; called when a tick is over."""
        if self._imposed:
            self._latch_motion()
        self._acting[:] = self._written

    def _latch_motion(self) -> None:
        self._rate = self._next_rate
        if self._root_mode & StateFlag.LINK_POSITION:
            position, orientation = self._next_pose
            self._pose = (position.copy(), orientation.copy())

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
            root = self._mapping.root_dofs
            change = self._root_velocity(step) - data.qvel[root]
            data.qfrc_applied[root] = self._inertia * change / step

    def _root_velocity(self, step: float) -> np.ndarray:
        """Velocity, angular part in root axes, by which the root gets where it is to be."""
        data = self._data
        velocity = np.empty(6)
        linear, angular = self._rate
        spin = data.xmat[self._mapping.links[0]].reshape(3, 3).T @ angular
        if self._root_mode & StateFlag.LINK_POSITION:
            position, orientation = self._pose
            pose = data.qpos[self._mapping.root_qpos]
            velocity[:3] = (position - pose[:3]) / step
            mujoco.mju_subQuat(velocity[3:], orientation, pose[3:])
            velocity[3:] /= step
            # Where it is to be in the next step of this tick; it stays without a twist.
            position += linear * step
            mujoco.mju_quatIntegrate(orientation, spin, step)
        elif self._root_mode & StateFlag.LINK_ACCELERATION:
            velocity[:] = data.qvel[self._mapping.root_dofs]
            velocity[:3] += linear * step
            velocity[3:] += spin * step
        else:
            velocity[:3], velocity[3:] = linear, spin
        return velocity
