"""A body as part of a MuJoCo spec."""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.body import Body, JointType
from cnoid_control.body.description import LinkDescription
from cnoid_control.body.gains import LEAST_INERTIA
from cnoid_control.body.kinematic_tree import KinematicTree
from cnoid_control.hardware.mujoco.actuators import LOCKED_SLACK, add_actuator
from cnoid_control.hardware.mujoco.devices import DeviceBuilder
from cnoid_control.hardware.mujoco.elements import RobotElements
from cnoid_control.hardware.mujoco.geometry import GeometryBuilder, quaternion
from cnoid_control.hardware.mujoco.inertia import set_inertia
from cnoid_control.hardware.mujoco.loops import add_loops, closing_time
from cnoid_control.hardware.mujoco.parameters import MujocoParameters

WORLD = 'world'


class BodySpec:
    """The links, joints, actuators and devices of a body in a MuJoCo spec.

    Attributes:
        elements: what they are called there.
    """

    def __init__(
        self,
        spec: mujoco.MjSpec,
        body: Body,
        parameters: MujocoParameters,
        geometry: GeometryBuilder,
        free_root: bool,
    ) -> None:
        """Add the robot.

        Args:
            spec: what it is added to; its angles are in radians.
            body: the robot; its tree is used, its state is not.
            parameters: options of the simulation.
            geometry: what adds its shapes.
            free_root: whether the root can move.
        """
        self.body = body
        self._spec = spec
        self._parameters = parameters
        self._builder = geometry
        self.elements = RobotElements()
        self._add_links(free_root)
        self._add_mimics()
        self.elements.pistons = add_loops(spec, body, self._bodies)
        self._add_actuators()
        devices = DeviceBuilder(spec, self.elements.devices, parameters.exact_accelerometer)
        for device in body.devices:
            assert device.link is not None  # Every device of a body has one.
            devices.add(self._bodies[device.link.index], device)

    def _add_links(self, free_root: bool) -> None:
        tree = self.body.tree
        bodies: list[mujoco.MjsBody] = []
        joints = self.elements.joints
        below = _masses_below(tree)
        for link, parent, slot in zip(tree.links, tree.parents, tree.joint_slots, strict=True):
            # MuJoCo has free joints on its world only; where the link starts, the state says.
            alone = parent >= 0 and link.joint_type is JointType.FREE
            carrier = self._spec.worldbody if parent < 0 or alone else bodies[parent]
            # MuJoCo's own world has the name that roots of URDF files often have.
            name = f'link/{link.name}' if link.name == WORLD else link.name
            body = carrier.add_body(
                name=name, pos=link.translation, quat=quaternion(link.rotation)
            )
            is_free = parent < 0 and free_root
            if is_free:
                self.elements.root_joint = f'root/{name}'
                body.add_freejoint().name = self.elements.root_joint
            elif alone:
                self.elements.free_joints[len(bodies)] = f'free/{name}'
                body.add_freejoint().name = f'free/{name}'
            elif slot >= 0 and link.joint_type.has_displacement:
                joint = self._add_joint(body, link)
                joints[slot] = joint.name
                if below[len(bodies)] + link.mass <= 0.0:
                    # Nothing at all moves with it.
                    least = LEAST_INERTIA[link.joint_type.value]
                    joint.armature = max(joint.armature, least)
            set_inertia(body, link, carries=is_free or alone or slot in joints)
            self._builder.add_shapes(body, link)
            bodies.append(body)
        self._bodies = bodies
        self.elements.links = [body.name for body in bodies]

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
                    solref=closing_time(self._spec),
                )
                # Coefficients of a polynomial of the followed joint's displacement.
                equality.data[:5] = [link.mimic.offset, link.mimic.multiplier, 0.0, 0.0, 0.0]

    def _add_actuators(self) -> None:
        for slot, name in sorted(self.elements.joints.items()):
            joint = self.body.all_joints[slot]
            add_actuator(self._spec, joint, name, name, self._parameters.effort_limits)
            self.elements.actuators[slot] = name


def _masses_below(tree: KinematicTree) -> np.ndarray:
    """Mass that each link carries, its own not included [kg], shape (num_links,)."""
    masses = np.zeros(len(tree.links))
    # Children come behind their parents.
    for index in range(len(tree.links) - 1, 0, -1):
        if tree.free_links[index] != index:
            masses[tree.parents[index]] += masses[index] + tree.links[index].mass
    return masses
