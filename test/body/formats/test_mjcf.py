"""MJCF files become bodies that agree with what MuJoCo compiles."""

from __future__ import annotations

import numpy as np
import pytest
from mjcf_reference import MujocoReference

from cnoid_control.body import JointType, StateFlag
from cnoid_control.body.description import Box, Capsule, Ellipsoid, Mesh
from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    GenericDevice,
    Imu,
    RangeSensor,
)
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.load import load_body

INERTIAL = (
    '<inertial pos="0.01 0.02 0.1" mass="1.5" diaginertia="0.02 0.03 0.01" euler="10 20 5"/>'
)

# Free base, default classes, an anchor beside the origin, references, three joints on one body.
WALKER = f"""
<mujoco model="walker">
  <option gravity="0 0 -9.81"/>
  <default>
    <joint damping="0.3" armature="0.02"/>
    <default class="knee"><joint axis="0 1 0" range="-90 10" frictionloss="0.2"/></default>
  </default>
  <worldbody>
    <body name="trunk" pos="0 0 0.6">
      <freejoint/>
      {INERTIAL}
      <body name="thigh" pos="0.1 0 0" euler="0 30 0">
        <joint name="hip_x" axis="1 0 0" ref="20"/>
        <joint name="hip_y" axis="0 1 0" pos="0 0.03 0.02"/>
        <joint name="slider" type="slide" axis="0 0.6 0.8" ref="0.1" range="-0.2 0.4"/>
        {INERTIAL}
        <body name="shank" pos="0 0 -0.3">
          <joint name="knee" class="knee" pos="0.01 0.02 0.03" ref="-40"/>
          {INERTIAL}
          <body name="foot" pos="0 0 -0.3" euler="0 0 45">
            <geom type="box" size="0.1 0.05 0.02" mass="0.4"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def load(tmp_path, text, **options):
    """Body from the text of a file."""
    path = tmp_path / 'model.xml'
    path.write_text(text)
    return load_body(path, **options)


@pytest.fixture
def walker(tmp_path):
    """Body with everything that joints can have."""
    return load(tmp_path, WALKER)


def test_several_joints_anchors_and_references_agree_with_mujoco(walker):
    """Kinematics and dynamics are MuJoCo's, wherever its joints are."""
    reference = MujocoReference(walker)
    rng = np.random.default_rng(3)
    for _ in range(5):
        reference.check(rng)


def test_links_between_joints_are_named_after_body_and_joint(walker):
    """Each joint has a link, the body's own is the last one."""
    assert [link.name for link in walker.links] == [
        'trunk',
        'thigh/hip_x',
        'thigh/hip_y',
        'thigh',
        'shank/knee',
        'shank',
        'foot',
    ]
    assert walker.joint_names == ['hip_x', 'hip_y', 'slider', 'knee']
    assert walker.joint('slider').is_prismatic_joint


def test_joint_values_come_from_the_default_classes(walker):
    """Range, damping, armature, friction and reference are those that MuJoCo compiles."""
    knee = walker.joint('knee').description
    assert (knee.q_lower, knee.q_upper) == pytest.approx((-np.pi / 2, np.radians(10)))
    assert (knee.damping, knee.rotor_inertia, knee.friction) == (0.3, 0.02, 0.2)
    assert knee.q_initial == pytest.approx(np.radians(-40))
    assert walker.joint('hip_x').description.q_lower == -np.inf


def test_free_joint_is_a_floating_base(walker):
    """The base floats, and the description says why."""
    assert not walker.is_fixed_root
    assert walker.description.base_reason == "body 'trunk' has a free joint"
    np.testing.assert_array_equal(walker.description.gravity, (0.0, 0.0, -9.81))


def test_base_can_be_bolted_down(tmp_path):
    """The caller's choice of the base wins over the file's."""
    body = load(tmp_path, WALKER, root=JointType.FIXED)
    assert body.is_fixed_root
    assert 'it was to be fixed' in body.description.base_reason


CART = """
<mujoco>
  <worldbody>
    <geom name="rail" type="box" size="1 .1 .1" contype="0" conaffinity="0"/>
    <body>
      <joint name="x" type="slide" axis="1 0 0"/>
      <geom type="box" size=".1 .1 .1" mass="2"/>
      <body><joint axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 .5" mass=".3"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="x" gear="5" ctrlrange="-2 2"/></actuator>
</mujoco>
"""


def test_joints_that_begin_at_the_world_hang_on_a_world_link(tmp_path):
    """The root is a massless link for the world, and what has no name gets one."""
    body = load(tmp_path, CART)
    assert [link.name for link in body.links] == ['world', 'world_body', 'world_body_body']
    assert body.joint_names == ['x', 'world_body_body_joint']
    assert body.is_fixed_root
    assert 'begin at the world' in body.description.base_reason
    MujocoReference(body).check(np.random.default_rng(0))
    with pytest.raises(ModelError, match='cannot be free'):
        load(tmp_path, CART, root=JointType.FREE)


def test_joint_without_an_actuator_is_passive(tmp_path):
    """Where other joints have actuators, one without any gives no effort."""
    body = load(tmp_path, CART)
    assert (body.joint('x').u_lower, body.joint('x').u_upper) == (-10.0, 10.0)
    assert body.joint('world_body_body_joint').u_upper == 0.0
    said = 'joints without an actuator are passive: world_body_body_joint'
    assert said in body.description.warnings


def two_joints(actuators, more=''):
    """Text of a bolted arm with actuators."""
    return f"""
<mujoco>
  <worldbody>
    <body name="base"><geom size=".1" mass="1"/>
      <body name="one"><joint name="a" actuatorfrcrange="-30 40"/><geom size=".1" mass="1"/>
        <body name="two"><joint name="b" ref="10"/><geom size=".1" mass="1"/></body>
      </body>
    </body>
  </worldbody>
  {more}
  <actuator>{actuators}</actuator>
</mujoco>
"""


@pytest.mark.parametrize(
    ('actuator', 'mode', 'kp', 'kd', 'limits'),
    [
        ('<motor joint="a" gear="2"/>', StateFlag.JOINT_EFFORT, 0, 0, (-30, 40)),
        (
            '<motor joint="a" gear="-2" ctrlrange="-3 8"/>',
            StateFlag.JOINT_EFFORT,
            0,
            0,
            (-16, 6),
        ),
        (
            '<position joint="a" kp="50" kv="3" forcerange="-5 6"/>',
            StateFlag.JOINT_DISPLACEMENT,
            50,
            3,
            (-5, 6),
        ),
        (
            '<position joint="a" kp="50" kv="3" gear="3" forcerange="-5 6"/>',
            StateFlag.JOINT_DISPLACEMENT,
            450,
            27,
            (-15, 18),
        ),
        ('<velocity joint="a" kv="7"/>', StateFlag.JOINT_VELOCITY, 0, 7, (-30, 40)),
        (
            '<general joint="a" gainprm="0.2" biastype="affine" biasprm="1 -80 -4"/>',
            StateFlag.JOINT_DISPLACEMENT,
            80,
            4,
            (-30, 40),
        ),
        (
            '<intvelocity joint="a" kp="20" kv="1" actrange="-1 1"/>',
            StateFlag.JOINT_VELOCITY,
            20,
            1,
            (-30, 40),
        ),
    ],
)
def test_actuators_become_gains_limits_and_modes(tmp_path, actuator, mode, kp, kd, limits):
    """Gains at the joint have the gear squared, limits are the tightest of the file's."""
    joint = load(tmp_path, two_joints(actuator)).joint('a')
    assert joint.actuation_mode == mode
    assert (joint.description.kp, joint.description.kd) == pytest.approx((kp, kd))
    assert (joint.u_lower, joint.u_upper) == pytest.approx(limits)


def test_actuator_of_a_fixed_tendon_drives_its_joints(tmp_path):
    """Each joint has the share of the gains and limits that its coefficient gives it."""
    tendon = (
        '<tendon><fixed name="t"><joint joint="a" coef="1"/><joint joint="b" coef=".5"/></fixed>'
    )
    actuator = '<position tendon="t" kp="100" kv="10" forcerange="-8 8"/>'
    body = load(tmp_path, two_joints(actuator, f'{tendon}</tendon>'))
    a, b = body.joint('a').description, body.joint('b').description
    assert (a.kp, b.kp, a.kd, b.kd) == (100, 25, 10, 2.5)
    assert (a.u_upper, b.u_upper) == (8, 4)


def test_actuator_with_a_law_of_its_own_is_named(tmp_path):
    """A muscle is told of by its name; the joint is commanded by efforts."""
    body = load(tmp_path, two_joints('<muscle name="m" joint="a" lengthrange="0 1"/>'))
    assert body.joint('a').actuation_mode == StateFlag.JOINT_EFFORT
    assert any("'m'" in warning for warning in body.description.warnings)


def test_actuator_that_turns_no_joint_is_named(tmp_path):
    """A thruster takes no commands, and that is said."""
    text = WALKER.replace('<freejoint/>', '<freejoint/><site name="s"/>').replace(
        '</worldbody>', '</worldbody><actuator><general name="thrust" site="s"/></actuator>'
    )
    body = load(tmp_path, text)
    assert any("'thrust'" in warning for warning in body.description.warnings)
    assert body.joint('knee').u_upper == np.inf


def equality(content):
    """Text of an arm with an equality constraint."""
    return two_joints('<motor joint="a"/>', f'<equality>{content}</equality>')


def test_linear_joint_equality_is_a_mimic_joint(tmp_path):
    """Its offset counts from the references of both joints, as in MuJoCo."""
    body = load(tmp_path, equality('<joint joint1="b" joint2="a" polycoef=".2 -.5 0 0 0"/>'))
    mimic = body.joint('b').description.mimic
    assert (mimic.joint, mimic.multiplier) == ('a', -0.5)
    assert mimic.offset == pytest.approx(0.2 + np.radians(10))
    assert body.joint_names == ['a']
    MujocoReference(body).check(np.random.default_rng(0))


def test_driven_joint_leads_whatever_the_equality_says(tmp_path):
    """The joint with the actuator is followed by the other one."""
    body = load(tmp_path, equality('<joint joint1="a" joint2="b" polycoef="0 -.5 0 0 0"/>'))
    assert body.joint('b').description.mimic.multiplier == -2.0
    assert body.joint('a').description.mimic is None


def test_chain_of_equalities_has_one_leader(tmp_path):
    """A joint that follows a follower follows its leader; a circle is left to the physics."""
    chain = """<joint joint1="c" joint2="b" polycoef=".3 2 0 0 0"/>
    <joint joint1="b" joint2="a" polycoef=".2 -.5 0 0 0"/>
    <joint joint1="a" joint2="c" polycoef="0 1 0 0 0"/>"""
    text = (
        equality(chain)
        .replace('<motor joint="a"/>', '')
        .replace(
            '</body>\n      </body>',
            '<body name="three"><joint name="c" axis="1 0 0"/><geom size=".1" mass="1"/></body>'
            '</body></body>',
        )
    )
    body = load(tmp_path, text)
    assert body.joint_names == ['a']
    mimic = body.joint('c').description.mimic
    assert (mimic.joint, mimic.multiplier) == ('a', -1.0)
    assert mimic.offset == pytest.approx(0.3 + 2 * 0.2)
    assert any('physics only' in warning for warning in body.description.warnings)
    MujocoReference(body).check(np.random.default_rng(0))


def test_single_floating_body_is_a_robot(tmp_path):
    """A drone has no joints; its base is all that moves."""
    text = '<mujoco><worldbody><body name="drone"><freejoint/><geom size=".1"/></body></worldbody>'
    body = load(tmp_path, f'{text}</mujoco>')
    assert (body.num_links, body.num_joints) == (1, 0)
    MujocoReference(body).check(np.random.default_rng(0))


def test_other_equalities_are_left_to_the_physics(tmp_path):
    """A curved relation is no mimic, and that is said."""
    body = load(tmp_path, equality('<joint joint1="b" joint2="a" polycoef="0 1 2 0 0"/>'))
    assert body.joint('b').description.mimic is None
    assert any('physics only' in warning for warning in body.description.warnings)
    body = load(tmp_path, equality('<connect body1="base" body2="two" anchor="0 0 0"/>'))
    assert '1 constraints that close loops act in the physics only' in body.description.warnings


def test_keyframes_are_postures(tmp_path):
    """Root pose and displacements by name; 'home' is the model's own choice."""
    key = '<keyframe><key name="low" qpos="0 0 1 1 0 0 0 .1 .2 .3 -.4"/>'
    key += '<key name="home" qpos="1 2 3 0 1 0 0 .5 .6 .2 -.8"/></keyframe>'
    postures = load(tmp_path, WALKER.replace('</mujoco>', f'{key}</mujoco>')).description.postures
    assert list(postures) == ['home', 'low']
    home = postures['home']
    assert home.q == pytest.approx({'hip_x': 0.5, 'hip_y': 0.6, 'slider': 0.2, 'knee': -0.8})
    assert home.position == (1.0, 2.0, 3.0)
    np.testing.assert_allclose(home.rotation, np.diag([1.0, -1.0, -1.0]), atol=1e-12)


def test_ball_joint_is_refused_by_name(tmp_path):
    """Three angles are no exact stand-in for it."""
    text = WALKER.replace('<joint name="slider" type="slide"', '<joint name="slider" type="ball"')
    text = text.replace('axis="0 0.6 0.8" ref="0.1" range="-0.2 0.4"', '')
    text = text.replace('<joint name="hip_x" axis="1 0 0" ref="20"/>', '')
    text = text.replace('<joint name="hip_y" axis="0 1 0" pos="0 0.03 0.02"/>', '')
    with pytest.raises(ModelError, match="body 'thigh' has ball joint 'slider'"):
        load(tmp_path, text)


def test_loose_things_are_no_robot(tmp_path):
    """Bodies with a free joint of their own, mocap bodies and doors belong to the scene."""
    things = """
    <body name="ball"><freejoint/><geom size=".1"/></body>
    <body name="pointer" mocap="true"><geom size=".01" contype="0" conaffinity="0"/></body>
    <body name="door"><joint name="hinge"/><geom type="box" size=".1 .1 .1"/></body>
    <body name="table"><geom type="box" size=".1 .1 .1"/></body>
    </worldbody><actuator><motor joint="knee"/></actuator>"""
    body = load(tmp_path, WALKER.replace('</worldbody>', things))
    assert body.num_links == 7
    MujocoReference(body).check(np.random.default_rng(5))


def test_two_arms_are_one_robot(tmp_path):
    """Several driven trees that are bolted to the world hang on one world link."""
    arm = '<body name="{0}" pos="0 {1} 0"><geom size=".1"/><body name="{0}_link">'
    arm += '<joint name="{0}_j"/><geom size=".1" pos=".3 0 0"/></body></body>'
    text = f"""<mujoco><worldbody>{arm.format('left', 1)}{arm.format('right', -1)}</worldbody>
    <actuator><motor joint="left_j"/><motor joint="right_j"/></actuator></mujoco>"""
    body = load(tmp_path, text)
    assert [link.name for link in body.links][:2] == ['world', 'left']
    assert body.joint_names == ['left_j', 'right_j']
    MujocoReference(body).check(np.random.default_rng(5))


@pytest.mark.parametrize('option', ['fusestatic', 'discardvisual', 'balanceinertia'])
def test_what_the_compiler_changes_is_what_counts(tmp_path, option):
    """Bodies that MuJoCo fuses are one link, and the dynamics agree with what is left."""
    text = WALKER.replace('<option ', f'<compiler {option}="true"/><option ')
    body = load(tmp_path, text)
    assert ('foot' in [link.name for link in body.links]) == (option != 'fusestatic')
    MujocoReference(body).check(np.random.default_rng(2))


def test_attached_models_are_part_of_the_robot(tmp_path):
    """A file may carry another one on its hand."""
    (tmp_path / 'hand.xml').write_text(
        '<mujoco model="hand"><worldbody><body name="palm"><geom size=".05" mass=".3"/>'
        '<body name="finger" pos=".1 0 0"><joint name="grip" range="-30 30"/>'
        '<geom size=".02" mass=".1"/></body></body></worldbody>'
        '<actuator><position joint="grip" kp="5"/></actuator></mujoco>'
    )
    text = WALKER.replace('<worldbody>', '<asset><model file="hand.xml"/></asset><worldbody>')
    text = text.replace(
        '<body name="foot"', '<attach model="hand" body="palm" prefix="h_"/><body name="foot"'
    )
    body = load(tmp_path, text)
    assert body.joint('h_grip').description.kp == 5.0
    assert body.joint('h_grip').q_upper == pytest.approx(np.radians(30.0))
    MujocoReference(body).check(np.random.default_rng(2))


def test_include_is_followed(tmp_path):
    """A file may consist of others."""
    inner = WALKER.replace('<mujoco model="walker">', '<mujocoinclude>')
    (tmp_path / 'inner.xml').write_text(inner.replace('</mujoco>', '</mujocoinclude>'))
    body = load(tmp_path, '<mujoco model="outer"><include file="inner.xml"/></mujoco>')
    assert body.name == 'outer'
    assert body.num_joints == 4


SENSORS = """
<sensor>
  <accelerometer name="acc" site="imu"/><gyro name="gyro" site="imu"/>
  <velocimeter name="speed" site="imu"/><framequat name="attitude" objtype="site" objname="imu"/>
  <force name="push" site="sole"/><touch name="touch" site="sole"/>
  <rangefinder name="sonar" site="sole" cutoff="3"/><accelerometer site="sole"/>
  <jointpos joint="knee"/><jointvel joint="knee"/>
</sensor>"""


def with_sensors():
    """Text of the walker with sensors."""
    text = WALKER.replace('<freejoint/>', '<freejoint/><site name="imu" pos=".1 .2 .3"/>')
    text = text.replace(
        '<geom type="box"',
        '<site name="sole" euler="180 0 0"/>'
        '<camera name="eye" fovy="60" resolution="200 100"/><geom type="box"',
    )
    return text.replace('</mujoco>', f'{SENSORS}</mujoco>')


def test_sensors_become_devices(tmp_path):
    """Gyro and accelerometer of a site are an IMU; a kind without a class is generic."""
    body = load(tmp_path, with_sensors())
    found = {device.name: (type(device), device.link.name) for device in body.devices}
    assert found == {
        'imu': (Imu, 'trunk'),
        'speed': (GenericDevice, 'trunk'),
        'attitude': (GenericDevice, 'trunk'),
        'push': (ForceSensor, 'foot'),
        'touch': (GenericDevice, 'foot'),
        'sonar': (RangeSensor, 'foot'),
        'sole_accelerometer': (AccelerationSensor, 'foot'),
        'eye': (Camera, 'foot'),
    }
    devices = {device.name: device for device in body.devices}
    np.testing.assert_allclose(devices['imu'].p_local, [0.1, 0.2, 0.3])
    assert (devices['attitude'].kind, devices['attitude'].values.size) == ('framequat', 4)
    assert devices['sonar'].max_distance == 3.0
    assert devices['eye'].vertical_field_of_view == pytest.approx(np.radians(60))
    assert any('attitude (framequat)' in warning for warning in body.description.warnings)


def test_shapes_are_seen_or_collide_as_the_file_says(tmp_path):
    """Contype and conaffinity tell what collides, groups what is seen."""
    geoms = """
    <geom type="box" size=".1 .2 .3" group="3" mass="0"/>
    <geom type="capsule" size=".1 .2" contype="0" conaffinity="0" rgba="1 0 0 1" mass="0"/>
    <geom type="ellipsoid" size=".1 .2 .3" mass="0" name="egg"/>
    <geom type="sphere" size=".1" group="4" contype="0" conaffinity="0" mass="0"/><freejoint/>"""
    body = load(tmp_path, WALKER.replace('<freejoint/>', geoms))
    shapes = body.root_link.description.shapes
    assert [(shape.geometry, shape.visual, shape.collision) for shape in shapes] == [
        (Box((0.2, 0.4, 0.6)), False, True),
        (Capsule(0.1, 0.4), True, False),
        (Ellipsoid((0.1, 0.2, 0.3)), True, True),
    ]
    assert shapes[1].color == (1.0, 0.0, 0.0, 1.0)
    assert shapes[2].name == 'egg'


OBJ = """v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"""


def test_mesh_is_where_the_file_puts_it(tmp_path):
    """MuJoCo moves a mesh to its centre; the shape has the place of the file's own frame."""
    (tmp_path / 'assets').mkdir()
    (tmp_path / 'assets' / 'tetra.obj').write_text(OBJ)
    text = WALKER.replace(
        '<worldbody>',
        '<compiler meshdir="assets"/><asset><mesh file="tetra.obj" scale=".1 .2 .3"/></asset>'
        '<worldbody>',
    ).replace(
        '<freejoint/>', '<freejoint/><geom type="mesh" mesh="tetra" pos="1 2 3" euler="0 0 90"/>'
    )
    shape = load(tmp_path, text).root_link.description.shapes[0]
    assert isinstance(shape.geometry, Mesh)
    assert shape.geometry.path == str(tmp_path / 'assets' / 'tetra.obj')
    assert shape.geometry.scale == (0.1, 0.2, 0.3)
    np.testing.assert_allclose(shape.translation, [1, 2, 3], atol=1e-9)
    np.testing.assert_allclose(shape.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-9)


def test_what_is_missing_is_told_in_a_line(tmp_path):
    """However much it is: many meshes, many sensors without a class."""
    meshes = ''.join(f'<mesh name="m{i}" file="m{i}.obj"/>' for i in range(9))
    shapes = ''.join(f'<geom type="mesh" mesh="m{i}"/>' for i in range(9))
    sensors = ''.join(f'<velocimeter name="v{i}" site="s"/>' for i in range(9))
    path = tmp_path / 'many.xml'
    path.write_text(
        f'<mujoco><asset>{meshes}</asset><worldbody><body name="a"><freejoint/><site name="s"/>'
        f'<geom size="0.1" name="ball"/>{shapes}</body></worldbody><sensor>{sensors}</sensor>'
        '<contact><pair geom1="ball" geom2="floor"/></contact></mujoco>'
    )
    told = load_body(path).description.warnings
    assert len(told) == 3
    first = (
        f"9 meshes are not there ({tmp_path}: 'm0.obj', 'm1.obj', 'm2.obj', 'm3.obj' and 5 more)"
    )
    assert told[0] == f'{first}; 9 shapes are left out, of bodies a'
    assert told[1].endswith(
        "they count in a world that has it, such as the simulation's own floor"
    )
    assert told[2].startswith('9 sensors without a device class are generic devices: v0 (')
    assert told[2].endswith(' and 5 more')


def test_missing_mesh_is_left_out_with_a_warning(tmp_path):
    """The robot still moves as it should; what is not seen is said."""
    text = WALKER.replace(
        '<worldbody>', '<asset><mesh name="lost" file="lost.obj"/></asset><worldbody>'
    ).replace('<freejoint/>', '<freejoint/><geom type="mesh" mesh="lost"/>')
    body = load(tmp_path, text)
    assert body.root_link.description.shapes == []
    assert any("mesh 'lost.obj' is not there" in line for line in body.description.warnings)


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('<mujoco><worldbody><geom size=".1"/></worldbody></mujoco>', 'nothing in it has a joint'),
        ('<mujoco><worldbody><bod/></worldbody></mujoco>', 'bod'),
        ('<mujoco><worldbody><body name="a"><joint/></body></worldbody></mujoco>', 'mass'),
        ('no xml', 'XML'),
    ],
)
def test_what_is_no_robot_is_refused_with_mujocos_words(tmp_path, text, message):
    """The error names the file and what is wrong."""
    with pytest.raises(ModelError, match=f'model.xml: .*{message}'):
        load(tmp_path, text)


def test_missing_file_is_named(tmp_path):
    """A path that leads nowhere is an error of its own."""
    with pytest.raises(ModelError, match='no such file'):
        load_body(tmp_path / 'nowhere.xml')


def test_a_urdf_in_an_xml_file_is_a_urdf(tmp_path):
    """By its root element: MuJoCo's own reader would drop the limits of the velocities."""
    inertial = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    path = tmp_path / 'robot.xml'
    path.write_text(
        f'<?xml version="1.0"?>\n<!-- mine -->\n<robot name="r"><link name="a">{inertial}</link>'
        f'<link name="b">{inertial}</link><joint name="j" type="revolute"><parent link="a"/>'
        '<child link="b"/><limit lower="-1" upper="1" effort="4" velocity="3"/></joint></robot>'
    )
    body = load_body(path, JointType.FIXED)
    assert body.dq_upper[0] == 3.0
    assert body.description.urdf
