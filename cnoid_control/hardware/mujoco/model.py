"""MuJoCo model of a body."""

from __future__ import annotations

import logging

import mujoco
import numpy as np

from cnoid_control.body import Body, JointType
from cnoid_control.body.description import LinkDescription
from cnoid_control.body.kinematic_tree import KinematicTree
from cnoid_control.hardware.exceptions import not_simulable
from cnoid_control.hardware.mujoco.devices import AMBIENT, HEADLIGHT, DeviceBuilder
from cnoid_control.hardware.mujoco.geometry import GeometryBuilder, quaternion
from cnoid_control.hardware.mujoco.inertia import set_inertia
from cnoid_control.hardware.mujoco.parameters import MujocoParameters

logger = logging.getLogger(__name__)

WORLD = 'world'

# Half the width of a range whose ends are one in the model: MuJoCo wants two of them.
LOCKED_SLACK = 1e-6


class MujocoModel:
    """The MuJoCo model of a body in its world.

    Joints are found by the body's slots (joint ids, then the virtual joints): MuJoCo orders them
    depth-first, so nothing here relies on the order of joints.

    Attributes:
        body: the robot.
        model: the compiled model.
        links: MuJoCo body of each link, by link index.
        slots: slots that have a joint, ascending; all but the holes in the joint ids.
        qpos: address in qpos of the joint of each of `slots`.
        dofs: address in qvel of the joint of each of `slots`.
        devices: where the devices are in the model.
        free_root: whether the root moves freely; its qpos is then [0:7] and its qvel [0:6].
    """

    def __init__(
        self,
        body: Body,
        parameters: MujocoParameters,
        time_step: float,
        free_root: bool | None = None,
    ) -> None:
        """Build and compile the model.

        Args:
            body: the robot; its tree is used, its state is not.
            parameters: options of the simulation.
            time_step: physics step [s].
            free_root: whether the root can move; as the body says where None.

        Raises:
            HardwareError: MuJoCo refuses the robot.
            HardwareError: the collision list selects nothing.
        """
        self.body = body
        self._parameters = parameters
        self._spec = mujoco.MjSpec()
        self._spec.modelname = body.name
        self._spec.compiler.degree = False
        self._set_options(time_step)
        self._builder = GeometryBuilder(self._spec, body.description, parameters)
        self.devices = DeviceBuilder(self._spec, parameters.exact_accelerometer)
        self.free_root = not body.is_fixed_root if free_root is None else free_root
        self._add_links()
        self._add_mimics()
        self._add_actuators()
        for device in body.devices:
            assert device.link is not None  # Every device of a body has one.
            self.devices.add(self._bodies[device.link.index], device)
        # MuJoCo finds the accelerations of links only for a sensor that needs them.
        self._spec.add_sensor(
            type=mujoco.mjtSensor.mjSENS_FRAMELINACC,
            objtype=mujoco.mjtObj.mjOBJ_XBODY,
            objname=self._bodies[0].name,
        )
        if parameters.floor:
            self._builder.add_floor()
        for name, thing in parameters.objects.items():
            self._builder.add_object(name, thing)
        try:
            self.model: mujoco.MjModel = self._spec.compile()
        except ValueError as error:
            raise not_simulable(body.name, ' '.join(str(error).split())) from error
        self._map()

    def _set_options(self, time_step: float) -> None:
        option = self._spec.option
        option.timestep = time_step
        option.gravity = [0.0, 0.0, -self._parameters.gravity]
        option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        option.solver = mujoco.mjtSolver.mjSOL_NEWTON
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        option.impratio = 1.0
        light = self._spec.visual.headlight
        light.ambient = [AMBIENT * self._parameters.ambient_light] * 3
        light.diffuse = [HEADLIGHT * self._parameters.ambient_light] * 3
        light.specular = [0.0] * 3
        # A run that diverges shall be seen to do so, not start anew.
        option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET

    def _add_links(self) -> None:
        tree = self.body.tree
        bodies: list[mujoco.MjsBody] = []
        self._joints: dict[int, mujoco.MjsJoint] = {}
        below = _masses_below(tree)
        for link, parent, slot in zip(tree.links, tree.parents, tree.joint_slots, strict=True):
            carrier = self._spec.worldbody if parent < 0 else bodies[parent]
            # MuJoCo's own world has the name that roots of URDF files often have.
            name = f'link/{link.name}' if link.name == WORLD else link.name
            body = carrier.add_body(
                name=name, pos=link.translation, quat=quaternion(link.rotation)
            )
            is_free = parent < 0 and self.free_root
            if is_free:
                body.add_freejoint()
            elif slot >= 0 and link.joint_type.has_displacement:
                self._joints[slot] = self._add_joint(body, link)
            moves = is_free or slot in self._joints
            set_inertia(body, link, carries=moves and below[len(bodies)] > 0.0)
            self._builder.add_shapes(body, link)
            bodies.append(body)
        self._bodies = bodies

    def _add_joint(self, body: mujoco.MjsBody, link: LinkDescription) -> mujoco.MjsJoint:
        revolute = link.joint_type is JointType.REVOLUTE
        joint = body.add_joint(
            name=link.joint_name,
            type=mujoco.mjtJoint.mjJNT_HINGE if revolute else mujoco.mjtJoint.mjJNT_SLIDE,
            axis=link.joint_axis,
            armature=link.rotor_inertia,
            frictionloss=link.friction,
        )
        limited = np.isfinite(link.q_lower) and np.isfinite(link.q_upper)
        if limited and self._parameters.joint_limits:
            slack = LOCKED_SLACK if link.q_lower == link.q_upper else 0.0
            joint.range = [link.q_lower - slack, link.q_upper + slack]
            joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
        return joint

    def _add_mimics(self) -> None:
        for link in self.body.tree.links:
            if link.mimic is not None:
                equality = self._spec.add_equality(
                    type=mujoco.mjtEq.mjEQ_JOINT,
                    objtype=mujoco.mjtObj.mjOBJ_JOINT,
                    name1=link.joint_name,
                    name2=link.mimic.joint,
                )
                # Coefficients of a polynomial of the followed joint's displacement.
                equality.data[:5] = [link.mimic.offset, link.mimic.multiplier, 0.0, 0.0, 0.0]

    def _add_actuators(self) -> None:
        """Add one actuator per joint; its gains decide whether it is a motor or a servo."""
        for slot in sorted(self._joints):
            joint = self.body.all_joints[slot]
            actuator = self._spec.add_actuator(
                name=joint.joint_name,
                target=joint.joint_name,
                trntype=mujoco.mjtTrn.mjTRN_JOINT,
                gaintype=mujoco.mjtGain.mjGAIN_FIXED,
                biastype=mujoco.mjtBias.mjBIAS_AFFINE,
            )
            limited = np.isfinite(joint.u_lower) and np.isfinite(joint.u_upper)
            if limited and self._parameters.effort_limits:
                slack = 0.0
                if joint.u_lower == joint.u_upper:
                    slack = LOCKED_SLACK
                    logger.warning(
                        'joint %r has an effort limit of %g: it is not driven, unless '
                        'effort_limits is false',
                        joint.joint_name,
                        joint.u_upper,
                    )
                actuator.forcerange = [joint.u_lower - slack, joint.u_upper + slack]
                actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE

    def _map(self) -> None:
        model = self.model
        self.links = np.array([body.id for body in self._bodies], dtype=np.intp)
        self.slots = np.array(sorted(self._joints), dtype=np.intp)
        joints = [self._joints[slot].id for slot in self.slots]
        self.qpos = model.jnt_qposadr[joints].astype(np.intp)
        self.dofs = model.jnt_dofadr[joints].astype(np.intp)
        for slot, dof in zip(self.slots, self.dofs, strict=True):
            model.dof_damping[dof] = self.body.all_joints[slot].description.damping


def _masses_below(tree: KinematicTree) -> np.ndarray:
    """Mass that each link carries, its own not included [kg], shape (num_links,)."""
    masses = np.zeros(len(tree.links))
    # Children come behind their parents.
    for index in range(len(tree.links) - 1, 0, -1):
        masses[tree.parents[index]] += masses[index] + tree.links[index].mass
    return masses
