"""The configuration of a policy while `cnoid_control init` writes it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnoid_control.cli.yaml_text import yaml_comment, yaml_entry, yaml_number, yaml_scalar
from cnoid_control.parameters import TO_FILL_IN

if TYPE_CHECKING:
    from cnoid_control.body import Body
    from cnoid_control.controllers.policy.metadata import Metadata


# The simulator, as it is written; its options follow it.
MUJOCO = '      type: mujoco\n'


@dataclass
class Draft:
    """The `policy` section that is being written, and what its reader is told.

    Attributes:
        values: the options, nested.
        comments: lines above an option, by its key ('action.scale').
        said: where things come from, for the head of the file.
    """

    values: dict[str, Any] = field(default_factory=dict)
    comments: dict[str, list[str]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def put(self, key: str, value: Any, *comments: str) -> None:
        """Set an option, unless it is set already."""
        place = self.values
        *outer, name = key.split('.')
        for part in outer:
            place = place.setdefault(part, {})
        if name not in place:
            place[name] = value
            self.comments[key] = list(comments)

    def ask(self, key: str, wanted: str, *comments: str) -> None:
        """Have an option filled in by somebody."""
        self.put(key, f'{TO_FILL_IN} {wanted}', *comments)

    def has(self, key: str) -> bool:
        """Whether an option is set."""
        place: Any = self.values
        for part in key.split('.'):
            if not isinstance(place, dict) or part not in place:
                return False
            place = place[part]
        return True


def path_from(folder: Path, file: Path) -> str:
    """Path of a file as a configuration in a folder names it."""
    file, start = file.resolve(), folder.resolve()
    return os.path.relpath(file, start) if file.is_relative_to(start.parent) else str(file)


def draft_text(
    draft: Draft,
    name: str,
    body: Body,
    known: Metadata,
    model: tuple[str, str, Path],
    rate: float,
) -> str:
    """Text of the configuration.

    Args:
        draft: the `policy` section.
        name: name of the configuration.
        body: the robot.
        known: what files say of the policy.
        model: the robot as it was named, its path, and the folder that is written to.
        rate: control rate [Hz].
    """
    robot, path, folder = model
    entry = robot if robot != path else path_from(folder, Path(path))
    lines = [f'# A policy: cnoid_control run {name}.yaml']
    lines += [f'# and what it is told: cnoid_control policy {name}.yaml']
    text = '\n'.join(lines) + '\n'
    if known.origin:
        text += yaml_comment(f'Read from {known.origin}: {", ".join(_said(known))}.')
    if draft.said:
        text += '#\n# Please check:\n' + ''.join(yaml_comment(f'- {said}') for said in draft.said)
    text += '/**:\n  ros__parameters:\n    robot:\n'
    text += f'      model: {yaml_scalar(entry)}\n'
    text += f'      base: {"fixed" if body.is_fixed_root else "floating"}\n'
    posture = draft.values.get('posture') or known.default
    if isinstance(posture, list):
        posture = dict(zip(draft.values.get('joints') or known.joints, posture, strict=False))
    if isinstance(posture, Mapping) and posture:
        posture = {joint: value for joint, value in posture.items() if joint in body.joint_names}
    if posture and not str(posture).startswith(TO_FILL_IN):
        text += "      # As in training: the policy's default.\n"
        text += yaml_entry('posture', posture, 3, {})
    text += f'    rate: {yaml_number(rate)}\n    controller: policy\n    policy:\n'
    for key, value in _ordered(draft.values).items():
        text += yaml_entry(key, value, 3, draft.comments)
    text += f'    hardware:\n{MUJOCO}'
    if not body.is_fixed_root:
        text += '      ros2_control:\n        # Of the simulated base; it is not read elsewhere.\n'
        text += '        odometry: cnoid_control_mujoco/root\n'
    return text


def _said(known: Metadata) -> list[str]:
    """What the files say, in words."""
    words = {
        'joints': known.joints,
        'gains': known.kp,
        'posture': known.default,
        'action scale': known.action_scale,
        'observations': known.observations,
        'ranges of the command': known.lower,
        'period': known.period,
    }
    return [word for word, value in words.items() if value]


ORDER = (
    'file',
    'metadata',
    'joints',
    'observations',
    'terms',
    'inputs',
    'steps',
    'action',
    'gait',
    'posture',
    'period',
    'kp',
    'kd',
    'kp_of',
    'kd_of',
    'base',
    'actuators',
    'velocity',
)


def _ordered(values: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name in ORDER if name in values]
    return {name: values[name] for name in [*names, *(set(values) - set(names))]}
