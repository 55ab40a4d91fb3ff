"""Reads what the SRDF file beside a URDF says: postures, and how the root is held."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cnoid_control.body.description import JointType, Posture
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.resources import read_text
from cnoid_control.body.formats.xml_reader import Element, XmlReader

# Folders that an SRDF file may be in, seen from the URDF's.
FOLDERS = ('.', '../srdf', 'srdf', '../config')

# Names of postures that a robot would start in, the best first; others come after these.
STARTING = ('half_sitting', 'standing', 'stand', 'home', 'ready', 'default', 'neutral', 'initial')

ROOT_TYPES = {
    'floating': JointType.FREE,
    'planar': JointType.FREE,
    'fixed': JointType.FIXED,
}


@dataclass
class Semantics:
    """What an SRDF file says of a robot.

    Attributes:
        source: the file; empty where there is none.
        root: how the root is held; None where it does not say.
        postures: group states by name, that of a usual starting posture first.
        warnings: what was left out.
    """

    source: str = ''
    root: JointType | None = None
    postures: dict[str, Posture] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def find_srdf(urdf: Path, robot: str) -> Path | None:
    """SRDF file that belongs to a URDF file: of its name, else of the robot's.

    Args:
        urdf: the URDF file.
        robot: name of the robot in it.
    """
    folders = [urdf.parent / name for name in FOLDERS]
    files = [file for folder in folders for file in sorted(folder.glob('*.srdf'))]
    for name in (urdf.stem, robot):
        for file in files:
            if file.stem == name:
                return file
    # The URDF of a variant, such as talos_reduced or solo12, beside the SRDF of the robot.
    for file in sorted(files, key=lambda file: -len(file.stem)):
        if urdf.stem.startswith(file.stem) or file.stem.startswith(f'{urdf.stem}_'):
            return file
    return None


def read_srdf(file: Path, joints: list[str], fixed_joints: list[str]) -> Semantics:
    """Postures and root of an SRDF file; empty, with a warning, where it cannot be read.

    Args:
        file: the file.
        joints: names of the joints that have a displacement.
        fixed_joints: names of the other joints.
    """
    semantics = Semantics(str(file))
    try:
        reader = XmlReader(read_text(file), str(file))
        found: dict[str, dict[str, float]] = {}
        for state in reader.root.iter('group_state'):
            values = found.setdefault(state.get('name', ''), {})
            if _read_state(reader, state, joints, fixed_joints, values):
                semantics.root = semantics.root or JointType.FREE
        for joint in reader.root.iter('virtual_joint'):
            semantics.root = ROOT_TYPES.get(joint.get('type', ''), semantics.root)
    except ModelError as error:
        semantics.warnings.append(f'{error}; its postures are left out')
        return semantics
    order = {name: rank for rank, name in enumerate(STARTING)}
    for name in sorted(found, key=lambda name: order.get(name, len(order))):
        # A state of a part, such as an open gripper, is one too; one of no known joint is not.
        if found[name]:
            semantics.postures[name] = Posture(found[name])
    _join_parts(semantics.postures)
    return semantics


def _join_parts(postures: dict[str, Posture]) -> None:
    """Put a posture first that has the first state of every part, where states are of parts."""
    joined: dict[str, float] = {}
    names = []
    for name, posture in postures.items():
        if not joined.keys() & posture.q.keys():
            joined |= posture.q
            names.append(name)
    if len(names) > 1:
        others = dict(postures)
        postures.clear()
        postures[' + '.join(names)] = Posture(joined)
        postures |= others


def _read_state(
    reader: XmlReader,
    state: Element,
    joints: list[str],
    fixed_joints: list[str],
    values: dict[str, float],
) -> bool:
    """Take over the values of a group state; whether it has a pose of the root, which floats."""
    places, unknown = 0, 0
    for joint in state.findall('joint'):
        name = joint.get('name', '')
        numbers = len((joint.get('value') or '').split())
        if name in joints and numbers == 1:
            values[name] = reader.number(joint, 'value')
        elif numbers == 7:
            places += name not in fixed_joints
        else:
            unknown += 1
    # A state of a whole robot says nothing of the root of a part of it.
    return places > 0 and unknown <= len(values)
