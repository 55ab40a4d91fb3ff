"""Whether the base of a robot floats, where its file does not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from cnoid_control.body import Body
from cnoid_control.body.formats.load import load_body

LINK = (
    '<link name="{name}"><inertial><origin xyz="{xyz}"/><mass value="{mass}"/>'
    '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
    '<collision><origin xyz="{xyz}"/><geometry><box size="{size}"/></geometry></collision></link>'
)
JOINT = (
    '<joint name="{child}_joint" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
    '<origin xyz="{xyz}"/><axis xyz="0 1 0"/>'
    '<limit lower="-1" upper="1" effort="100" velocity="5"/></joint>'
)


def link(name: str, mass: float = 1.0, xyz: str = '0 0 0', size: str = '0.1 0.1 0.1') -> str:
    """A box."""
    return LINK.format(name=name, mass=mass, xyz=xyz, size=size)


def joint(child: str, parent: str, xyz: str = '0 0 0', kind: str = 'revolute') -> str:
    """A joint about y."""
    return JOINT.format(child=child, parent=parent, xyz=xyz, kind=kind)


def leg(name: str, parent: str, y: float, foot: str = '0.2 0.1 0.05') -> str:
    """A leg of one link with a foot 0.5 m below."""
    place = f'0 {y} 0'
    return link(name, 1.0, '0 0 -0.5', foot) + joint(name, parent, place)


WALKER = link('body', 2.0) + leg('left', 'body', 0.2) + leg('right', 'body', -0.2)
ROBOTS = {
    'walker': (WALKER, False, "it stands on 'left', 'right'"),
    'arm': (
        link('base', 1.0) + link('upper', 1.0, '0 0 0.5') + joint('upper', 'base', '0 0 0.2'),
        True,
        "it stands on its base, 'base'",
    ),
    'hanging': (link('ceiling') + leg('pendulum', 'ceiling', 0.0), True, 'only one moving part'),
    'gripper below': (
        link('frame', 9.0)
        + link('palm_', 0.5, '0 0 -0.3')
        + joint('palm_', 'frame')
        + leg('left', 'palm_', 0.05)
        + leg('right', 'palm_', -0.05),
        True,
        'which is no leg',
    ),
    'tongs': (
        link('frame', 9.0)
        + link('rod', 0.5, '0 0 -0.3')
        + joint('rod', 'frame')
        + leg('left', 'rod', 0.05)
        + leg('right', 'rod', -0.05),
        True,
        "at the end of 'rod'",
    ),
    'falls over': (
        link('body', 9.0, '1 0 0') + leg('left', 'body', 0.2) + leg('right', 'body', -0.2),
        True,
        "it would fall over 'left', 'right'",
    ),
    'ball': (link('body'), False, 'no joints'),
    'rotors': (
        link('body', 5.0)
        + link('rotor', 0.1, '0 0 0.2')
        + joint('rotor', 'body', kind='continuous'),
        False,
        '2% of its mass',
    ),
    'cart': (
        link('base_footprint', 1.0) + link('mast', 1.0, '0 0 1') + joint('mast', 'base_footprint'),
        False,
        'mobile robot',
    ),
    'world': (
        f'<link name="world"/>{WALKER}{joint("body", "world", kind="fixed")}',
        True,
        "the root link is 'world'",
    ),
}


def load(folder: Path, text: str) -> Body:
    """Body of the inside of a URDF."""
    path = folder / 'robot.urdf'
    path.write_text(f'<robot name="robot">{text}</robot>')
    return load_body(path)


@pytest.mark.parametrize('name', ROBOTS)
def test_base(name: str, tmp_path: Path) -> None:
    """Standing on legs or wheels it floats; standing on its base or hanging it is fixed."""
    text, fixed, reason = ROBOTS[name]
    body = load(tmp_path, text)
    assert body.is_fixed_root is fixed
    assert reason in body.description.base_reason


@pytest.mark.parametrize(('kind', 'fixed'), [('fixed', True), ('floating', False)])
def test_srdf_beside_it_says_the_base(kind: str, fixed: bool, tmp_path: Path) -> None:
    """A virtual joint of an SRDF file counts more than what the robot looks like."""
    (tmp_path / 'robot.srdf').write_text(
        f'<robot name="robot"><virtual_joint name="v" type="{kind}" parent_frame="w" '
        'child_link="body"/></robot>'
    )
    body = load(tmp_path, WALKER)
    assert body.is_fixed_root is fixed
    assert 'robot.srdf' in body.description.base_reason


def test_postures_of_the_srdf(tmp_path: Path) -> None:
    """Group states are postures; the one that robots start in is the first."""
    (tmp_path / 'robot.srdf').write_text(
        '<robot name="robot">'
        '<group_state name="wave" group="all"><joint name="left_joint" value="0.5"/></group_state>'
        '<group_state name="home" group="all"><joint name="root" value="0 0 1 0 0 0 1"/>'
        '<joint name="left_joint" value="-0.1"/><joint name="right_joint" value="0.2"/>'
        '</group_state></robot>'
    )
    body = load(tmp_path, WALKER)
    assert list(body.description.postures) == ['home', 'wave']
    assert body.description.postures['home'].q == {'left_joint': -0.1, 'right_joint': 0.2}
    assert not body.is_fixed_root
