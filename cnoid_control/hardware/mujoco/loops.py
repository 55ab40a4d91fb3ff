"""Joints that close loops of the tree, as equality constraints of MuJoCo."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import mujoco
import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.description import ExtraJoint, ExtraJointType
from cnoid_control.hardware.mujoco.geometry import quaternion

logger = logging.getLogger(__name__)

# Distance from the middle of a hinge to the points that hold its axis [m].
HINGE_LEVER = 0.05
# Time in which an opened loop closes, in physics steps: the least that MuJoCo allows. A higher
# impedance than MuJoCo's own makes light links between heavy ones shake.
CLOSING_STEPS = 2.0
# Mass of what slides in a piston, relative to the lighter one of its links. MuJoCo holds what is
# much lighter than that loosely.
SLIDER_SHARE = 0.05
# Gap from which a loop counts as open at the start [m].
OPEN = 1e-3


@dataclass(frozen=True)
class Piston:
    """What slides between two links.

    Attributes:
        joint: MuJoCo joint of the slider.
        sites: MuJoCo sites of the frame on each link.
        axis: unit axis in the frame on the first link, shape (3,).
    """

    joint: str
    sites: tuple[str, str]
    axis: np.ndarray


def add_loops(spec: mujoco.MjSpec, body: Body, bodies: list[mujoco.MjsBody]) -> list[Piston]:
    """Close the loops of a robot.

    Args:
        spec: what the robot is part of.
        body: the robot.
        bodies: MuJoCo body of each link, by link index.

    Returns:
        The pistons: their sliders start where the posture has them.
    """
    pistons = []
    for number, extra in enumerate(body.description.extra_joints):
        name = f'loop/{number}/{extra.name}'
        ends = [bodies[body.link(link).index] for link in extra.links]
        spec.add_exclude(bodyname1=ends[0].name, bodyname2=ends[1].name)
        if extra.kind is ExtraJointType.PISTON:
            for end, place, label in zip(ends, extra.translations, ('start', 'end'), strict=True):
                end.add_site(name=f'{name}/{label}', pos=place)
            pistons.append(Piston(name, (f'{name}/start', f'{name}/end'), _unit(extra.axis)))
            masses = [body.link(link).m for link in extra.links]
            lighter = min((mass for mass in masses if mass > 0.0), default=1.0)
            ends[0] = _add_slider(ends[0], extra, name, SLIDER_SHARE * lighter)
        _close(spec, extra, name, ends)
    return pistons


def closing_time(spec: mujoco.MjSpec) -> list[float]:
    """MuJoCo's solref of what holds joints and links together."""
    return [CLOSING_STEPS * spec.option.timestep, 1.0]


def _close(spec: mujoco.MjSpec, extra: ExtraJoint, name: str, ends: list[mujoco.MjsBody]) -> None:
    shifts = [0.0]
    kind = mujoco.mjtEq.mjEQ_CONNECT
    if extra.kind is ExtraJointType.FIXED:
        kind = mujoco.mjtEq.mjEQ_WELD
    elif extra.kind is ExtraJointType.HINGE:
        # Two points of the axis hold all but the turning about it.
        shifts = [-HINGE_LEVER, HINGE_LEVER]
    for shift in shifts:
        sites = []
        for side, end in enumerate(ends):
            rotation = extra.rotations[side]
            # The slider of a piston has the frame on the first link for its own.
            place, turn = extra.translations[side], rotation
            if extra.kind is ExtraJointType.PISTON and side == 0:
                place, turn = np.zeros(3), np.eye(3)
            site = end.add_site(
                name=f'{name}/{side}/{shift:g}',
                pos=place + turn @ (shift * _unit(extra.axis)),
                quat=quaternion(turn),
            )
            sites.append(site.name)
        equality = spec.add_equality(
            name=f'{name}/{shift:g}',
            type=kind,
            objtype=mujoco.mjtObj.mjOBJ_SITE,
            name1=sites[0],
            name2=sites[1],
            solref=closing_time(spec),
        )
        if kind == mujoco.mjtEq.mjEQ_WELD:
            # How much a rotation counts against a distance [m].
            equality.data[10] = 1.0


def _add_slider(
    carrier: mujoco.MjsBody, extra: ExtraJoint, name: str, mass: float
) -> mujoco.MjsBody:
    slider = carrier.add_body(
        name=f'{name}/slider',
        pos=extra.translations[0],
        quat=quaternion(extra.rotations[0]),
        mass=mass,
        inertia=[mass * HINGE_LEVER**2] * 3,
        ipos=[0.0, 0.0, 0.0],
        explicitinertial=True,
    )
    slider.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=_unit(extra.axis))
    return slider


def _unit(axis: np.ndarray) -> np.ndarray:
    return axis / np.linalg.norm(axis)


def place_pistons(
    model: mujoco.MjModel, data: mujoco.MjData, pistons: list[Piston], prefix: str = ''
) -> None:
    """Put the sliders of pistons where the robot's posture has them."""
    if not pistons:
        return
    mujoco.mj_kinematics(model, data)
    for piston in pistons:
        joint = model.joint(prefix + piston.joint)
        start, end = (data.site(prefix + site).xpos for site in piston.sites)
        axis = data.xmat[joint.bodyid[0]].reshape(3, 3) @ piston.axis
        data.qpos[joint.qposadr[0]] = axis @ (end - start)


def warn_of_open_loops(body: Body) -> None:
    """Say which loops the robot's posture leaves open, and by how much."""
    if body.description.extra_joints:
        body.calc_forward_kinematics()
    for extra in body.description.extra_joints:
        gap = loop_gap(body, extra)
        if gap > OPEN:
            logger.warning(
                'the loop %r between %s and %s is open by %.4g m at the start; physics closes it',
                extra.name,
                *extra.links,
                gap,
            )


def loop_gap(body: Body, extra: ExtraJoint) -> float:
    """Distance by which a loop is open in the body's pose, along the axis of a piston none [m]."""
    links = [body.link(name) for name in extra.links]
    places = [
        link.p + link.R @ place for link, place in zip(links, extra.translations, strict=True)
    ]
    apart = places[1] - places[0]
    if extra.kind is ExtraJointType.PISTON:
        axis = links[0].R @ extra.rotations[0] @ _unit(extra.axis)
        apart = apart - (axis @ apart) * axis
    return float(np.linalg.norm(apart))
