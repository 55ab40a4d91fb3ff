"""MuJoCo's own kinematics and dynamics of a body that was read from an MJCF file."""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.formats.mjcf import PART_OF
from cnoid_control.body.formats.mjcf_file import drop_dangling_pairs, read_spec
from cnoid_control.body.kinematics import (
    calc_inverse_dynamics,
    calc_link_jacobian,
    calc_mass_matrix,
)

TOLERANCE = 1e-9


class MujocoReference:
    """The compiled model of a file beside the body that was read from it."""

    def __init__(self, body: Body) -> None:
        spec = read_spec(body.description.mjcf)
        drop_dangling_pairs(spec, [])
        self.body = body
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        joints = [link for link in body.all_joints if link.name]
        self.slots = [body.tree.joint_slots[link.index] for link in joints]
        self.joints = [self.model.joint(link.joint_name) for link in joints]
        self.qpos = [joint.qposadr[0] for joint in self.joints]
        self.dofs = [joint.dofadr[0] for joint in self.joints]
        self.root_dofs: list[int] = []
        self.root_qpos = 0
        if not body.is_fixed_root:
            address = self.model.body(body.root_link.name).jntadr[0]
            first = self.model.jnt_dofadr[address]
            self.root_qpos = self.model.jnt_qposadr[address]
            self.root_dofs = list(range(first, first + 6))

    def randomize(self, rng: np.random.Generator) -> None:
        """Put both into one random state, with mimic joints where they belong."""
        body, data = self.body, self.data
        for name, scale in (('q', 1.0), ('dq', 2.0), ('ddq', 5.0)):
            body.joint_arrays[name][:] = rng.normal(size=body.num_all_joints) * scale
        root = body.root_link
        if self.root_dofs:
            quaternion = rng.normal(size=4)
            root.rotation = quaternion / np.linalg.norm(quaternion)
            root.p = rng.normal(size=3)
            root.v, root.w = rng.normal(size=3), rng.normal(size=3)
            root.dv, root.dw = rng.normal(size=3), rng.normal(size=3)
        body.calc_forward_kinematics(velocity=True, acceleration=True)
        data.qpos[:] = self.model.qpos0
        data.qvel[:] = data.qacc[:] = 0.0
        data.qpos[self.qpos] = body.joint_arrays['q'][self.slots]
        data.qvel[self.dofs] = body.joint_arrays['dq'][self.slots]
        body.pin_a()
        data.qacc[self.dofs] = body.joint_arrays['ddq'][self.slots]
        if self.root_dofs:
            start, dofs = self.root_qpos, self.root_dofs
            data.qpos[start : start + 3] = root.p
            data.qpos[start + 3 : start + 7] = np.roll(body.pin_q()[3:7], 1)
            data.qvel[dofs] = np.concatenate([root.v, root.R.T @ root.w])
            data.qacc[dofs] = np.concatenate([root.dv, root.R.T @ root.dw])
        acceleration = data.qacc.copy()
        mujoco.mj_forward(self.model, data)
        data.qacc[:] = acceleration

    def check(self, rng: np.random.Generator) -> None:
        """Compare mass, CoM, poses, velocities, Jacobians, mass matrix, inverse dynamics."""
        self.randomize(rng)
        self.check_kinematics()
        self.check_mass_matrix()
        self.check_inverse_dynamics()

    def check_kinematics(self) -> None:
        model, data, body = self.model, self.data, self.body
        ids = [
            model.body(link.name).id
            for link in body.links
            if PART_OF not in link.description.info and link.name != 'world'
        ]
        assert abs(body.mass - model.body_mass[ids].sum()) < TOLERANCE
        center = model.body_mass[ids] @ data.xipos[ids] / model.body_mass[ids].sum()
        np.testing.assert_allclose(body.calc_center_of_mass(), center, atol=TOLERANCE)
        jacobian, turning = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        columns = np.zeros((0, model.nv))
        if body.joints:
            columns = np.array([self._column(joint.joint_name) for joint in body.joints])
        for link in body.links:
            if PART_OF in link.description.info:
                continue
            index = model.body(link.name).id
            np.testing.assert_allclose(link.p, data.xpos[index], atol=TOLERANCE)
            np.testing.assert_allclose(link.R, data.xmat[index].reshape(3, 3), atol=TOLERANCE)
            twist = np.zeros(6)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, index, twist, 0)
            np.testing.assert_allclose(link.w, twist[:3], atol=TOLERANCE)
            np.testing.assert_allclose(link.v, twist[3:], atol=TOLERANCE)
            mujoco.mj_jacBody(model, data, jacobian, turning, index)
            mine = calc_link_jacobian(link)[:, : body.num_joints]
            np.testing.assert_allclose(mine[:3], jacobian @ columns.T, atol=TOLERANCE)
            np.testing.assert_allclose(mine[3:], turning @ columns.T, atol=TOLERANCE)

    def _column(self, joint: str) -> np.ndarray:
        """Velocities of MuJoCo's model when a joint moves, and with it those that mimic it."""
        velocity = np.zeros(self.model.nv)
        for link in self.body.links:
            mimic = link.description.mimic
            if link.joint_name == joint and link.joint_type.has_displacement:
                velocity[self.model.joint(joint).dofadr[0]] = 1.0
            elif mimic is not None and mimic.joint == joint:
                velocity[self.model.joint(link.joint_name).dofadr[0]] = mimic.multiplier
        return velocity

    def _expand(self) -> np.ndarray:
        """Velocities of MuJoCo's model from [root velocity in world axes, joints with an id]."""
        columns = [self._column(joint.joint_name) for joint in self.body.joints]
        joints = np.array(columns).reshape(-1, self.model.nv).T
        if not self.root_dofs:
            return joints
        root = np.zeros((self.model.nv, 6))
        root[self.root_dofs[:3], :3] = np.eye(3)
        root[self.root_dofs[3:], 3:] = self.body.root_link.R.T
        return np.hstack([root, joints])

    def check_mass_matrix(self) -> None:
        model, data = self.model, self.data
        full = np.zeros((model.nv, model.nv))
        try:
            mujoco.mj_fullM(model, data, full)
        except TypeError:
            mujoco.mj_fullM(model, full, data.qM)
        expand = self._expand()
        mine = calc_mass_matrix(self.body)
        np.testing.assert_allclose(mine, expand.T @ full @ expand, atol=TOLERANCE)

    def check_inverse_dynamics(self) -> None:
        body, model, data = self.body, self.model, self.data
        mujoco.mj_inverse(model, data)
        # Springs, dampers, friction and contacts are the physics' alone.
        needed = data.qfrc_inverse + data.qfrc_passive + data.qfrc_constraint
        root = body.root_link
        held = root.dv.copy()
        root.dv = held - np.array(body.description.gravity)
        calc_inverse_dynamics(root)
        root.dv = held
        expected = self._expand().T @ needed
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(
            body.u / scale, expected[len(expected) - body.num_joints :] / scale, atol=TOLERANCE
        )
