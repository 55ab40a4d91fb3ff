"""What is around the robot in its world: ground, terrain and things, as shapes."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.description import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    HeightField,
    Mesh,
    Shape,
    Sphere,
)
from cnoid_control.body.rotations import rotation_matrix
from cnoid_control.runtime.config import RunConfig

if TYPE_CHECKING:
    import mujoco

# MuJoCo draws the groups 0 to 2 by default.
LAST_SEEN_GROUP = 2


@dataclass
class Thing:
    """Something with shapes.

    Attributes:
        name: name of it in the world.
        position: where it is at first [m].
        rotation: its axes there, shape (3, 3).
        shapes: its shapes, placed in its frame.
        moves: whether it moves.
    """

    name: str
    position: np.ndarray
    rotation: np.ndarray
    shapes: list[Shape]
    moves: bool = False


@dataclass
class Surroundings:
    """All that is around the robot.

    Attributes:
        grounds: frames of planes without an end, their Z axis upwards, shape (4, 4) each.
        things: the others.
    """

    grounds: list[np.ndarray] = field(default_factory=list)
    things: list[Thing] = field(default_factory=list)


def surroundings(body: Body, config: RunConfig | None) -> Surroundings:
    """What a configuration puts around a robot; the floor z = 0 where there is none.

    Args:
        body: the robot; its tree is used, its state is not.
        config: the configuration; None for a robot of which nothing else is known.

    Raises:
        HardwareError: MuJoCo refuses the robot or what is around it.
    """
    from cnoid_control.hardware.mujoco.model import build_model, compile_spec, world_spec
    from cnoid_control.hardware.mujoco.parameters import MujocoParameters, SceneParameters
    from cnoid_control.hardware.mujoco.terrain import Terrain

    given = None if config is None else config.hardware.get(config.hardware_type)
    if not isinstance(given, SceneParameters):
        return Surroundings(grounds=[np.eye(4)])
    assert config is not None  # mypy.
    if not isinstance(given, MujocoParameters):
        shared = {each.name: getattr(given, each.name) for each in fields(SceneParameters)}
        given = MujocoParameters(**shared)
    links = np.zeros(0, dtype=int)
    if body.description.mjcf or body.description.scene:
        mapping = build_model(body, given, config.time_step)
        model, links = mapping.model, mapping.links
    else:
        model = compile_spec(world_spec('world', given, config.time_step), 'world')
    if given.terrain.is_uneven:
        Terrain(given).put(model)
    return read_surroundings(model, links)


def read_surroundings(model: mujoco.MjModel, links: np.ndarray) -> Surroundings:
    """What a compiled model has besides a robot.

    Args:
        model: the model.
        links: MuJoCo body of each of the robot's links; 0 for links that are the world itself,
            whose shapes are the robot's then.
    """
    import mujoco

    from cnoid_control.hardware.mujoco.surroundings import moving_things

    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    robot = set(links.tolist())
    moving = {index: name for name, index in moving_things(model, links).items()}
    found = Surroundings()
    for index in range(model.nbody):
        if index in robot and index:
            continue
        thing = Thing(
            moving.get(index, model.body(index).name or f'body_{index}'),
            data.xpos[index].copy(),
            data.xmat[index].reshape(3, 3).copy(),
            [],
            moves=index in moving,
        )
        first = int(model.body_geomadr[index])
        for geom in range(first, first + int(model.body_geomnum[index])):
            color = _color(model, geom)
            if model.geom_group[geom] > LAST_SEEN_GROUP or color[3] <= 0.0:
                continue
            if _is_endless(model, geom):
                frame = np.eye(4)
                frame[:3, :3] = data.geom_xmat[geom].reshape(3, 3)
                frame[:3, 3] = data.geom_xpos[geom]
                found.grounds.append(frame)
            elif index or 0 not in robot or _is_ground(model, geom):
                thing.shapes.append(_shape(model, geom, color))
        if thing.shapes:
            found.things.append(thing)
    return found


def _color(model: mujoco.MjModel, geom: int) -> tuple[float, float, float, float]:
    material = int(model.geom_matid[geom])
    # As MuJoCo draws it: a material wins over a colour that is the default.
    rgba = model.geom_rgba[geom].astype(float)
    if material >= 0 and np.allclose(rgba, [0.5, 0.5, 0.5, 1.0]):
        rgba = model.mat_rgba[material].astype(float)
        rgba[:3] *= _mean_color(model, material)
    red, green, blue, alpha = rgba.tolist()
    return red, green, blue, alpha


def _mean_color(model: mujoco.MjModel, material: int) -> np.ndarray:
    """Mean colour of the texture of a material, from 0 to 1; white where it has none."""
    import mujoco

    texture = int(model.mat_texid[material, int(mujoco.mjtTextureRole.mjTEXROLE_RGB)])
    if texture < 0 or model.tex_nchannel[texture] < 3:
        return np.ones(3)
    channels = int(model.tex_nchannel[texture])
    size = int(model.tex_height[texture] * model.tex_width[texture])
    first = int(model.tex_adr[texture])
    pixels = model.tex_data[first : first + size * channels].reshape(-1, channels)
    return pixels[:, :3].mean(axis=0) / 255.0


def _kind(model: mujoco.MjModel, geom: int) -> mujoco.mjtGeom:
    import mujoco

    return mujoco.mjtGeom(int(model.geom_type[geom]))


def _is_endless(model: mujoco.MjModel, geom: int) -> bool:
    kind = _kind(model, geom)
    return bool(kind == kind.mjGEOM_PLANE and not model.geom_size[geom][:2].all())


def _is_ground(model: mujoco.MjModel, geom: int) -> bool:
    kind = _kind(model, geom)
    return kind in (kind.mjGEOM_PLANE, kind.mjGEOM_HFIELD)


def _shape(model: mujoco.MjModel, geom: int, color: tuple[float, float, float, float]) -> Shape:
    shape = Shape(
        Sphere(0.0),
        translation=model.geom_pos[geom].copy(),
        rotation=rotation_matrix(model.geom_quat[geom][[1, 2, 3, 0]]),
        color=color,
        name=model.geom(geom).name,
    )
    kind = _kind(model, geom)
    a, b, c = model.geom_size[geom].tolist()
    if kind == kind.mjGEOM_BOX:
        shape.geometry = Box((2.0 * a, 2.0 * b, 2.0 * c))
    elif kind == kind.mjGEOM_SPHERE:
        shape.geometry = Sphere(a)
    elif kind == kind.mjGEOM_CYLINDER:
        shape.geometry = Cylinder(a, 2.0 * b)
    elif kind == kind.mjGEOM_CAPSULE:
        shape.geometry = Capsule(a, 2.0 * b)
    elif kind == kind.mjGEOM_ELLIPSOID:
        shape.geometry = Ellipsoid((a, b, c))
    elif kind == kind.mjGEOM_PLANE:
        corners = (-a, -b, 0.0, a, -b, 0.0, a, b, 0.0, -a, b, 0.0)
        shape.geometry = Mesh(vertices=corners, triangles=(0, 1, 2, 0, 2, 3))
    elif kind == kind.mjGEOM_HFIELD:
        _set_field(shape, model, int(model.geom_dataid[geom]))
    else:
        shape.geometry = _mesh(model, int(model.geom_dataid[geom]))
    return shape


def _set_field(shape: Shape, model: mujoco.MjModel, index: int) -> None:
    rows, columns = int(model.hfield_nrow[index]), int(model.hfield_ncol[index])
    width, depth, height, _ = model.hfield_size[index].tolist()
    first = int(model.hfield_adr[index])
    values = model.hfield_data[first : first + rows * columns] * height
    spacing = 2.0 * width / (columns - 1), 2.0 * depth / (rows - 1)
    shape.geometry = HeightField(columns, spacing, tuple(values.tolist()))
    # MuJoCo has the origin in the middle.
    shape.translation = shape.translation - shape.rotation @ np.array([width, depth, 0.0])


def _mesh(model: mujoco.MjModel, index: int) -> Mesh:
    first, count = int(model.mesh_vertadr[index]), int(model.mesh_vertnum[index])
    vertices = model.mesh_vert[first : first + count]
    first, count = int(model.mesh_faceadr[index]), int(model.mesh_facenum[index])
    faces = model.mesh_face[first : first + count]
    return Mesh(vertices=tuple(vertices.ravel().tolist()), triangles=tuple(faces.ravel().tolist()))
