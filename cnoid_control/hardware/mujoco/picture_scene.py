"""Robots and things as a MuJoCo model that is only looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import mujoco
import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.description import BodyDescription, LinkDescription, Shape
from cnoid_control.hardware.exceptions import not_simulable
from cnoid_control.hardware.mujoco.geometry import SEEN_GROUP, GeometryBuilder, quaternion
from cnoid_control.hardware.mujoco.parameters import MujocoParameters

# Direction of the lamp and its distance from what is drawn [m].
LAMP_DIRECTION = np.array([0.35, 0.45, 0.82]) / np.linalg.norm([0.35, 0.45, 0.82])
LAMP_DISTANCE = 50.0
# Share of the light that is left in a shadow: on robots, on the floor.
AMBIENT, FLOOR_AMBIENT = 0.45, 0.55
SKY = np.array([0.93, 0.95, 0.98])
TILES = np.array([[0.80, 0.82, 0.85], [0.71, 0.74, 0.78]])
TILE_SIZE = 0.5
# Side of the shadows' map, and samples per pixel, where the graphics library draws.
SHADOW_MAP, SAMPLES = 2048, 4


@dataclass
class Still:
    """Shapes in a frame of their own, which may be moved from picture to picture.

    Attributes:
        name: name of it.
        shapes: its shapes, placed in its frame.
        position: where it is [m].
        rotation: its axes in the world, shape (3, 3).
    """

    name: str
    shapes: list[Shape]
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))


class PictureScene:
    """Robots and things on a floor, with one lamp. `move` has them follow what they show.

    Attributes:
        model, data: MuJoCo's model, in which nothing moves by itself, and its state.
        floor: the floor's geom; -1 for none.
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        things: Sequence[Still] = (),
        tints: Sequence[tuple[float, float, float, float] | None] = (),
        floor: bool = True,
    ) -> None:
        """Build the model in the present state of the robots.

        Args:
            bodies: robots, with forward kinematics done.
            things: what else is there.
            tints: colour of each robot, in place of its own; None for its own.
            floor: whether there is the floor z = 0.

        Raises:
            HardwareError: MuJoCo refuses a shape.
        """
        self._bodies, self._things = list(bodies), list(things)
        spec = mujoco.MjSpec()
        self._furnish(spec)
        plane = self._add_floor(spec) if floor else None
        paints = [*tints, *[None] * len(self._bodies)]
        for body, tint in zip(self._bodies, paints, strict=False):
            builder = GeometryBuilder(spec, body.description, MujocoParameters())
            for link in body.links:
                carrier = spec.worldbody.add_body(mocap=True)
                builder.add_shapes(carrier, _tinted(link.description, tint))
        builder = GeometryBuilder(spec, BodyDescription('things', []), MujocoParameters())
        for thing in self._things:
            carrier = spec.worldbody.add_body(mocap=True)
            builder.add_shapes(carrier, LinkDescription(thing.name, shapes=thing.shapes))
        for geom in spec.geoms:
            # MuJoCo's rays miss parts of what collides and has no mass.
            geom.contype = geom.conaffinity = 0
        try:
            self.model: mujoco.MjModel = spec.compile()
        except (ValueError, RuntimeError) as error:
            names = ', '.join(body.name for body in bodies)
            raise not_simulable(names, ' '.join(str(error).split())) from error
        self.data = mujoco.MjData(self.model)
        self.floor = -1 if plane is None else int(plane.id)
        self.move()

    @staticmethod
    def _furnish(spec: mujoco.MjSpec) -> None:
        """Sky and lamp, which only the graphics library draws; rays have them by the constants."""
        visual = spec.visual
        visual.quality.shadowsize = SHADOW_MAP
        # Shadows reach further than the robots that throw them.
        visual.map.shadowclip = 2.0
        visual.quality.offsamples = SAMPLES
        visual.rgba.haze = [*SKY, 1.0]
        visual.headlight.active = 1
        visual.headlight.ambient = np.full(3, AMBIENT)
        visual.headlight.diffuse = np.zeros(3)
        visual.headlight.specular = np.zeros(3)
        spec.add_texture(
            name='sky',
            type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
            builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
            rgb1=SKY,
            rgb2=SKY,
            width=16,
            height=16,
        )
        light = spec.worldbody.add_light(
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            dir=-LAMP_DIRECTION,
            diffuse=np.full(3, 1.0 - AMBIENT),
            specular=np.full(3, 0.1),
        )
        light.ambient = np.zeros(3)
        light.castshadow = True

    @staticmethod
    def _add_floor(spec: mujoco.MjSpec) -> mujoco.MjsGeom:
        spec.add_texture(
            name='tiles',
            type=mujoco.mjtTexture.mjTEXTURE_2D,
            builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
            rgb1=TILES[0],
            rgb2=TILES[1],
            width=256,
            height=256,
        )
        material = spec.add_material(
            name='tiles', texrepeat=np.full(2, 0.5 / TILE_SIZE), texuniform=True
        )
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = 'tiles'
        return spec.worldbody.add_geom(
            name='floor',
            type=mujoco.mjtGeom.mjGEOM_PLANE,
            size=[0.0, 0.0, 1.0],
            material='tiles',
        )

    def move(self) -> None:
        """Take over where the robots and things are now."""
        poses = [(link.p, link.R) for body in self._bodies for link in body.links]
        poses += [(thing.position, thing.rotation) for thing in self._things]
        for index, (position, rotation) in enumerate(poses):
            self.data.mocap_pos[index] = position
            self.data.mocap_quat[index] = quaternion(rotation)
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        self.data.light_xpos[0] = self.lamp

    @property
    def lamp(self) -> np.ndarray:
        """Place of the lamp [m]."""
        return self.corners().mean(axis=0) + LAMP_DISTANCE * LAMP_DIRECTION

    def corners(self) -> np.ndarray:
        """Corners of the boxes around all robots that are seen [m], shape (n, 3)."""
        model, data = self.model, self.data
        shown = sum(len(body.links) for body in self._bodies) or model.nmocap
        owner = model.body_mocapid[model.geom_bodyid]
        seen = np.flatnonzero(
            (model.geom_group == SEEN_GROUP)
            & (model.geom_rgba[:, 3] > 0.0)
            & (owner >= 0)
            & (owner < shown)
        )
        if not seen.size:
            return np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 1.0]])
        signs = np.array(list(product((-1.0, 1.0), repeat=3)))
        boxes = model.geom_aabb[seen]
        local = boxes[:, None, :3] + signs * boxes[:, None, 3:]
        axes = data.geom_xmat[seen].reshape(-1, 3, 3)
        placed = np.einsum('nij,nkj->nki', axes, local) + data.geom_xpos[seen, None]
        return placed.reshape(-1, 3)


def _tinted(
    link: LinkDescription, tint: tuple[float, float, float, float] | None
) -> LinkDescription:
    if tint is None:
        return link
    shapes = [
        Shape(one.geometry, one.translation, one.rotation, True, False, tint, one.name)
        for one in link.shapes
        if one.visual and one.color[3] > 0.0
    ]
    return LinkDescription(link.name, shapes=shapes)
