"""MuJoCo model of a robot in its world."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace

import mujoco
import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.description import BodyDescription
from cnoid_control.hardware.exceptions import HardwareError, not_simulable
from cnoid_control.hardware.mujoco.body_spec import BodySpec
from cnoid_control.hardware.mujoco.devices import AMBIENT, HEADLIGHT, DeviceMap, element_id
from cnoid_control.hardware.mujoco.elements import RobotElements
from cnoid_control.hardware.mujoco.geometry import EVERY_BIT, GeometryBuilder, quaternion
from cnoid_control.hardware.mujoco.mjcf_world import MjcfWorld
from cnoid_control.hardware.mujoco.parameters import MujocoParameters
from cnoid_control.hardware.mujoco.self_contact import exclude_pairs, touching_pairs

JOINT, ACTUATOR = mujoco.mjtObj.mjOBJ_JOINT, mujoco.mjtObj.mjOBJ_ACTUATOR
BODY = mujoco.mjtObj.mjOBJ_BODY

# The MuJoCo whose sparse solver is wrong, and the degrees of freedom up to which it is not used.
WRONG_VERSION, WRONG_ABOVE = '4.0.0', 60


class MujocoModel:
    """A compiled MuJoCo model, and where a robot is in it.

    Joints are found by the body's slots (joint ids, then the virtual joints): MuJoCo orders them
    depth-first and the world may hold other things, so nothing here relies on the order.

    Attributes:
        body: the robot.
        model: the compiled model.
        links: MuJoCo body of each link, by link index.
        inner_links: indices of links that no MuJoCo body stands for.
        key: keyframe from which things in the world start; -1 for none.
        slots: slots that have a joint, ascending; all but the holes in the joint ids.
        qpos: address in qpos of the joint of each of `slots`.
        dofs: address in qvel of the joint of each of `slots`.
        actuators: MuJoCo actuator of the joint of each of `slots`.
        controls: address in ctrl of each of these actuators.
        devices: where the devices are in the model.
        pistons: what slides in joints that close loops.
        prefix: what stands before the robot's names in the model.
        free_root: whether the root moves freely.
        root_qpos, root_dofs: where the root is in qpos and in qvel; empty where it is fixed.
        free_qpos, free_dofs: the same of the links that have a parent and move on their own, by
            link index.
    """

    def __init__(
        self, body: Body, model: mujoco.MjModel, elements: RobotElements, prefix: str = ''
    ) -> None:
        """Look for a robot in a model.

        Args:
            body: the robot.
            model: the compiled model.
            elements: what the robot's parts are called.
            prefix: what stands before these names in the model.
        """
        self.body = body
        self.model = model
        self.links = np.array(
            [element_id(model, BODY, prefix + name) if name else 0 for name in elements.links],
            dtype=np.intp,
        )
        self.inner_links = elements.inner_links
        self.key = -1
        self.slots = np.array(sorted(elements.joints), dtype=np.intp)
        joints = [element_id(model, JOINT, prefix + elements.joints[slot]) for slot in self.slots]
        self.qpos = model.jnt_qposadr[joints].astype(np.intp)
        self.dofs = model.jnt_dofadr[joints].astype(np.intp)
        self.actuators = np.array(
            [
                element_id(model, ACTUATOR, prefix + elements.actuators[slot])
                for slot in self.slots
            ],
            dtype=np.intp,
        )
        # Before MuJoCo 4 every actuator has one control.
        addresses = getattr(model, 'actuator_ctrladr', np.arange(model.nu))
        self.controls = addresses[self.actuators].astype(np.intp)
        self.devices = DeviceMap(model, elements.devices, prefix)
        self.pistons = elements.pistons
        self.prefix = prefix
        self.free_root = bool(elements.root_joint)
        self.root_qpos = self.root_dofs = slice(0, 0)
        if self.free_root:
            self.root_qpos, self.root_dofs = self._free_joint(prefix + elements.root_joint)
        self.free_qpos: dict[int, slice] = {}
        self.free_dofs: dict[int, slice] = {}
        for link, name in elements.free_joints.items():
            self.free_qpos[link], self.free_dofs[link] = self._free_joint(prefix + name)
        tops = [0] if self.links[0] else [link.index for link in body.root_link.children]
        self._tops = [
            (top, model.body_pos[top].copy(), model.body_quat[top].copy())
            for top in sorted({int(link) for link in self.links[tops]})
        ]

    def of(self, body: Body) -> MujocoModel:
        """The same compiled model for another body of the same robot."""
        other = copy(self)
        other.body = body
        return other

    def _free_joint(self, name: str) -> tuple[slice, slice]:
        joint = element_id(self.model, JOINT, name)
        first, dof = int(self.model.jnt_qposadr[joint]), int(self.model.jnt_dofadr[joint])
        return slice(first, first + 7), slice(dof, dof + 6)

    def put_free_links(self, data: mujoco.MjData) -> None:
        """Put the links that move on their own where the body has them, at rest."""
        for index, address in self.free_qpos.items():
            pose = self.body.link_placement(index)
            data.qpos[address] = [*pose.translation, *quaternion(pose.rotation)]
            data.qvel[self.free_dofs[index]] = 0.0

    def place_fixed_root(self, position: np.ndarray, orientation: np.ndarray) -> None:
        """Put a root that is fixed to the world somewhere else.

        Args:
            position: place of the root in the world [m].
            orientation: its axes there, w x y z.
        """
        model = self.model
        if self.links[0]:
            model.body_pos[self.links[0]] = position
            model.body_quat[self.links[0]] = orientation
            return
        # The root is the world itself: what hangs on it is moved.
        for top, own_position, own_quaternion in self._tops:
            moved = np.zeros(3)
            mujoco.mju_rotVecQuat(moved, own_position, orientation)
            model.body_pos[top] = position + moved
            mujoco.mju_mulQuat(model.body_quat[top], orientation, own_quaternion)


def physics_step(parameters: MujocoParameters, period: float, own: float = math.inf) -> float:
    """Physics step [s] for a control period.

    Args:
        parameters: options of the simulation; the step that they give wins.
        period: control period [s].
        own: step that the model file asks for [s]: the period is cut into steps no longer.

    Raises:
        HardwareError: the step that the options give is no part of the period.
    """
    if not parameters.time_step:
        return period / max(1, math.ceil(period / own - 1e-6))
    step = parameters.time_step
    count = round(period / step)
    if count < 1 or abs(count * step - period) > 1e-9:
        raise HardwareError(
            f'the control period {period} s is not a whole number of physics steps of {step} s'
        )
    return step


def build_model(
    body: Body,
    parameters: MujocoParameters,
    period: float,
    free_root: bool | None = None,
) -> MujocoModel:
    """Build and compile the model of a robot in its world.

    Args:
        body: the robot; its tree is used, its state is not.
        parameters: options of the simulation.
        period: control period [s].
        free_root: whether the root can move; as the body says where None. Where it is given, the
            robot is alone, and made from its links even if its model file could be run as it is.

    Raises:
        HardwareError: MuJoCo refuses the robot, or an option selects nothing.
    """
    in_file = bool(body.description.mjcf or body.description.scene)
    if in_file and free_root is None:
        return _build_in_file(body, parameters, period)
    spec, robot = make_spec(body, parameters, period, free_root)
    add_acceleration_sensor(spec, robot.elements.links[0])
    _let_centers_move(spec, body, robot.elements, parameters)
    mapping = MujocoModel(body, compile_spec(spec, body.name), robot.elements)
    if parameters.self_collision:
        pairs = touching_pairs(body, mapping.model, mapping.links)
        if pairs:
            exclude_pairs(spec, body, robot.elements.links, pairs)
            mapping = MujocoModel(body, compile_spec(spec, body.name), robot.elements)
    set_damping(mapping)
    return mapping


def _let_centers_move(
    spec: mujoco.MjSpec,
    body: Body,
    elements: RobotElements,
    parameters: MujocoParameters,
    prefix: str = '',
) -> None:
    """Have MuJoCo not rely on where the centres of mass are that the options move."""
    moved = parameters.deviations.com
    for link in body.links:
        if link.name in moved and elements.links[link.index]:
            element = spec.body(prefix + elements.links[link.index])
            # Older versions have no way to say so; what they rely on is refused there.
            if hasattr(element, 'simple'):
                element.simple = 0


def make_spec(
    body: Body, parameters: MujocoParameters, period: float, free_root: bool | None = None
) -> tuple[mujoco.MjSpec, BodySpec]:
    """Spec of a robot in its world, and the robot in it; arguments and errors of `build_model`."""
    spec, robot = robot_spec(body, parameters, period, free_root)
    _add_surroundings(spec, body.description, parameters)
    return spec, robot


def robot_spec(
    body: Body, parameters: MujocoParameters, period: float, free_root: bool | None = None
) -> tuple[mujoco.MjSpec, BodySpec]:
    """Spec of a robot alone, and the robot in it; arguments and errors of `build_model`."""
    spec = _empty_spec(body.name, parameters, period)
    geometry = GeometryBuilder(spec, body.description, parameters)
    free = not body.is_fixed_root if free_root is None else free_root
    return spec, BodySpec(spec, body, parameters, geometry, free)


def world_spec(name: str, parameters: MujocoParameters, period: float) -> mujoco.MjSpec:
    """Spec of a world without a robot.

    Args:
        name: name of the model.
        parameters: options of the simulation.
        period: control period [s].

    Raises:
        HardwareError: the physics step is no part of the period.
    """
    spec = _empty_spec(name, parameters, period)
    around = replace(parameters, collision=[])
    # Robots that are MJCF files have collision masks of their own.
    _add_surroundings(spec, BodyDescription(name, []), around, (EVERY_BIT,))
    return spec


def _empty_spec(name: str, parameters: MujocoParameters, period: float) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.modelname = name
    spec.compiler.degree = False
    _set_options(spec, parameters, physics_step(parameters, period))
    return spec


def _add_surroundings(
    spec: mujoco.MjSpec,
    description: BodyDescription,
    parameters: MujocoParameters,
    bits: tuple[int, ...] = (),
) -> None:
    geometry = GeometryBuilder(spec, description, parameters)
    if parameters.floor:
        geometry.add_floor(*bits)
    for name, thing in parameters.objects.items():
        geometry.add_object(name, thing, *bits)


def _build_in_file(body: Body, parameters: MujocoParameters, period: float) -> MujocoModel:
    """Build the model of a robot in a world that is an MJCF file."""
    world = MjcfWorld(body, parameters)
    own = world.own_step
    world.spec.option.timestep = physics_step(parameters, period, own)
    first = next(name for name in world.elements.links if name)
    add_acceleration_sensor(world.spec, world.prefix + first)
    _let_centers_move(world.spec, body, world.elements, parameters, world.prefix)
    model = compile_spec(world.spec, body.name)
    mapping = MujocoModel(body, model, world.elements, world.prefix)
    mapping.key = world.key
    if not body.description.mjcf:
        set_damping(mapping)
    return mapping


def set_damping(mapping: MujocoModel) -> None:
    """Give the joints of a robot the damping of their descriptions."""
    for slot, dof in zip(mapping.slots, mapping.dofs, strict=True):
        mapping.model.dof_damping[dof] = mapping.body.all_joints[slot].description.damping


def _set_options(spec: mujoco.MjSpec, parameters: MujocoParameters, step: float) -> None:
    option = spec.option
    option.timestep = step
    option.gravity = [0.0, 0.0, -parameters.gravity]
    option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option.impratio = 1.0
    light = spec.visual.headlight
    light.ambient = [AMBIENT * parameters.ambient_light] * 3
    light.diffuse = [HEADLIGHT * parameters.ambient_light] * 3
    light.specular = [0.0] * 3
    # A run that diverges shall be seen to do so, not start anew.
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET


def add_acceleration_sensor(spec: mujoco.MjSpec, body: str) -> None:
    """Have MuJoCo find the accelerations of links: it does for a sensor that needs them only."""
    spec.add_sensor(
        type=mujoco.mjtSensor.mjSENS_FRAMELINACC,
        objtype=mujoco.mjtObj.mjOBJ_XBODY,
        objname=body,
    )


def compile_spec(spec: mujoco.MjSpec, name: str) -> mujoco.MjModel:
    """Compile a spec.

    Raises:
        HardwareError: MuJoCo refuses it; the message names the robot.
    """
    try:
        model = spec.compile()
    except (ValueError, RuntimeError) as error:
        raise not_simulable(name, ' '.join(str(error).split())) from error
    if mujoco.__version__ == WRONG_VERSION and model.nv > WRONG_ABOVE:
        raise not_simulable(
            name,
            f'MuJoCo {WRONG_VERSION} computes wrong accelerations above {WRONG_ABOVE} degrees of '
            f'freedom, and there are {model.nv}; install another version',
        )
    return model
