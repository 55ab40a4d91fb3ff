"""Models that are wrong: the error names file, element and choices."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cnoid_control import CnoidControlError
from cnoid_control.body import Body, exceptions, load_body
from cnoid_control.body.formats.choreonoid import parse_body
from cnoid_control.body.formats.urdf import parse_urdf

GOOD_LINK = '<link name="a"/><link name="b"/>'
SOLID = (
    '<inertial><mass value="{}"/><inertia ixx="{}" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    '</inertial>'
)


def joint(name: str = 'j', kind: str = 'revolute', parent: str = 'a', child: str = 'b') -> str:
    """Return a joint of URDF."""
    links = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{links}</joint>'


def massive(name: str, mass: float = 1.0, moment: float = 1.0) -> str:
    """Return a link of URDF with a mass."""
    return f'<link name="{name}">{SOLID.format(mass, moment)}</link>'


AB = massive('a') + massive('b')

BAD_URDF = {
    'not xml': ('<robot><link></robot>', exceptions.ModelError, 'mismatched'),
    'no robot': ('<sdf/>', exceptions.ModelError, 'robot'),
    'no link': ('<robot name="r"/>', exceptions.ModelError, 'none'),
    'unnamed link': ('<robot><link/></robot>', exceptions.ModelError, 'name'),
    'unknown parent': (AB + joint(parent='c'), exceptions.ModelError, "'c'.*a, b"),
    'unknown child': (AB + joint(child='c'), exceptions.UnknownLink, "'c'.*a, b"),
    'two roots': (AB, exceptions.ModelError, 'a, b'),
    'cycle': (AB + joint() + joint('k', parent='b', child='a'), exceptions.ModelError, 'a, b'),
    'same link': (AB + massive('a') + joint(), exceptions.ModelError, "link.*'a'"),
    'same joint': (
        AB + massive('c') + joint() + joint(child='c'),
        exceptions.ModelError,
        "joint.*'j'",
    ),
    'two joints to one link': (AB + joint() + joint('k'), exceptions.ModelError, "'b'"),
    'negative mass': (massive('a', mass=-1.0), exceptions.ModelError, "'a'.*-1"),
    'bad inertia': (
        massive('a') + massive('b', moment=0.0) + joint(),
        exceptions.ModelError,
        "'b'.*positive definite",
    ),
    'unknown joint type': (
        AB + joint(kind='hinge'),
        exceptions.ModelError,
        "'j'.*'hinge'.*revolute, continuous",
    ),
    'zero axis': (
        AB + joint().replace('</joint>', '<axis xyz="0 0 0"/></joint>'),
        exceptions.ModelError,
        "'b'",
    ),
    'bad number': (
        AB + joint().replace('</joint>', '<axis xyz="0 one 0"/></joint>'),
        exceptions.ModelError,
        'axis.*0 one 0',
    ),
    'limits crossed': (
        AB + joint().replace('</joint>', '<limit lower="1" upper="-1"/></joint>'),
        exceptions.ModelError,
        "'j'.*1.0.*-1.0",
    ),
    'same joint id': (
        AB
        + massive('c')
        + joint()
        + joint('k', child='c')
        + '<cnoid_control><joint name="k" id="0"/></cnoid_control>',
        exceptions.ModelError,
        "0.*'j'.*'k'",
    ),
    'flat box': (
        '<link name="a"><visual><geometry><box size="1 0 1"/></geometry></visual></link>',
        exceptions.ModelError,
        'size',
    ),
    'path out of the package': (
        (
            '<link name="a"><visual><geometry><mesh filename="package://cnoid_control/../m.stl"/>'
            '</geometry></visual></link>'
        ),
        exceptions.PathOutsidePackage,
        'leads out',
    ),
    'unknown device': (
        '<link name="a"/><cnoid_control><device name="d" type="Nose" link="a"/></cnoid_control>',
        exceptions.ModelError,
        "'d'.*'Nose'.*ForceSensor",
    ),
    'unknown device value': (
        (
            '<link name="a"/><cnoid_control><device name="d" type="Imu" link="a" color="1 1 1"/>'
            '</cnoid_control>'
        ),
        exceptions.ModelError,
        'color',
    ),
    'unknown extension joint': (
        '<link name="a"/><cnoid_control><joint name="x" id="0"/></cnoid_control>',
        exceptions.UnknownJoint,
        "'x'",
    ),
    'track of nothing': (
        (
            '<link name="a"/><cnoid_control><track name="t" parent="a" links="a x"/>'
            '</cnoid_control>'
        ),
        exceptions.UnknownLink,
        "'x'",
    ),
    'entities': (
        '<!DOCTYPE robot [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>',
        exceptions.ModelError,
        'entities',
    ),
    'external entity': (
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot>&x;</robot>',
        exceptions.ModelError,
        'entities',
    ),
    'too deep': ('<robot>' * 60 + '</robot>' * 60, exceptions.ModelError, '50'),
}

# Groups of nine groups of nine groups ...: small in the file, endless when unfolded.
LEVELS = ''.join(
    f'{name}: &{name} [' + 9 * f'{{type: Group, elements: *{last}}}, ' + ']\n'
    for last, name in zip('abcdefg', 'bcdefgh', strict=True)
)
BOMB = f'a: &a [{{type: Group}}]\n{LEVELS}links: [{{name: a, elements: *h}}]'

BAD_BODY = {
    'not yaml': ('links: [', exceptions.ModelError, 'line'),
    'not a mapping': ('- 1', exceptions.ModelError, 'a mapping'),
    'no links': ('name: x', exceptions.ModelError, 'links'),
    'python object': (
        'links: !!python/object/apply:os.system [ls]',
        exceptions.ModelError,
        'python',
    ),
    'other format': ('format: Other\nlinks: [{name: a}]', exceptions.ModelError, 'Choreonoid'),
    'new version': ('format_version: 3\nlinks: [{name: a}]', exceptions.ModelError, '2.1'),
    'bad unit': ('angle_unit: turn\nlinks: [{name: a}]', exceptions.ModelError, 'degree'),
    'unnamed link': ('links: [{mass: 1}]', exceptions.ModelError, 'name'),
    'unknown parent': (
        'links: [{name: a}, {name: b, parent: c}]',
        exceptions.ModelError,
        "'c'.*a, b",
    ),
    'unknown root': ('root_link: x\nlinks: [{name: a}]', exceptions.UnknownLink, "'x'.*a"),
    'cycle': (
        'links: [{name: a, parent: b}, {name: b, parent: a}]',
        exceptions.ModelError,
        'a, b',
    ),
    'same link': ('links: [{name: a}, {name: a, parent: a}]', exceptions.ModelError, "'a'"),
    'same joint': (
        (
            'links: [{name: a}, {name: b, parent: a, joint_name: j},'
            ' {name: c, parent: a, joint_name: j}]'
        ),
        exceptions.ModelError,
        "joint.*'j'",
    ),
    'negative mass': ('links: [{name: a, mass: -1}]', exceptions.ModelError, "'a'"),
    'bad inertia': (
        'links: [{name: a, inertia: [1, 0, 0, 0, 0, 0, 0, 0, 1]}]',
        exceptions.ModelError,
        "'a'",
    ),
    'short inertia': ('links: [{name: a, inertia: [1, 1]}]', exceptions.ModelError, '9 numbers'),
    'unknown joint type': (
        'links: [{name: a}, {name: b, parent: a, joint_type: hinge}]',
        exceptions.ModelError,
        "'b'.*'hinge'.*revolute",
    ),
    'unknown mode': (
        'links: [{name: a, actuation_mode: magic}]',
        exceptions.ModelError,
        'magic.*joint_effort',
    ),
    'bad axis': ('links: [{name: a, joint_axis: W}]', exceptions.ModelError, 'X, Y, Z'),
    'bad range': (
        'links: [{name: a, joint_range: [2, 1]}]',
        exceptions.ModelError,
        'joint_range',
    ),
    'not a number': ('links: [{name: a, mass: heavy}]', exceptions.ModelError, 'heavy'),
    'infinite': ('links: [{name: a, mass: .inf}]', exceptions.ModelError, 'finite'),
    'zero rotation axis': (
        'links: [{name: a, rotation: [0, 0, 0, 90]}]',
        exceptions.ModelError,
        'rotation',
    ),
    'element without type': (
        'links: [{name: a, elements: [{name: n}]}]',
        exceptions.ModelError,
        'type',
    ),
    'other type': (
        'links: [{name: a, elements: {Group: {type: Transform}}}]',
        exceptions.ModelError,
        'Group',
    ),
    'unknown geometry': (
        'links: [{name: a, elements: {Shape: {geometry: {type: Torus}}}}]',
        exceptions.ModelError,
        "a.*'Torus'.*Box",
    ),
    'no geometry': ('links: [{name: a, elements: {Shape: {}}}]', exceptions.ModelError, 'geom'),
    'bad faces': (
        (
            'links: [{name: a, elements: {Shape: {geometry: {type: Mesh, vertices: [0,0,0],'
            ' faces: [0,1,2]}}}}]'
        ),
        exceptions.ModelError,
        'faces',
    ),
    'bad camera': (
        'links: [{name: a, elements: {Camera: {name: c, format: SMELL}}}]',
        exceptions.ModelError,
        'SMELL.*COLOR',
    ),
    'track': ('links: [{type: ContinuousTrack}]', exceptions.ModelError, 'Continuous'),
    'short track': (
        (
            'links: [{name: a}, {type: ContinuousTrack, name: t, parent: a, numJoints: 2,'
            ' jointOffset: [1, 0, 0]}]'
        ),
        exceptions.ModelError,
        'num_joints is 2',
    ),
    'unknown node among links': (
        'links: [{name: a}, {type: Wheel, name: w}]',
        exceptions.ModelError,
        "w.*'Wheel'.*ContinuousTrack",
    ),
    'root with a parent': (
        'root_link: b\nlinks: [{name: a}, {name: b, parent: a}]',
        exceptions.ModelError,
        'root_link.*a',
    ),
    'unknown kind of extra joint': (
        (
            'links: [{name: a}, {name: b, parent: a}]\n'
            'extra_joints: [{link1_name: a, link2_name: b, joint_type: glue}]'
        ),
        exceptions.ModelError,
        "'glue'.*hinge",
    ),
    'short spine': (
        'links: [{name: a, elements: {Shape: {geometry: {type: Extrusion, spine: [0, 0, 0]}}}}]',
        exceptions.ModelError,
        'spine of 2 points',
    ),
    'heights missing': (
        (
            'links: [{name: a, elements: {Shape: {geometry: {type: ElevationGrid, xDimension: 2,'
            ' zDimension: 2, height: [1, 2, 3]}}}}]'
        ),
        exceptions.ModelError,
        '2 \\* 2 heights',
    ),
    'line for a box': (
        'links: [{name: a, elements: {Shape: {geometry: {type: Box, size: [1, 0, 0]}}}}]',
        exceptions.ModelError,
        'size.*lengths above 0',
    ),
    'unknown resource': (
        'links: [{name: a, elements: {Resource: {uri: m.blend}}}]',
        exceptions.ModelError,
        'm.blend.*.wrl',
    ),
    'resource outside': (
        'links: [{name: a, elements: {Resource: {uri: ../../m.wrl}}}]',
        exceptions.PathOutsidePackage,
        'm.wrl',
    ),
    'flattened': (
        (
            'links: [{name: a, elements: {Transform: {scale: [1, 0, 1], elements:'
            ' {Shape: {geometry: {type: Sphere}}}}}}]'
        ),
        exceptions.ModelError,
        'scale.*not 0',
    ),
    'sub body missing': (
        'links: [{name: a}, {type: SubBody, uri: no.body, parent: a}]',
        exceptions.ModelError,
        'no.body',
    ),
    'sub body outside': (
        'links: [{name: a}, {type: SubBody, uri: ../x.body, parent: a}]',
        exceptions.PathOutsidePackage,
        'x.body',
    ),
    'sub body absolute': (
        'links: [{name: a}, {type: SubBody, uri: /etc/passwd, parent: a}]',
        exceptions.PathOutsidePackage,
        'passwd',
    ),
    'endless alias': (
        'links: [{name: a, elements: &e [{type: Group, elements: *e}]}]',
        exceptions.ModelError,
        '50',
    ),
    'alias bomb': (BOMB, exceptions.ModelError, '100000'),
    'too deep': ('links: ' + '[' * 60 + ']' * 60, exceptions.ModelError, '50'),
    'unknown extra joint': (
        'links: [{name: a}]\nextra_joints: [{link1_name: a, link2_name: x}]',
        exceptions.UnknownLink,
        "'x'.*a",
    ),
}


@pytest.mark.parametrize('case', BAD_URDF)
def test_bad_urdf(case: str, tmp_path: Path) -> None:
    """Each thing that can be wrong with a URDF has its error, which names it."""
    text, error, message = BAD_URDF[case]
    if not text.startswith(('<robot', '<sdf', '<!')):
        text = f'<robot name="r">{text}</robot>'
    path = tmp_path / 'bad.urdf'
    path.write_text(text)
    with pytest.raises(error, match=message) as caught:
        load_body(path)
    assert 'bad.urdf' in str(caught.value)
    assert isinstance(caught.value, CnoidControlError)


MESH = '<{0}><geometry><mesh filename="{1}"/></geometry></{0}>'
LIMIT = '<limit lower="{}" upper="{}" effort="{}" velocity="{}"/></joint>'
# What is wrong, and the words of the sentence that says what was assumed.
ODD_URDF = {
    'mimic of nothing': (
        AB + joint().replace('</joint>', '<mimic joint="x"/></joint>'),
        "no joint 'x' to mimic: 'j' moves by itself",
    ),
    'missing visual': (
        f'<link name="a">{MESH.format("visual", "m.stl")}</link>',
        "'a': mesh 'm.stl' is not there; it is not seen",
    ),
    'missing package': (
        f'<link name="a">{MESH.format("collision", "package://no_such/m.stl")}</link>',
        "'package://no_such/m.stl' is not there; it is not touched",
    ),
    'no inertia': (
        massive('a') + '<link name="b"><inertial><mass value="1"/></inertial></link>' + joint(),
        "link 'b' has a mass of 1 kg and no inertia; 0.0004 kg m",
    ),
    'negative moment': (
        massive('a') + massive('b', moment=-1.0) + joint(),
        "link 'b' has moments of inertia .*, which no solid has",
    ),
    'no effort': (
        AB + joint().replace('</joint>', LIMIT.format(-1, 1, 0, 5)),
        'effort limit 0 is taken for unknown, and no limit: j',
    ),
    'no limits at all': (
        AB + joint().replace('</joint>', LIMIT.format(0, 0, 0, 0)),
        'range 0 is taken for unknown, and no limit: j',
    ),
}


@pytest.mark.parametrize('case', ODD_URDF)
def test_odd_urdf(case: str, tmp_path: Path) -> None:
    """What physics can do without is left out or assumed, and said."""
    text, message = ODD_URDF[case]
    path = tmp_path / 'odd.urdf'
    path.write_text(f'<robot name="r">{text}</robot>')
    body = load_body(path)
    assert any(re.search(message, text) for text in body.description.warnings)
    for joint_ in body.joints:
        assert joint_.u_upper > 0.0
        assert joint_.q_upper > joint_.q_lower


def test_a_range_of_zero_alone_locks_a_joint(tmp_path: Path) -> None:
    """Only where the other limits are 0 as well was it an exporter that knew nothing."""
    path = tmp_path / 'locked.urdf'
    text = AB + joint().replace('</joint>', LIMIT.format(0, 0, 10, 5))
    path.write_text(f'<robot name="r">{text}</robot>')
    lock = load_body(path).joints[0]
    assert (lock.q_lower, lock.q_upper, lock.u_upper, lock.dq_upper) == (0.0, 0.0, 10.0, 5.0)


@pytest.mark.parametrize('case', BAD_BODY)
def test_bad_body(case: str, tmp_path: Path) -> None:
    """Each thing that can be wrong with a .body file has its error, which names it."""
    text, error, message = BAD_BODY[case]
    path = tmp_path / 'bad.body'
    path.write_text(text)
    with pytest.raises(error, match=message) as caught:
        load_body(path)
    assert '.body' in str(caught.value)
    assert isinstance(caught.value, CnoidControlError)


def test_missing_files_and_formats(tmp_path: Path) -> None:
    """A file that is not there, a folder, binary data and an unknown suffix are told apart."""
    for name in ('no.urdf', 'no.body'):
        with pytest.raises(exceptions.ModelError, match=name):
            load_body(tmp_path / name)
    with pytest.raises(exceptions.ModelError, match=r'\.urdf, \.xacro, \.xml, \.mjcf, \.body'):
        load_body(tmp_path / 'robot.sdf')
    (tmp_path / 'binary.urdf').write_bytes(b'\xff\xfe\x00')
    with pytest.raises(exceptions.ModelError, match='UTF-8'):
        load_body(tmp_path / 'binary.urdf')
    (tmp_path / 'folder.body').mkdir()
    with pytest.raises(exceptions.ModelError, match='folder'):
        load_body(tmp_path / 'folder.body')


def test_sub_body_of_itself(tmp_path: Path) -> None:
    """A body that is a part of itself, directly or over another file, is refused."""
    part = 'links: [{{name: {0}}}, {{type: SubBody, uri: {1}.body, parent: {0}, prefix: x}}]'
    (tmp_path / 'a.body').write_text(part.format('a', 'b'))
    (tmp_path / 'b.body').write_text(part.format('b', 'a'))
    with pytest.raises(exceptions.ModelError, match='part of itself'):
        load_body(tmp_path / 'a.body')


WORDS = [
    'name',
    'links',
    'elements',
    'type',
    'parent',
    'mass',
    'rotation',
    'Shape',
    'a',
    'joint_id',
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.sampled_from(WORDS) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5)
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(VALUES)
def test_any_yaml_loads_or_is_refused(value: object) -> None:
    """Whatever YAML says, the loader gives a body or an error of its own."""
    text = yaml.safe_dump({'links': value})
    with contextlib.suppress(CnoidControlError):
        Body(parse_body(text, 'any', Path.cwd()))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_damaged_urdf_loads_or_is_refused(data: st.DataObject) -> None:
    """A URDF with pieces cut out or put in gives a body or an error of its own."""
    camera = '<camera><image><width>3</width></image></camera>'
    sensor = f'<gazebo reference="a"><sensor name="s" type="camera">{camera}</sensor></gazebo>'
    text = f'<robot name="r">{AB}{joint()}{sensor}</robot>'
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    inserted = data.draw(st.text('<>/"=ab1-. &', max_size=6))
    with contextlib.suppress(CnoidControlError):
        Body(parse_urdf(text[:start] + inserted + text[end:], 'damaged'))
