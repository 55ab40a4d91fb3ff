"""Slips in URDF files that are read all the same, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

from cnoid_control.body import Body, JointType, ModelError
from cnoid_control.body.formats.urdf import parse_urdf

INERTIAL = (
    '<inertial><mass value="{}"/><inertia ixx="{}" ixy="0" ixz="0" iyy="{}" iyz="0" izz="{}"/>'
    '</inertial>'
)


def link(name: str, mass: float = 1.0, *moments: float, inside: str = '') -> str:
    """Return a link of URDF."""
    inertial = INERTIAL.format(mass, *(moments or (1.0, 1.0, 1.0)))
    return f'<link name="{name}">{inertial}{inside}</link>'


def joint(name: str, parent: str, child: str, kind: str = 'revolute', inside: str = '') -> str:
    """Return a joint of URDF with a range."""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<limit lower="-1" upper="1" effort="1" velocity="1"/>{inside}</joint>'
    )


def read(*parts: str) -> Body:
    """Body of the parts of a URDF."""
    return Body(parse_urdf(f'<robot name="r">{"".join(parts)}</robot>', 'r.urdf'))


def only_warning(body: Body) -> str:
    """Return the only sentence that was said."""
    (warning,) = body.description.warnings
    return warning


@pytest.mark.parametrize('solid', ['<torus/>', ''])
def test_unknown_geometry_is_left_out(solid: str) -> None:
    """The robot loads without it, whether it is seen or collides."""
    for tag in ('visual', 'collision'):
        bad = f'<{tag}><geometry>{solid}</geometry></{tag}>'
        good = '<visual><geometry><sphere radius="1"/></geometry></visual>'
        body = read(link('a', inside=bad + good))
        assert len(body.root_link.description.shapes) == 1
        kind = "'torus'" if solid else 'None'
        assert f'a <{tag}> has the unknown geometry {kind}' in body.description.warnings[0]
        assert 'box, sphere' in body.description.warnings[0]


def test_joint_without_limits() -> None:
    """A joint without any limit is unlimited."""
    text = joint('j', 'a', 'b')
    bare = text[: text.index('<limit')] + '</joint>'
    body = read(link('a'), link('b'), bare)
    assert np.isinf(body.q_upper[0])
    assert "'j'" in only_warning(body)
    assert 'unlimited' in only_warning(body)


def test_moving_link_without_mass_is_a_gram() -> None:
    """A massless end of a joint gets a gram; what carries others does not."""
    body = read(
        link('a'), '<link name="mid"/>', joint('j', 'a', 'mid'), link('tip'),
        joint('k', 'mid', 'tip'), '<link name="end"/>', joint('l', 'a', 'end'),
    )  # fmt: skip
    assert body.link('mid').m == 0.0
    assert body.link('end').m == 0.001
    assert "'end'" in only_warning(body)


def test_mimic_of_a_mimic_follows_its_leader() -> None:
    """Chains of mimics are one mimic: q = m1 (m2 q + o2) + o1."""
    body = read(
        link('a'),
        link('b'),
        link('c'),
        link('d'),
        joint('j', 'a', 'b'),
        joint('k', 'a', 'c', inside='<mimic joint="j" multiplier="2" offset="0.1"/>'),
        joint('l', 'a', 'd', inside='<mimic joint="k" multiplier="-1" offset="0.3"/>'),
    )
    body.joint('j').q = 0.5
    body.calc_forward_kinematics()
    assert body.joint('k').q == pytest.approx(1.1)
    assert body.joint('l').q == pytest.approx(-0.8)
    assert not body.description.warnings


@pytest.mark.parametrize('leader', ['x', 'fixed', 'j'])
def test_mimic_of_nothing_moves_by_itself(leader: str) -> None:
    """A joint that mimics one that does not exist or move is a joint of its own."""
    body = read(
        link('a'),
        link('b'),
        link('c'),
        link('d'),
        joint('j', 'a', 'b', inside=f'<mimic joint="{leader}"/>'),
        joint('fixed', 'a', 'c', 'fixed'),
        joint('k', 'a', 'd'),
    )
    assert [other.joint_name for other in body.joints] == ['j', 'k']
    assert f"no joint '{leader}' to mimic: 'j' moves by itself" in only_warning(body)


def test_loose_link_without_mass_is_left_out() -> None:
    """A second root that is nothing is left out; one with a mass has no place and is refused."""
    body = read(link('a'), link('b'), joint('j', 'a', 'b'), '<link name="marker"/>')
    assert [part.name for part in body.links] == ['a', 'b']
    assert "'marker'" in only_warning(body)
    with pytest.raises(ModelError, match=r'exactly one root.*a, lump'):
        read(link('a'), link('b'), joint('j', 'a', 'b'), link('lump'))


def test_unknown_elements_are_named() -> None:
    """Elements that are not read are told of, those of other programs are not."""
    body = read(
        link('a', inside='<glow/>'), '<gazebo><plugin/></gazebo><transmission/>', '<wings/>'
    )
    said = ' '.join(body.description.warnings)
    assert "<link name='a'>: <glow> is not read" in said
    assert '<wings> is not read' in said
    assert 'gazebo' not in said
    assert 'transmission' not in said


def test_root_is_as_before() -> None:
    """A massless root that carries the robot stays."""
    body = read('<link name="frame"/>', link('a'), joint('j', 'frame', 'a', 'fixed'))
    assert body.root_link.name == 'frame'
    assert body.root_link.joint_type is JointType.FREE
    assert not body.description.warnings
