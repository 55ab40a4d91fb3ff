"""Collision and visual geometry for MuJoCo."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin

from cnoid_control.body.description import (
    BodyDescription,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    HeightField,
    LinkDescription,
    Material,
    Mesh,
    Shape,
    Sphere,
)
from cnoid_control.body.formats.mesh import Triangles, cone_mesh, read_mesh
from cnoid_control.exceptions import choices
from cnoid_control.hardware.exceptions import HardwareError, not_simulable
from cnoid_control.hardware.mujoco.parameters import (
    MujocoParameters,
    ObjectParameters,
    TerrainParameters,
)
from cnoid_control.hardware.mujoco.terrain import BASE, FIELD, FLOOR, half_range, nodes

logger = logging.getLogger(__name__)

# Collision bits: the world (floor, things) and the robot collide with each other; things also
# among themselves, the robot's links only where self-collision is on.
WORLD_BIT, ROBOT_BIT, SELF_BIT = 1, 2, 4
# A file has its own use for the bits: what is added collides with whatever collides at all.
EVERY_BIT = 2**31 - 1

# Geom groups: MuJoCo draws 0 to 2 by default, so what only collides is not seen.
SEEN_GROUP, UNSEEN_GROUP = 1, 3

# A contact takes the friction of the geom with the higher priority.
ROBOT_PRIORITY, FLOOR_PRIORITY = 1, 2

# More triangles than this MuJoCo does not read from an .stl file.
STL_FACES = 200_000

# Thickness given to a mesh that collides and has none [m], and share of its size that is none.
SHEET, FLAT = 1e-3, 1e-6

# Less surface than this MuJoCo does not take [m^2].
LEAST_AREA = 1e-9

# Least height between the points of a height field, and thickness of the ground below it [m].
LEAST_RELIEF, FIELD_BASE = 1e-6, 0.1


def quaternion(rotation: np.ndarray) -> np.ndarray:
    """MuJoCo's quaternion w x y z of a rotation matrix."""
    x, y, z, w = pin.Quaternion(np.asarray(rotation)).coeffs()
    return np.array([w, x, y, z])


class GeometryBuilder:
    """Adds geoms to a MuJoCo spec."""

    def __init__(
        self, spec: mujoco.MjSpec, description: BodyDescription, parameters: MujocoParameters
    ) -> None:
        """Check the collision list against the model.

        Raises:
            HardwareError: an entry selects nothing.
        """
        self._spec = spec
        self._name = description.name
        self._materials = description.materials
        self._parameters = parameters
        known: dict[str, None] = {}
        for link in description.links:
            for shape in link.shapes:
                if shape.collision:
                    known.update(dict.fromkeys(_selectors(link, shape)))
        for selector in parameters.collision:
            if selector.removeprefix('-') not in known:
                raise HardwareError(f'collision: {selector!r} selects no shape; {choices(known)}')

    def add_floor(self, bits: int = WORLD_BIT) -> None:
        """Add the plane z = 0, with collision bits."""
        parameters = self._parameters
        friction = parameters.friction
        self._spec.add_texture(
            name='floor/texture',
            type=mujoco.mjtTexture.mjTEXTURE_2D,
            builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
            rgb1=[0.75, 0.77, 0.8],
            rgb2=[0.6, 0.63, 0.67],
            width=128,
            height=128,
        )
        material = self._spec.add_material(
            name='floor/material', texrepeat=[1.0, 1.0], texuniform=True
        )
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = 'floor/texture'
        ground = self._spec.worldbody.add_geom(
            name=FLOOR,
            type=mujoco.mjtGeom.mjGEOM_PLANE,
            size=[0.0, 0.0, 1.0],
            material='floor/material',
            contype=bits,
            conaffinity=bits | ROBOT_BIT,
            friction=[friction or Material().friction, 0.005, 0.0001],
            priority=FLOOR_PRIORITY if friction > 0.0 else 0,
            solref=[parameters.contact_time_constant, 1.0],
        )
        if parameters.terrain.is_uneven:
            self._make_uneven(ground, parameters.terrain)

    def _make_uneven(self, ground: mujoco.MjsGeom, terrain: TerrainParameters) -> None:
        """Turn the floor into a height field; its heights are put in once it is compiled."""
        count, half = nodes(terrain), half_range(terrain)
        edge = terrain.size / 2.0
        field = self._spec.add_hfield(
            name=FIELD, nrow=count, ncol=count, size=[edge, edge, 2.0 * half, BASE]
        )
        field.userdata = [0.0] * (count * count)
        ground.type = mujoco.mjtGeom.mjGEOM_HFIELD
        ground.hfieldname = FIELD
        ground.pos = [0.0, 0.0, -half]

    def add_shapes(self, body: mujoco.MjsBody, link: LinkDescription) -> None:
        """Add the shapes of a link that are seen or collide."""
        chosen = self._parameters.collision
        for shape in link.shapes:
            collides = shape.collision and is_chosen(_selectors(link, shape), chosen)
            if collides or shape.visual:
                self._add_shape(body, link, shape, collides)

    def _add_shape(
        self, body: mujoco.MjsBody, link: LinkDescription, shape: Shape, collides: bool
    ) -> None:
        solid = shape.geometry
        if isinstance(solid, Mesh) and solid.vertices and _area(solid) < LEAST_AREA:
            logger.warning('link %r: a mesh without a surface is left out', link.name)
            return
        material = self._materials.get(link.material, Material())
        own = SELF_BIT if self._parameters.self_collision else 0
        geom = body.add_geom(
            pos=shape.translation,
            quat=quaternion(shape.rotation),
            rgba=shape.color,
            group=SEEN_GROUP if shape.visual else UNSEEN_GROUP,
            contype=ROBOT_BIT | own if collides else 0,
            conaffinity=WORLD_BIT | own if collides else 0,
            friction=[material.friction, 0.005, 0.0001],
            priority=ROBOT_PRIORITY,
            solref=[self._parameters.contact_time_constant, 1.0],
            # The masses are those of the links: what only has a shape weighs nothing.
            density=0.0,
        )
        self._set_geometry(geom, shape)

    def _set_geometry(self, geom: mujoco.MjsGeom, shape: Shape) -> None:
        solid = shape.geometry
        if isinstance(solid, Box):
            geom.type = mujoco.mjtGeom.mjGEOM_BOX
            geom.size = [edge / 2.0 for edge in solid.size]
        elif isinstance(solid, Sphere):
            geom.type = mujoco.mjtGeom.mjGEOM_SPHERE
            geom.size = [solid.radius, 0.0, 0.0]
        elif isinstance(solid, Ellipsoid):
            geom.type = mujoco.mjtGeom.mjGEOM_ELLIPSOID
            geom.size = solid.radii
        elif isinstance(solid, Cylinder):
            geom.type = mujoco.mjtGeom.mjGEOM_CYLINDER
            geom.size = [solid.radius, solid.length / 2.0, 0.0]
        elif isinstance(solid, Capsule):
            geom.type = mujoco.mjtGeom.mjGEOM_CAPSULE
            geom.size = [solid.radius, solid.length / 2.0, 0.0]
        elif isinstance(solid, HeightField):
            self._set_height_field(geom, shape, solid)
        else:
            geom.type = mujoco.mjtGeom.mjGEOM_MESH
            geom.meshname = self._add_mesh(solid, collides=geom.contype > 0)

    def _set_height_field(self, geom: mujoco.MjsGeom, shape: Shape, field: HeightField) -> None:
        heights = np.array(field.heights)
        lowest, highest = float(heights.min()), float(heights.max())
        width = (field.columns - 1) * field.spacing[0]
        depth = (field.rows - 1) * field.spacing[1]
        made = self._spec.add_hfield(
            name=f'field_{len(self._spec.hfields)}',
            nrow=field.rows,
            ncol=field.columns,
            # Half width and depth, height of the values of 1, and what is below those of 0.
            size=[width / 2.0, depth / 2.0, max(highest - lowest, LEAST_RELIEF), FIELD_BASE],
        )
        made.userdata = ((heights - lowest) / max(highest - lowest, LEAST_RELIEF)).tolist()
        geom.type = mujoco.mjtGeom.mjGEOM_HFIELD
        geom.hfieldname = made.name
        # MuJoCo has the origin in the middle.
        middle = np.array([width / 2.0, depth / 2.0, lowest])
        geom.pos = shape.translation + shape.rotation @ middle

    def _add_mesh(self, solid: Mesh | Cone, collides: bool) -> str:
        mesh = self._spec.add_mesh(name=f'mesh_{len(self._spec.meshes)}')
        # Masses do not come from shapes, so meshes need not enclose a volume.
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        if isinstance(solid, Cone):
            solid = cone_mesh(solid)
        if solid.path and _is_known_format(Path(solid.path)):
            mesh.file = solid.path
            mesh.scale = solid.scale
        elif solid.path:
            self._set_triangles(mesh, self._read(solid.path), collides)
            mesh.scale = solid.scale
        else:
            vertices = np.reshape(solid.vertices, (-1, 3))
            faces = np.reshape(solid.triangles, (-1, 3))
            self._set_triangles(mesh, Triangles(vertices, faces), collides)
            mesh.scale = solid.scale
        return mesh.name

    def _set_triangles(self, mesh: mujoco.MjsMesh, surface: Triangles, collides: bool) -> None:
        vertices, faces = _thickened(surface) if collides else surface
        mesh.uservert = vertices.ravel().tolist()
        mesh.userface = faces.ravel().tolist()

    def _read(self, path: str) -> Triangles:
        try:
            return read_mesh(path)
        except (OSError, ValueError) as error:
            raise not_simulable(self._name, str(error)) from error

    def add_object(self, name: str, thing: ObjectParameters, bits: int = WORLD_BIT) -> None:
        """Add a thing to the world, with collision bits; one with mass can be moved."""
        body = self._spec.worldbody.add_body(
            name=f'object/{name}',
            pos=thing.position,
            quat=quaternion(pin.rpy.rpyToMatrix(*thing.rpy)),
        )
        if thing.mass > 0.0:
            body.add_freejoint()
        kinds = {
            'box': mujoco.mjtGeom.mjGEOM_BOX,
            'sphere': mujoco.mjtGeom.mjGEOM_SPHERE,
            'cylinder': mujoco.mjtGeom.mjGEOM_CYLINDER,
        }
        # MuJoCo takes half of every length, but a radius as it is.
        halves = {'box': (0.5, 0.5, 0.5), 'sphere': (1.0,), 'cylinder': (1.0, 0.5)}[thing.shape]
        body.add_geom(
            type=kinds[thing.shape],
            size=_padded([a * b for a, b in zip(thing.size, halves, strict=False)]),
            rgba=thing.color,
            # MuJoCo's rays miss parts of turned bodies without mass; here any mass will do.
            mass=thing.mass or 1.0,
            group=SEEN_GROUP,
            contype=bits,
            conaffinity=bits | ROBOT_BIT,
            friction=[thing.friction, 0.005, 0.0001],
            solref=[self._parameters.contact_time_constant, 1.0],
        )


def _selectors(link: LinkDescription, shape: Shape) -> list[str]:
    """Entries of the collision list that select this shape."""
    return selectors(link.name, type(shape.geometry).__name__.lower(), shape.name)


def selectors(link: str, kind: str, name: str) -> list[str]:
    """Entries of the collision list that select a shape by its link, its kind and its name."""
    return [link, f'{link}/{kind}', *([f'{link}/{name}'] if name else [])]


def is_chosen(names: Sequence[str], chosen: Sequence[str]) -> bool:
    """Whether the collision list lets a shape collide that these entries select."""
    wanted = [entry for entry in chosen if not entry.startswith('-')]
    is_wanted = not wanted or any(name in wanted for name in names)
    return is_wanted and not any(f'-{name}' in chosen for name in names)


def _area(mesh: Mesh) -> float:
    """Surface of a mesh that is given by its triangles [m^2]."""
    corners = np.reshape(mesh.vertices, (-1, 3))[np.reshape(mesh.triangles, (-1, 3)).astype(int)]
    edges = corners[:, 1:] - corners[:, :1]
    return float(np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1).sum()) / 2.0


def _thickened(surface: Triangles) -> Triangles:
    """The surface, or a sheet of `SHEET` thickness where it is flat: MuJoCo takes no flat ones."""
    vertices, faces = surface
    if not len(vertices):
        return surface
    _, lengths, axes = np.linalg.svd(vertices - vertices.mean(axis=0), full_matrices=False)
    if len(vertices) > 3 and lengths[2] > FLAT * lengths[0]:
        return surface
    half = SHEET / 2.0 * axes[2]
    both = np.concatenate([vertices + half, vertices - half])
    return Triangles(both, np.concatenate([faces, faces[:, ::-1] + len(vertices)]))


def _is_known_format(path: Path) -> bool:
    """Whether MuJoCo reads a mesh file by itself: .obj, .msh and binary .stl."""
    suffix = path.suffix.lower()
    if suffix != '.stl':
        return suffix in ('.obj', '.msh')
    try:
        with path.open('rb') as stream:
            head = stream.read(84)
        size = path.stat().st_size
    except OSError:
        # The own reader says what is wrong with it.
        return False
    # A header of 80 bytes and the number of triangles, each of 50 bytes.
    triangles = int.from_bytes(head[80:], 'little')
    return 0 < triangles <= STL_FACES and size == 84 + 50 * triangles


def _padded(values: Sequence[float]) -> list[float]:
    return [*values, 0.0, 0.0, 0.0][:3]
