"""What the simulated robot has that its model does not say: other masses, friction, actuators.

Only the physics has them. The Body that controllers see keeps the values of the model, as the
model of a real robot does.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.rotations import rpy_matrix
from cnoid_control.body.solids import lowest_height
from cnoid_control.exceptions import choices
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.mujoco.model import MujocoModel
from cnoid_control.hardware.mujoco.parameters import DeviationParameters

KEY = 'hardware.mujoco.deviations'
# How MuJoCo finds the frame of an inertia, a geom or a site: at its body's, or turned as it.
SAME = mujoco.mjtSameFrame
# Arrays of a model that nothing here changes, and that may be large.
CONSTANT = ('mesh_', 'tex_', 'skin_', 'bvh_', 'oct_', 'names', 'text_', 'flex_', 'tuple_')


def _mean_inertia(model: mujoco.MjModel) -> float:
    # One by one, as MuJoCo adds them.
    return sum(model.dof_M0.tolist()) / max(model.nv, 1)


def _mean_mass(model: mujoco.MjModel) -> float:
    masses = [mass for mass in model.body_mass.tolist() if mass > mujoco.mjMINVAL]
    return sum(masses) / max(len(masses), 1)


# Statistics of a model that follow from its masses.
MEANS = {'meaninertia': _mean_inertia, 'meanmass': _mean_mass}


class ModelSnapshot:
    """Copy of everything in a compiled model that may change, to put it back exactly."""

    def __init__(self, model: mujoco.MjModel) -> None:
        """Copy."""
        self._arrays = [
            (array, array.copy())
            for owner in (model, model.opt)
            for name in dir(owner)
            if not name.startswith(('_', *CONSTANT))
            and isinstance(array := getattr(owner, name), np.ndarray)
        ]
        # The boxes around bodies move with centres of mass; those in meshes, many, do not.
        boxes = model.bvh_aabb[: int((model.body_bvhadr + model.body_bvhnum).max())]
        self._arrays.append((boxes, boxes.copy()))
        self._option = model.opt
        self._values = {
            name: value
            for name in dir(model.opt)
            if not name.startswith('_')
            and isinstance(value := getattr(model.opt, name), (int, float))
        }
        self._statistic = model.stat
        self._extents = {
            name: getattr(model.stat, name)
            for name in ('extent', 'meaninertia', 'meanmass', 'meansize')
        }
        self._center = model.stat.center.copy()

    def restore(self) -> None:
        """Put everything back."""
        for array, value in self._arrays:
            array[...] = value
        for name, number in self._values.items():
            setattr(self._option, name, number)
        for name, number in self._extents.items():
            setattr(self._statistic, name, number)
        self._statistic.center[:] = self._center


class ActuatorErrors:
    """Factors on what the actuators of the joints do, by place among the model's slots.

    Attributes:
        strength: share of the effort that arrives.
        stiffness: on position gains of the actuators.
        damping: on their velocity gains.
    """

    def __init__(self, mapping: MujocoModel, given: DeviationParameters) -> None:
        """Read the options.

        Raises:
            HardwareError: one is for a joint that does not exist.
        """
        self.strength = _by_joint(mapping, 'strength', given.strength)
        self.stiffness = _by_joint(mapping, 'kp', given.kp)
        self.damping = _by_joint(mapping, 'kd', given.kd)


def joint_rows(mapping: MujocoModel) -> dict[str, int]:
    """Joints of a robot by name, and their places among the model's slots."""
    joints = mapping.body.all_joints
    return {joints[slot].joint_name: row for row, slot in enumerate(mapping.slots)}


def link_bodies(mapping: MujocoModel) -> dict[str, int]:
    """Links of a robot that are bodies of its physics, by name, and those bodies."""
    return {
        link.name: int(mapping.links[link.index])
        for link in mapping.body.links
        if mapping.links[link.index] and link.index not in mapping.inner_links
    }


def _by_joint(mapping: MujocoModel, key: str, given: Mapping[str, float]) -> np.ndarray:
    rows = joint_rows(mapping)
    factors = np.ones(len(rows))
    for name, value in given.items():
        factors[_find(key, name, rows)] = value
    return factors


def _find(key: str, name: str, known: Mapping[str, int]) -> int:
    if name not in known:
        raise HardwareError(f'{KEY}.{key}: unknown {name!r}; {choices(known)}')
    return known[name]


def apply_deviations(
    mapping: MujocoModel, data: mujoco.MjData, given: DeviationParameters
) -> None:
    """Change the compiled model of a robot; what MuJoCo derives from it is derived anew.

    Args:
        mapping: the robot in its model, as it was compiled.
        data: state of the model, which is set back.
        given: the options.

    Raises:
        HardwareError: an option is for a link or joint that does not exist, or that cannot have
            it.
    """
    if given == DeviationParameters():
        return
    model = mapping.model
    # A file may state the means that MuJoCo's solver scales its tolerance with: then they stay.
    follow = [
        (name, mean)
        for name, mean in MEANS.items()
        if np.isclose(getattr(model.stat, name), mean(model))
    ]
    bodies, rows = link_bodies(mapping), joint_rows(mapping)
    for name, factor in given.mass.items():
        body = _with_mass(mapping, 'mass', name, bodies)
        model.body_mass[body] *= factor
        model.body_inertia[body] *= factor
    for name, factor in given.inertia.items():
        model.body_inertia[_with_mass(mapping, 'inertia', name, bodies)] *= factor
    moved: dict[int, np.ndarray] = {}
    for name, offset in given.com.items():
        if len(offset) != 3:
            raise HardwareError(f'{KEY}.com.{name}: {offset!r}; 3 values were expected')
        body = _with_mass(mapping, 'com', name, bodies)
        moved[body] = np.array(offset)
        _move_center(mapping, name, body, moved[body])
    for key, array in (
        ('damping', model.dof_damping),
        ('armature', model.dof_armature),
        ('frictionloss', model.dof_frictionloss),
    ):
        for name, value in getattr(given, key).items():
            array[mapping.dofs[_find(key, name, rows)]] = value
    _set_friction(model, given, bodies)
    boxes = {body: _boxes(model, body).copy() for body in moved}
    mujoco.mj_setConst(model, data)
    for body, way in moved.items():
        if np.array_equal(_boxes(model, body), boxes[body]):
            _move_boxes(model, body, way)
    for name, mean in follow:
        setattr(model.stat, name, mean(model))


def _boxes(model: mujoco.MjModel, body: int) -> np.ndarray:
    # Boxes around the geoms of a body, for the search for contacts: centre and half the size.
    first = int(model.body_bvhadr[body])
    return model.bvh_aabb[first : first + int(model.body_bvhnum[body])]


def _move_boxes(model: mujoco.MjModel, body: int, offset: np.ndarray) -> None:
    """Leave the boxes where the geoms are: they are given from the centre of mass, which moved.

    Some versions of MuJoCo do this in mj_setConst.
    """
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, model.body_iquat[body])
    _boxes(model, body)[:, :3] -= offset @ rotation.reshape(3, 3)


def _with_mass(mapping: MujocoModel, key: str, name: str, bodies: Mapping[str, int]) -> int:
    body = _find(key, name, bodies)
    if mapping.model.body_mass[body] <= 0.0:
        heavy = [name for name, other in bodies.items() if mapping.model.body_mass[other] > 0.0]
        raise HardwareError(f'{KEY}.{key}: {name!r} has no mass; {choices(heavy)}')
    return body


def _move_center(mapping: MujocoModel, name: str, body: int, offset: np.ndarray) -> None:
    """Move the centre of mass of a link, in the link's axes."""
    model = mapping.model
    if not offset.any():
        return
    if model.body_simple[body]:
        raise HardwareError(
            f'{KEY}.com.{name}: this version of MuJoCo relies on its centre of mass being its '
            'origin; give it one elsewhere in the model, or take MuJoCo 3.17 or newer'
        )
    model.body_ipos[body] += offset
    if model.body_sameframe[body] == int(SAME.mjSAMEFRAME_BODY):
        model.body_sameframe[body] = int(SAME.mjSAMEFRAME_BODYROT)
    # What was at the centre of mass stays where it is.
    for owners, frames in (
        (model.geom_bodyid, model.geom_sameframe),
        (model.site_bodyid, model.site_sameframe),
    ):
        frames[(owners == body) & (frames == int(SAME.mjSAMEFRAME_INERTIA))] = int(
            SAME.mjSAMEFRAME_NONE
        )


def _set_friction(
    model: mujoco.MjModel, given: DeviationParameters, bodies: Mapping[str, int]
) -> None:
    sliding, pairs = model.geom_friction[:, 0], model.pair_friction[:, :2]
    if given.friction > 0.0:
        sliding[:] = given.friction
        pairs[:] = given.friction
    if given.friction_scale != 1.0:
        sliding *= given.friction_scale
        pairs *= given.friction_scale
    top = int(model.geom_priority.max(initial=0)) + 1
    for name, value in given.link_friction.items():
        own = model.geom_bodyid == _find('link_friction', name, bodies)
        if not own.any():
            raise HardwareError(f'{KEY}.link_friction: {name!r} has no shape')
        sliding[own] = value
        # A contact takes the friction of the geom with the higher priority.
        model.geom_priority[own] = top
        touched = own[model.pair_geom1] | own[model.pair_geom2]
        pairs[touched] = value


def displace(body: Body, given: DeviationParameters) -> None:
    """Have a robot start elsewhere than its configuration says; what it is held to stays.

    A floating robot is raised or lowered until its lowest point is as high as before.

    Raises:
        HardwareError: an option is for a joint that does not exist, or has a wrong size.
    """
    for key in ('position', 'rpy'):
        size = len(getattr(given, key))
        if size not in (0, 3):
            raise HardwareError(f'{KEY}.{key} has {size} values; 3 were expected')
    if not (given.posture or any(given.position) or any(given.rpy)):
        return
    slots = {joint.joint_name: i for i, joint in enumerate(body.joints) if joint.name}
    body.calc_forward_kinematics()
    before = lowest_height(body)
    for name, offset in given.posture.items():
        joint = _find('posture', name, slots)
        body.q[joint] = np.clip(body.q[joint] + offset, body.q_lower[joint], body.q_upper[joint])
    root = body.root_link
    if any(given.rpy):
        root.R = rpy_matrix(given.rpy) @ root.R
    body.calc_forward_kinematics()
    if not body.is_fixed_root:
        root.p[2] += before - lowest_height(body)
    if given.position:
        root.p[:] += given.position
    body.initialize_state()
