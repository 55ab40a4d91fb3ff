"""Xacro files as robot models."""

import pytest

from cnoid_control.body import ModelError, load_body
from cnoid_control.runtime.build import make_robot
from cnoid_control.runtime.config import RobotParameters

XMLNS = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'

FOOT = '<xacro:foot/></robot>'

PARTS = f"""<robot {XMLNS}>
  <xacro:macro name="part" params="name mass">
    <link name="${{name}}">
      <inertial>
        <mass value="${{mass}}"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
      </inertial>
    </link>
  </xacro:macro>
</robot>
"""

ARM = f"""<?xml version="1.0"?>
<robot name="arm" {XMLNS}>
  <xacro:arg name="mass" default="2.0"/>
  <xacro:arg name="wrist" default="false"/>
  <xacro:include filename="$(find some_arm)/urdf/parts.xacro"/>
  <xacro:part name="base" mass="1.0"/>
  <xacro:part name="upper" mass="$(arg mass)"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/>
    <limit lower="-1" upper="${{pi / 2}}" effort="5" velocity="1"/>
  </joint>
  <xacro:if value="$(arg wrist)">
    <xacro:part name="hand" mass="0.5"/>
    <joint name="wrist" type="continuous"><parent link="upper"/><child link="hand"/></joint>
  </xacro:if>
</robot>
"""


@pytest.fixture
def package(tmp_path):
    """Return the folder of a package with a xacro model, known to nobody but by its place."""
    folder = tmp_path / 'some_arm'
    (folder / 'urdf').mkdir(parents=True)
    (folder / 'package.xml').write_text('<package/>')
    (folder / 'urdf' / 'parts.xacro').write_text(PARTS)
    (folder / 'urdf' / 'arm.urdf.xacro').write_text(ARM)
    return folder


def written(folder, text):
    """Return a xacro file with this text."""
    path = folder / 'urdf' / 'own.xacro'
    path.write_text(text)
    return path


def test_macros_properties_and_includes_are_expanded(package):
    """A model by macros of another file, with the file's own defaults."""
    body = load_body(package / 'urdf' / 'arm.urdf.xacro')
    assert body.joint_names == ['shoulder']
    assert body.mass == pytest.approx(3.0)
    assert body.joint('shoulder').q_upper == pytest.approx(1.5707963267948966)


def test_arguments_are_used(package):
    """Numbers and truth values of a configuration reach the file."""
    robot = RobotParameters(
        model=str(package / 'urdf' / 'arm.urdf.xacro'), arguments={'mass': 4.5, 'wrist': True}
    )
    body = make_robot(robot, package)
    assert body.joint_names == ['shoulder', 'wrist']
    assert body.mass == pytest.approx(6.0)


def test_the_ament_index_is_asked(package, tmp_path, monkeypatch):
    """`$(find NAME)` finds what is installed, wherever the model is."""
    installed = tmp_path / 'prefix' / 'share' / 'some_arm'
    installed.parent.mkdir(parents=True)
    package.rename(installed)
    model = tmp_path / 'mine.xacro'
    model.write_text(ARM)
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    with pytest.raises(ModelError, match=r"mine\.xacro: package 'some_arm' is not found") as info:
        load_body(model)
    assert str(info.value).count('is not found') == 1
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'prefix'))
    assert load_body(model).joint_names == ['shoulder']


def test_a_checkout_of_another_name_is_found_by_its_manifest(package):
    """The folder that a repository was cloned into need not have the package's name."""
    clone = package.rename(package.with_name('my_clone'))
    with pytest.raises(ModelError, match="'some_arm' is not found"):
        load_body(clone / 'urdf' / 'arm.urdf.xacro')
    (clone / 'package.xml').write_text('<package><name>some_arm</name></package>')
    assert load_body(clone / 'urdf' / 'arm.urdf.xacro').joint_names == ['shoulder']


def test_the_urdf_text_is_kept(package):
    """What the file stands for is kept for those who need URDF."""
    text = load_body(package / 'urdf' / 'arm.urdf.xacro').description.urdf
    assert '<link name="upper">' in text
    assert 'xacro:' not in text


def test_an_unknown_argument_is_refused(package):
    """What the file does not have is no silent nothing."""
    with pytest.raises(ModelError, match=r"no argument 'mas'.*mass, wrist"):
        load_body(package / 'urdf' / 'arm.urdf.xacro', arguments={'mas': 1.0})


def test_only_xacro_has_arguments(root):
    """A URDF cannot use them, and says so."""
    with pytest.raises(ModelError, match=r'pendulum\.urdf: takes no arguments \(mass\)'):
        load_body(root / 'urdf' / 'pendulum.urdf', arguments={'mass': 1.0})


def test_a_missing_argument_is_named(package):
    """An argument without a default has to be given."""
    path = written(package, f'<robot name="a" {XMLNS}>\n  <link name="$(arg side)"/>\n</robot>')
    with pytest.raises(
        ModelError, match=r"own\.xacro:2: needs .*'side'.*robot\.arguments\.side"
    ) as caught:
        load_body(path)
    assert '--argument side=VALUE' in str(caught.value)
    assert load_body(path, arguments={'side': 'left'}).root_link.name == 'left'


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('<robot>\n<link>\n', r'own\.xacro.*is not XML.*line 3'),
        (f'<robot {XMLNS}>\n<link name="${{nothing}}"/></robot>', r"own\.xacro:2: .*'nothing'"),
        (f'<robot {XMLNS}><xacro:none/></robot>', r'own\.xacro.*none'),
        (
            f'<robot {XMLNS}><xacro:include filename="gone.xacro"/></robot>',
            r'own\.xacro.*gone\.xacro',
        ),
        (
            f'<robot {XMLNS}><xacro:macro name="foot"><a b="${{1 / 0}}"/></xacro:macro>{FOOT}',
            r"own\.xacro:1 \(in macro 'foot'\): .*division by zero",
        ),
    ],
)
def test_mistakes_are_named_with_their_place(package, text, message):
    """File, line or macro, and what is wrong."""
    with pytest.raises(ModelError, match=message):
        load_body(written(package, text))
    # Nothing of it is left for the next file.
    assert load_body(package / 'urdf' / 'arm.urdf.xacro').joint_names == ['shoulder']


def test_a_mistake_in_an_included_file_names_both(package):
    """The file with the mistake comes first, then who includes it."""
    (package / 'urdf' / 'parts.xacro').write_text(f'<robot {XMLNS}>\n<a b="${{gone}}"/></robot>')
    with pytest.raises(ModelError, match=r'parts\.xacro:2 \(included by .*arm\.urdf\.xacro\)'):
        load_body(package / 'urdf' / 'arm.urdf.xacro')
