"""Options that give one value per joint: for all, as a list, or by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.postures import with_posture
from cnoid_control.exceptions import choices
from cnoid_control.parameters import ParameterError, not_allowed

JointPosture = str | list[float] | dict[str, float]


def posture_of(body: Body, key: str, given: JointPosture, others: np.ndarray) -> np.ndarray:
    """Displacements that an option states [rad] or [m], shape (num_joints,).

    Args:
        body: the robot.
        key: key of the option, for messages.
        given: a list by joint id, a map by joint name, partly or wholly, or the name of one of
            the model's postures; empty for none.
        others: displacements of the joints that are not named.

    Raises:
        ParameterError: a list has another size, or a joint or a posture does not exist.
    """
    if isinstance(given, str):
        if not given:
            return others.copy()
        postures = body.description.postures
        if given not in postures:
            raise not_allowed(key, given, f'postures of the model: {choices(postures)}')
        return with_posture(body, others, postures[given])
    if isinstance(given, Mapping):
        q = others.copy()
        q[joint_ids(body, key, given)] = list(given.values())
        return q
    if given and len(given) != body.num_joints:
        raise not_allowed(
            key, given, f'it needs {body.num_joints} values or none, and has {len(given)}'
        )
    return np.array(given, dtype=float) if given else others.copy()


def joint_ids(body: Body, key: str, names: Iterable[str]) -> np.ndarray:
    """Ids of the joints that an option names.

    Raises:
        ParameterError: one does not exist, or follows another one.
    """
    known = {joint.joint_name: joint.joint_id for joint in body.joints if joint.name}
    listed = list(names)
    for name in listed:
        if name not in known:
            raise ParameterError(f'{key}.{name}', f'unknown joint; {choices(known)}')
    return np.array([known[name] for name in listed], dtype=np.intp)
