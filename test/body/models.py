"""Robots that the tests of the body share."""

from __future__ import annotations

import numpy as np

from cnoid_control.body import Body, JointType, load_body
from cnoid_control.body.description import LinkDescription
from cnoid_control.body.formats.urdf import parse_urdf

SR1 = 'package://cnoid_control/urdf/sr1.urdf'


def _link(name: str, mass: float, com: str, moments: str) -> str:
    xx, yy, zz = moments.split()
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}" rpy="0.3 -0.2 0.5"/>'
        f'<mass value="{mass}"/><inertia ixx="{xx}" ixy="0.01" ixz="-0.02" iyy="{yy}" iyz="0.005"'
        f' izz="{zz}"/></inertial></link>'
    )


def _joint(
    name: str, kind: str, parent: str, child: str, origin: str, axis: str, more: str = ''
) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin {origin}/><axis xyz="{axis}"/>{more}</joint>'
    )


LIMIT = '<limit lower="-2" upper="2" effort="50" velocity="5"/>'

# Every kind of joint, axes that are aligned with nothing, a rotor, a joint that follows another,
# links that are rigidly on others, and two branches.
MIXED = ''.join(
    [
        '<robot name="mixed">',
        _link('base', 5.0, '0.02 -0.01 0.1', '0.3 0.4 0.5'),
        _link('mount', 0.7, '0.1 0 0.02', '0.1 0.2 0.15'),
        _link('upper', 2.0, '0 0.05 0.2', '0.2 0.1 0.25'),
        _link('carriage', 1.5, '0.03 0.02 -0.1', '0.12 0.2 0.14'),
        _link('hand', 0.8, '-0.02 0.01 0.05', '0.1 0.12 0.11'),
        _link('tool', 0.3, '0.05 0 0', '0.1 0.1 0.12'),
        _link('finger', 0.2, '0 0.03 0.01', '0.08 0.09 0.1'),
        _link('thumb', 0.25, '0.02 -0.03 0.01', '0.07 0.1 0.09'),
        _link('tail', 1.1, '0 0.1 0', '0.2 0.2 0.3'),
        _joint(
            'mounting', 'fixed', 'base', 'mount', 'xyz="0.1 0.2 0.3" rpy="0.4 0.1 -0.3"', '1 0 0'
        ),
        _joint(
            'shoulder', 'revolute', 'mount', 'upper', 'xyz="0 0.1 0" rpy="0 0.2 0"', '1 2 3', LIMIT
        ),
        _joint('slide', 'prismatic', 'upper', 'carriage', 'xyz="0 0 0.2"', '0.3 -1 0.5', LIMIT),
        _joint('wrist', 'continuous', 'carriage', 'hand', 'xyz="0.1 0 0" rpy="1 0 0"', '0 0 1'),
        _joint('flange', 'fixed', 'hand', 'tool', 'xyz="0 0 0.1" rpy="0 0 0.7"', '1 0 0'),
        _joint('grip', 'revolute', 'tool', 'finger', 'xyz="0 0.05 0.1"', '1 0 0', LIMIT),
        _joint(
            'grip_mimic',
            'prismatic',
            'tool',
            'thumb',
            'xyz="0 -0.05 0.1"',
            '0 1 0',
            LIMIT + '<mimic joint="grip" multiplier="-0.5" offset="0.1"/>',
        ),
        _joint('wag', 'prismatic', 'base', 'tail', 'xyz="-0.2 0 0"', '-1 0 0.2', LIMIT),
        '<cnoid_control><joint name="shoulder" rotor_inertia="0.3"/>',
        '<joint name="wag" rotor_inertia="0.2"/></cnoid_control></robot>',
    ]
)


def mixed(root: JointType = JointType.FREE) -> Body:
    """Return the robot that has every kind of joint."""
    return Body(parse_urdf(MIXED, 'mixed', root))


def sr1(root: JointType = JointType.FREE) -> Body:
    """Return SR1."""
    return load_body(SR1, root)


ROBOTS = [(maker, root) for maker in (sr1, mixed) for root in (JointType.FREE, JointType.FIXED)]


def shake(body: Body, seed: int = 0) -> None:
    """Give the body a random posture and motion, and run its kinematics."""
    random = np.random.default_rng(seed)
    for name in ('q', 'dq', 'ddq'):
        getattr(body, name)[:] = 0.5 * random.normal(size=body.num_joints)
    root = body.root_link
    axis = random.normal(size=3)
    root.rotation = (axis, 0.8)
    for name in ('p', 'v', 'w', 'dv', 'dw'):
        setattr(root, name, random.normal(size=3))
    body.calc_forward_kinematics(velocity=True, acceleration=True)


def same_body(one: Body, other: Body, shapes: bool = True) -> None:
    """Assert that two bodies are of the same model, to 1e-9, with or without their shapes."""
    assert one.model_name == other.model_name
    assert [link.name for link in one.links] == [link.name for link in other.links]
    for mine, theirs in zip(one.links, other.links, strict=True):
        _same_link(mine.description, theirs.description, shapes)
    assert len(one.devices) == len(other.devices)
    for device, twin in zip(one.devices, other.devices, strict=True):
        assert type(device) is type(twin)
        assert device.link is not None
        assert twin.link is not None
        assert device.link.name == twin.link.name
        for key, value in vars(device).items():
            if key not in ('link', 'state_changed'):
                _same_value(f'{device.name}.{key}', value, getattr(twin, key))
    used = {link.description.material for link in one.links} - {''}
    for name in used:
        assert one.description.materials[name] == other.description.materials[name]


def _same_link(mine: LinkDescription, theirs: LinkDescription, with_shapes: bool) -> None:
    for key, value in vars(mine).items():
        if key == 'joint_axis' and not mine.joint_type.has_displacement:
            continue
        if key not in ('shapes', 'info'):
            _same_value(f'{mine.name}.{key}', value, getattr(theirs, key))
    if not with_shapes:
        return
    # URDF has the shapes that are seen before those that only collide.
    shapes, twins = (sorted(link.shapes, key=lambda s: not s.visual) for link in (mine, theirs))
    for shape, twin in zip(shapes, twins, strict=True):
        for key, value in vars(shape).items():
            _same_value(f'{mine.name}.shape.{key}', value, getattr(twin, key))


def _same_value(name: str, one: object, other: object) -> None:
    if isinstance(one, (float, np.ndarray)):
        np.testing.assert_allclose(other, one, rtol=0.0, atol=1e-9, err_msg=name)
    else:
        assert one == other, name
