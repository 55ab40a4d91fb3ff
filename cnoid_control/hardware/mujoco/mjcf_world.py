"""Robots in worlds that are MJCF files: the file runs as it is, the loop's parts are added.

The file's bodies, contacts, sensors, cameras, options, constraints and tendons stay. Every joint
of the robot gets an actuator for the loop's commands; the file's own actuators on these joints,
directly or through a fixed tendon, are switched off (they are in `DISABLED_GROUP`), with their
armature and damping left in. Other actuators (thrusters, tendons through space, those of things
in the scene) keep acting with the control of the model's own keyframe, or zero.
"""

from __future__ import annotations

import mujoco
import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.mjcf import ACTUATORS, PART_OF, ROTOR_INERTIA, WORLD, own_key
from cnoid_control.body.formats.mjcf_devices import ADDED_SENSORS, CAMERAS, SENSORS
from cnoid_control.body.formats.mjcf_file import drop_dangling_pairs, one_line, read_spec
from cnoid_control.hardware.exceptions import HardwareError, not_simulable
from cnoid_control.hardware.mujoco.actuators import add_actuator
from cnoid_control.hardware.mujoco.body_spec import BodySpec
from cnoid_control.hardware.mujoco.elements import DeviceElements, RobotElements
from cnoid_control.hardware.mujoco.geometry import (
    EVERY_BIT,
    GeometryBuilder,
    is_chosen,
    selectors,
)
from cnoid_control.hardware.mujoco.parameters import GRAVITY, MujocoParameters

# Actuator groups of the loop's actuators and of the file's that they stand in for.
LOOP_GROUP, DISABLED_GROUP = 29, 30

# What stands before the names of a robot's parts in a scene file.
SCENE_PREFIX = 'robot/'

GROUNDS = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)


def match_options(part: mujoco.MjSpec, world: mujoco.MjSpec) -> None:
    """Give a part the options of the world it is put into, which are those that count.

    Without this MuJoCo warns of each that differs.
    """
    for name in dir(part.option):
        if not name.startswith('_'):
            setattr(part.option, name, getattr(world.option, name))


class MjcfWorld:
    """The spec of a world that is an MJCF file, with a robot in it.

    The world is the robot's own file, or the scene that the robot is put into: then the robot
    alone is taken from its file, and the scene's options count.

    Attributes:
        spec: the world's spec.
        elements: what the robot's parts are called, without the prefix.
        prefix: what stands before these names.
        own_step: physics step that the file asks for [s].
        key: keyframe of the file from which things in the scene start; empty for none.
    """

    def __init__(self, body: Body, parameters: MujocoParameters) -> None:
        """Read the files and add what the loop needs.

        Raises:
            HardwareError: a file cannot be read, or an option has no place in such a world.
        """
        description = body.description
        self._body, self._parameters = body, parameters
        self.prefix = SCENE_PREFIX if description.scene else ''
        try:
            self.spec = read_spec(description.scene or description.mjcf)
            self.elements = self._add_file() if description.mjcf else self._add_body()
        except ModelError as error:
            raise HardwareError(str(error)) from error
        self.own_step = float(self.spec.option.timestep)
        self.key = own_key([key.name for key in self.spec.keys]) if self.spec.keys else -1
        geometry = GeometryBuilder(self.spec, description, parameters)
        if parameters.floor and not self._has_ground():
            geometry.add_floor(EVERY_BIT)
        elif parameters.terrain.is_uneven:
            file = description.scene or description.mjcf
            raise HardwareError(f'hardware.mujoco.terrain: {file} has a ground of its own')
        for name, thing in parameters.objects.items():
            geometry.add_object(name, thing, EVERY_BIT)
        drop_dangling_pairs(self.spec, [])
        self._set_options()

    def _has_ground(self) -> bool:
        # One that collides with nothing by itself may do so in contact pairs.
        return any(geom.type in GROUNDS for geom in self.spec.worldbody.geoms)

    def _set_options(self) -> None:
        option, parameters = self.spec.option, self._parameters
        if parameters.gravity != GRAVITY:
            option.gravity = [0.0, 0.0, -parameters.gravity]
        flags = mujoco.mjtDisableBit
        # A run that diverges shall be seen to do so, not start anew.
        option.disableflags |= int(flags.mjDSBL_AUTORESET)
        option.disableflags &= ~int(flags.mjDSBL_ACTUATION)
        option.disableactuator |= 1 << DISABLED_GROUP
        option.disableactuator &= ~(1 << LOOP_GROUP)
        light = self.spec.visual.headlight
        light.ambient = np.array(light.ambient) * parameters.ambient_light
        light.diffuse = np.array(light.diffuse) * parameters.ambient_light

    def _add_body(self) -> RobotElements:
        """Put a robot of another format into the scene."""
        part = mujoco.MjSpec()
        part.compiler.degree = False
        geometry = GeometryBuilder(part, self._body.description, self._parameters)
        free = not self._body.is_fixed_root
        elements = BodySpec(part, self._body, self._parameters, geometry, free).elements
        self._attach(part, [elements.links[0]])
        return elements

    def _attach(self, part: mujoco.MjSpec, tops: list[str]) -> None:
        match_options(part, self.spec)
        frame = self.spec.worldbody.add_frame()
        try:
            for top in tops:
                frame.attach_body(part.body(top), self.prefix, '')
        except ValueError as error:
            raise not_simulable(self._body.name, one_line(error)) from error

    def _add_file(self) -> RobotElements:
        """Find the robot in its own file, and put it into the scene where there is one."""
        body, parameters = self._body, self._parameters
        if parameters.self_collision:
            raise HardwareError(
                f'self_collision: an MJCF file says itself what collides ({body.description.mjcf})'
            )
        part = read_spec(body.description.mjcf) if self.prefix else self.spec
        elements = RobotElements()
        links = body.tree.links
        elements.links = [
            '' if link.name == WORLD else str(link.info.get(PART_OF, link.name)) for link in links
        ]
        elements.inner_links = frozenset(
            i for i, link in enumerate(links) if link.name == WORLD or PART_OF in link.info
        )
        self._set_root(part, elements)
        self._select_collisions(part)
        info = body.description.info
        for name in info[ACTUATORS]:
            part.actuator(name).group = DISABLED_GROUP
        for slot, joint in enumerate(body.all_joints):
            if joint.name and joint.joint_type.has_displacement:
                elements.joints[slot] = joint.joint_name
                elements.actuators[slot] = self._add_actuator(part, slot)
        for name, (kind, site) in info[ADDED_SENSORS].items():
            part.add_sensor(
                name=name,
                type=getattr(mujoco.mjtSensor, f'mjSENS_{kind.upper()}'),
                objtype=mujoco.mjtObj.mjOBJ_SITE,
                objname=site,
            )
        elements.devices = DeviceElements(sensors=info[SENSORS], cameras=info[CAMERAS])
        if self.prefix:
            tops = dict.fromkeys(
                name
                for name, parent in zip(elements.links, body.tree.parents, strict=True)
                if name and (parent < 0 or not elements.links[parent])
            )
            for key in list(part.keys):
                part.delete(key)
            self._attach(part, list(tops))
        return elements

    def _set_root(self, part: mujoco.MjSpec, elements: RobotElements) -> None:
        """Give the root the joint that the body says, whatever the file says."""
        root = elements.links[0]
        if not root:
            return
        joints = list(part.body(root).joints)
        if self._body.is_fixed_root == (not joints):
            elements.root_joint = joints[0].name if joints else ''
            return
        # The keyframes are those of the other kind of root.
        for key in list(part.keys):
            part.delete(key)
        if self._body.is_fixed_root:
            part.delete(joints[0])
        else:
            elements.root_joint = f'loop/{root}'
            part.body(root).add_freejoint().name = elements.root_joint

    def _add_actuator(self, part: mujoco.MjSpec, slot: int) -> str:
        joint = self._body.all_joints[slot]
        limited = self._parameters.effort_limits
        name = f'loop/{joint.joint_name}'
        add_actuator(part, joint, joint.joint_name, name, limited).group = LOOP_GROUP
        element = part.joint(joint.joint_name)
        # What was added to the body since the file was read.
        added = joint.rotor_inertia - joint.description.info[ROTOR_INERTIA]
        element.armature += added
        if not self._parameters.joint_limits:
            element.limited = mujoco.mjtLimited.mjLIMITED_FALSE
        if not limited:
            element.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
        return name

    def _select_collisions(self, part: mujoco.MjSpec) -> None:
        """Let only those geoms of the robot collide that the options select."""
        chosen = self._parameters.collision
        if not chosen:
            return
        for link in self._body.tree.links:
            if link.name == WORLD or PART_OF in link.info:
                continue
            for geom in part.body(link.name).geoms:
                kind = mujoco.mjtGeom(geom.type).name.removeprefix('mjGEOM_').lower()
                if not is_chosen(selectors(link.name, kind, geom.name), chosen):
                    geom.contype = geom.conaffinity = 0
