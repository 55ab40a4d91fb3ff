"""MJCF files, read through MuJoCo: what is in the body is what MuJoCo compiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from cnoid_control.body.description import (
    BodyDescription,
    JointType,
    LinkDescription,
    Mimic,
    Posture,
)
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.mjcf_actuators import JointActuators
from cnoid_control.body.formats.mjcf_devices import read_devices
from cnoid_control.body.formats.mjcf_file import compile_file, drop_dangling_pairs, read_spec
from cnoid_control.body.formats.mjcf_shapes import ShapeReader

if TYPE_CHECKING:
    import mujoco

WORLD = 'world'

# MuJoCo's joint types, by number.
FREE, BALL, SLIDE, HINGE = range(4)

# The key in a link's `info` with the MuJoCo body that the link is part of, where the link has
# another name: one of several joints of the body, or a joint beside the body's origin.
PART_OF = 'mjcf_body'

# The key in the description's `info` with the names of the actuators on the robot's joints.
ACTUATORS = 'mjcf_actuators'

# The key in a link's `info` with the rotor inertia that the file gives the joint.
ROTOR_INERTIA = 'mjcf_rotor_inertia'


def parse_mjcf(path: str | Path, root: JointType | None = None) -> BodyDescription:
    """Body description of the robot in an MJCF file.

    The numbers are those of the model that MuJoCo compiles. Every MuJoCo body is a link of its
    name and frame. A body with several joints, or with one beside its origin, has a massless
    link `BODY/JOINT` for each of those in front. Displacements are MuJoCo's qpos.

    What moves and belongs to no robot (a body with a free joint in a file that has another one
    with joints, mocap bodies, what has no actuators where other things have some) is part of the
    scene.

    Args:
        path: the file.
        root: FREE for a floating base, FIXED for one that is bolted to the world; where None,
            what the file says.

    Raises:
        ModelError: MuJoCo refuses the file, nothing in it moves, or it has a ball joint.
    """
    warnings: list[str] = []
    spec = read_spec(path, warnings)
    drop_dangling_pairs(spec, warnings)
    model = compile_file(spec, path)
    return _Reader(model, spec, str(path), warnings).read(root)


@dataclass(frozen=True)
class _Robot:
    """Which top bodies of a model are the robot, and why its base is what it is."""

    tops: list[int]
    free: bool
    reason: str


class _Reader:
    def __init__(
        self, model: mujoco.MjModel, spec: mujoco.MjSpec, source: str, warnings: list[str]
    ) -> None:
        self._model, self._spec, self._source = model, spec, source
        self._warnings = warnings

    def read(self, root: JointType | None) -> BodyDescription:
        model = self._model
        actuators = JointActuators(model, self._warnings)
        robot = self._find_robot(actuators)
        inside = np.isin(model.body_rootid, robot.tops)
        bodies = np.flatnonzero(inside)
        links = self._links(robot, bodies)
        self._check_joints(bodies)
        for link in links:
            if link.joint_type.has_displacement:
                actuators.apply(link)
                link.info[ROTOR_INERTIA] = link.rotor_inertia
        self._mimic(links)
        self._number(links)
        passive = [link.joint_name for link in links if link.u_lower == link.u_upper == 0.0]
        if passive:
            self._warnings.append(f'joints without an actuator are passive: {", ".join(passive)}')
        self._warn_of_forces(bodies)
        shapes = ShapeReader(model, self._spec, self._warnings)
        of_name = {link.name: link for link in links}
        for body in bodies:
            of_name[self._name(int(body))].shapes = shapes.read(int(body))
        description = BodyDescription(
            self._spec.modelname or Path(self._source).stem,
            links,
            source=self._source,
            base_reason=robot.reason,
            mjcf=str(Path(self._source).absolute()),
            warnings=self._warnings,
            gravity=tuple(model.opt.gravity.tolist()),
        )
        description.postures = self._postures(links, robot)
        description.info[ACTUATORS] = self._own_actuators(actuators, links)
        read_devices(model, description, bodies)
        if root is not None and (root is JointType.FREE) != robot.free:
            self._change_root(description, robot, root)
        return description

    def _own_actuators(self, actuators: JointActuators, links: list[LinkDescription]) -> list[str]:
        """Names of the actuators that act on joints of the robot, and on none besides."""
        mine = {link.joint_name for link in links}
        own: set[int] = set()
        others: set[int] = set()
        for joint, drives in actuators.drives.items():
            (own if joint in mine else others).update(drive.actuator for drive in drives)
        return [str(self._model.actuator(index).name) for index in sorted(own - others)]

    def _name(self, body: int) -> str:
        return str(self._model.body(int(body)).name)

    # --- which bodies are the robot -----------------------------------------------------------

    def _find_robot(self, actuators: JointActuators) -> _Robot:
        model = self._model
        tops = [b for b in range(1, model.nbody) if model.body_parentid[b] == 0]
        joints = {
            top: [j for j in range(model.njnt) if model.body_rootid[model.jnt_bodyid[j]] == top]
            for top in tops
        }
        moving = [top for top in tops if joints[top]]
        if not moving:
            raise ModelError('nothing in it has a joint', self._source)
        inner = {top: sum(model.jnt_type[j] != FREE for j in joints[top]) for top in moving}
        driven = [top for top in moving if top in actuators.driven_tops]
        robots = driven or [top for top in moving if inner[top]] or moving
        floating = [top for top in robots if any(model.jnt_type[j] == FREE for j in joints[top])]
        bolted = [top for top in robots if top not in floating]
        chosen = bolted
        if floating:
            first = max(floating, key=lambda top: inner[top])
            if not bolted or inner[first] >= sum(inner[top] for top in bolted):
                chosen = [first]
        for top in robots:
            if top not in chosen:
                self._warnings.append(
                    f'body {self._name(top)!r} and what it carries is another robot; it is left '
                    'in the scene'
                )
        names = ' and '.join(repr(self._name(top)) for top in chosen)
        if chosen != bolted:
            return _Robot(chosen, True, f'body {names} has a free joint')
        if len(chosen) == 1 and not model.body_jntnum[chosen[0]]:
            return _Robot(chosen, False, f'body {names} has no joint to the world')
        return _Robot(chosen, False, f'the joints of body {names} begin at the world')

    def _check_joints(self, bodies: np.ndarray) -> None:
        model = self._model
        for joint in range(model.njnt):
            body = model.jnt_bodyid[joint]
            if model.jnt_type[joint] == BALL and body in bodies:
                raise ModelError(
                    f'body {self._name(body)!r} has ball joint {model.joint(joint).name!r}; a '
                    'robot has hinges and slides: three hinges in one point are what it needs',
                    self._source,
                )

    # --- links and joints ---------------------------------------------------------------------

    def _links(self, robot: _Robot, bodies: np.ndarray) -> list[LinkDescription]:
        model = self._model
        links: list[LinkDescription] = []
        alone = len(robot.tops) == 1 and (robot.free or not model.body_jntnum[robot.tops[0]])
        if not alone:
            links.append(LinkDescription(WORLD, mass=0.0, inertia=np.zeros((3, 3))))
        for body in bodies:
            name = self._name(body)
            parent = int(model.body_parentid[body])
            root = body in robot.tops and alone
            translation = model.body_pos[body].copy()
            rotation = matrix(model.body_quat[body])
            carrier = None if root else self._name(parent)
            first = int(model.body_jntadr[body])
            joints = [] if root else range(first, first + int(model.body_jntnum[body]))
            for number, joint in enumerate(joints):
                pivot = model.jnt_pos[joint] if model.jnt_type[joint] == HINGE else np.zeros(3)
                is_last = number == len(joints) - 1 and not pivot.any()
                label = str(model.joint(joint).name)
                link = LinkDescription(
                    name if is_last else f'{name}/{label}',
                    carrier,
                    label,
                    mass=0.0,
                    inertia=np.zeros((3, 3)),
                )
                self._read_joint(link, joint, translation + rotation @ pivot, rotation)
                if not is_last:
                    link.info[PART_OF] = name
                links.append(link)
                carrier, translation, rotation = link.name, -pivot, np.eye(3)
            if not links or links[-1].name != name:
                links.append(
                    LinkDescription(name, carrier, translation=translation, rotation=rotation)
                )
            link = links[-1]
            link.mass = float(model.body_mass[body])
            link.center_of_mass = model.body_ipos[body].copy()
            axes = matrix(model.body_iquat[body])
            link.inertia = axes @ np.diag(model.body_inertia[body]) @ axes.T
            if root and robot.free:
                link.joint_type = JointType.FREE
        joint_names = {link.joint_name for link in links if link.joint_type.has_displacement}
        for link in links:
            # A joint may have the name of a body that is fixed to another one.
            if not link.joint_type.has_displacement and link.joint_name in joint_names:
                link.joint_name = f'{link.name}/fixed'
        return links

    def _read_joint(
        self, link: LinkDescription, joint: int, translation: np.ndarray, rotation: np.ndarray
    ) -> None:
        model = self._model
        address, dof = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        axis = model.jnt_axis[joint].copy()
        # MuJoCo's frames are those at qpos0, the link's those at q = 0.
        reference = float(model.qpos0[address])
        if model.jnt_type[joint] == SLIDE:
            link.joint_type = JointType.PRISMATIC
            translation = translation - rotation @ axis * reference
        else:
            link.joint_type = JointType.REVOLUTE
            if reference:
                rotation = rotation @ pin.AngleAxis(-reference, axis).toRotationMatrix()
        link.joint_axis, link.translation, link.rotation = axis, translation, rotation
        link.q_initial = reference
        if model.jnt_limited[joint]:
            link.q_lower, link.q_upper = model.jnt_range[joint].tolist()
        link.rotor_inertia = float(model.dof_armature[dof])
        link.damping = float(model.dof_damping[dof])
        link.friction = float(model.dof_frictionloss[dof])

    def _number(self, links: list[LinkDescription]) -> None:
        moving = [link for link in links if link.joint_type.has_displacement and not link.mimic]
        moving.sort(key=lambda link: int(self._model.joint(link.joint_name).qposadr[0]))
        for number, link in enumerate(moving):
            link.joint_id = number

    def _mimic(self, links: list[LinkDescription]) -> None:
        """Joints that an active linear equality ties to another one follow it."""
        model = self._model
        of_joint = {link.joint_name: link for link in links if link.joint_type.has_displacement}
        joint_equality = 2
        for equality in range(model.neq):
            if model.eq_type[equality] != joint_equality or not model.eq_active0[equality]:
                continue
            first, second = int(model.eq_obj1id[equality]), int(model.eq_obj2id[equality])
            follower = of_joint.get(model.joint(first).name)
            leader = of_joint.get(model.joint(second).name) if second >= 0 else None
            if follower is None or leader is None:
                continue
            offset, factor, *higher = model.eq_data[equality, :5].tolist()
            # The polynomial is of the displacements from qpos0.
            offset += follower.q_initial - factor * leader.q_initial
            if bool(follower.actuation_mode) and not leader.actuation_mode and factor:
                follower, leader = leader, follower
                offset, factor = -offset / factor, 1.0 / factor
            chain = _leaders(leader, of_joint)
            tied = follower.mimic or follower.actuation_mode or follower in chain
            if any(higher) or not factor or tied:
                self._warnings.append(
                    f'joints {follower.joint_name!r} and {leader.joint_name!r} are tied to each '
                    'other in the physics only'
                )
                continue
            follower.mimic = Mimic(leader.joint_name, factor, offset)
            follower.u_lower, follower.u_upper = -np.inf, np.inf
        for link in of_joint.values():
            # A joint that is followed and follows another one hands that on.
            while link.mimic is not None and of_joint[link.mimic.joint].mimic is not None:
                above = of_joint[link.mimic.joint].mimic
                assert above is not None  # As the loop says.
                link.mimic = Mimic(
                    above.joint,
                    link.mimic.multiplier * above.multiplier,
                    link.mimic.multiplier * above.offset + link.mimic.offset,
                )

    def _warn_of_forces(self, bodies: np.ndarray) -> None:
        """Say which of the file's forces and constraints only the physics has."""
        model = self._model
        joint_equality = 2
        others = int(np.sum(model.eq_type[model.eq_active0.astype(bool)] != joint_equality))
        stiff = np.flatnonzero(model.jnt_stiffness.reshape(model.njnt, -1)[:, 0])
        for count, what in (
            (others, 'constraints that close loops'),
            (model.ntendon, 'tendons'),
            (sum(model.jnt_bodyid[j] in bodies for j in stiff), 'springs of joints'),
            (np.count_nonzero(model.body_gravcomp[bodies]), 'bodies with gravity compensation'),
            (model.nflex, 'deformable things'),
        ):
            if count:
                self._warnings.append(f'{count} {what} act in the physics only')

    # --- postures and base --------------------------------------------------------------------

    def _postures(self, links: list[LinkDescription], robot: _Robot) -> dict[str, Posture]:
        model = self._model
        names = [link.joint_name for link in links if link.joint_type.has_displacement]
        places = [int(model.joint(name).qposadr[0]) for name in names]
        found: dict[str, Posture] = {}
        for key in range(model.nkey):
            qpos = model.key_qpos[key]
            posture = Posture(dict(zip(names, qpos[places].tolist(), strict=True)))
            if robot.free:
                start = int(model.jnt_qposadr[model.body_jntadr[robot.tops[0]]])
                rotation = matrix(qpos[start + 3 : start + 7])
                rows = tuple(tuple(row) for row in rotation.tolist())
                posture = Posture(posture.q, tuple(qpos[start : start + 3].tolist()), rows)
            found[str(model.key(key).name) or f'key{key}'] = posture
        if not found:
            return found
        first = list(found)[own_key(list(found))]
        return {first: found[first], **found}

    def _change_root(self, description: BodyDescription, robot: _Robot, root: JointType) -> None:
        first = description.links[0]
        if first.name == WORLD:
            raise ModelError(
                f'the base cannot be {root.value}: {robot.reason}, so that there is no body that '
                'could float',
                self._source,
            )
        first.joint_type = root
        description.base_reason = f'{robot.reason}, but it was to be {root.value}'


def _leaders(link: LinkDescription, of_joint: dict[str, LinkDescription]) -> list[LinkDescription]:
    """The link, the one whose joint its joint follows, and so on."""
    chain = [link]
    while chain[-1].mimic is not None:
        chain.append(of_joint[chain[-1].mimic.joint])
    return chain


def own_key(names: Sequence[str]) -> int:
    """Place of the keyframe that is the model's own choice: that called 'home', else the first."""
    return names.index('home') if 'home' in names else 0


def matrix(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrix of MuJoCo's quaternion w x y z."""
    w, x, y, z = (quaternion / np.linalg.norm(quaternion)).tolist()
    return pin.Quaternion(w, x, y, z).toRotationMatrix()
