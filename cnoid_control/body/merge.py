"""Several models as one body."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from cnoid_control.body.description import (
    BodyDescription,
    JointType,
    LinkDescription,
    Mimic,
    Posture,
)
from cnoid_control.body.devices.base import Device
from cnoid_control.body.exceptions import ModelError

# Between the name of a model and the names in it. No slash: controller_manager takes what stands
# before the first slash of an interface (`left/joint1/position`) for the name of a controller.
SEPARATOR = '_'
WORLD = 'world'


def prefixed(model: str, name: str) -> str:
    """Name of a link, joint or device of one model in the whole; an empty name stays empty."""
    return f'{model}{SEPARATOR}{name}' if name else ''


def merge_descriptions(models: Mapping[str, BodyDescription], name: str = '') -> BodyDescription:
    """One description of several robots on a common fixed root, the link `world`.

    Links, joints, devices, tracks and materials are named `<model>_<name>`. Joint ids go on from
    model to model. The place of each robot is the one of its root link.

    Args:
        models: the descriptions by the names that they are to have in the whole.
        name: name of the whole; the names of the models, joined, where empty.

    Raises:
        ModelError: a name is empty, a base floats, or a model is an MJCF file, which physics
            takes as it is.
    """
    merged = BodyDescription(
        name or SEPARATOR.join(models),
        [LinkDescription(WORLD, mass=0.0, inertia=np.zeros((3, 3)))],
        source=', '.join(dict.fromkeys(model.source for model in models.values())),
        base_reason='several robots stand in one world',
    )
    ids = 0
    device_ids: dict[type[Device], int] = {}
    for model, description in models.items():
        _check(model, description)
        merged.links += [_link(model, link, ids) for link in description.links]
        ids += 1 + max((link.joint_id for link in description.links), default=-1)
        merged.devices += _devices(model, description, device_ids)
        merged.extra_joints += [
            replace(
                extra,
                name=prefixed(model, extra.name),
                links=(prefixed(model, extra.links[0]), prefixed(model, extra.links[1])),
            )
            for extra in description.extra_joints
        ]
        merged.tracks += [
            replace(
                track,
                name=prefixed(model, track.name),
                parent=prefixed(model, track.parent),
                links=tuple(prefixed(model, link) for link in track.links),
            )
            for track in description.tracks
        ]
        merged.materials |= {
            prefixed(model, key): material for key, material in description.materials.items()
        }
        merged.warnings += [f'{model}: {warning}' for warning in description.warnings]
        merged.info[model] = description.info
        _add_postures(merged, model, description)
    return merged


def _check(model: str, description: BodyDescription) -> None:
    if not model or '/' in model:
        raise ModelError(f'model name {model!r}: a word without slashes expected')
    roots = [link for link in description.links if link.parent is None]
    if any(link.joint_type is JointType.FREE for link in roots):
        raise ModelError(
            f'{model}: a robot with a floating base cannot be one of several, since dynamics and '
            'Jacobians hold it where it starts; give base: fixed',
            description.source,
        )
    if description.mjcf:
        raise ModelError(
            f'{model}: an MJCF model cannot be one of several; use its URDF', description.source
        )


def _link(model: str, link: LinkDescription, ids: int) -> LinkDescription:
    return replace(
        link,
        name=prefixed(model, link.name),
        parent=WORLD if link.parent is None else prefixed(model, link.parent),
        joint_name=prefixed(model, link.joint_name),
        joint_id=-1 if link.joint_id < 0 else ids + link.joint_id,
        mimic=_mimic(model, link.mimic),
        material=prefixed(model, link.material),
    )


def _mimic(model: str, mimic: Mimic | None) -> Mimic | None:
    return None if mimic is None else replace(mimic, joint=prefixed(model, mimic.joint))


def _devices(
    model: str, description: BodyDescription, next_ids: dict[type[Device], int]
) -> list[tuple[str, Device]]:
    """Devices under their new names; the ids of a kind go on from model to model."""
    first = dict(next_ids)
    renamed = []
    for link, device in description.devices:
        twin = copy.deepcopy(device)
        twin.name = prefixed(model, device.name)
        kind = type(device)
        if device.id >= 0:
            twin.id = first.get(kind, 0) + device.id
            next_ids[kind] = max(next_ids.get(kind, 0), twin.id + 1)
        renamed.append((prefixed(model, link), twin))
    return renamed


def _add_postures(merged: BodyDescription, model: str, description: BodyDescription) -> None:
    """Postures of one name in several models are one posture of the whole."""
    for key, posture in description.postures.items():
        q = {prefixed(model, joint): value for joint, value in posture.q.items()}
        before = merged.postures.get(key)
        merged.postures[key] = Posture(q if before is None else {**before.q, **q})
