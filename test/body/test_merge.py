"""Several models as one body: names, places, dynamics, devices, and what is refused."""

import copy

import numpy as np
import pytest

from cnoid_control.body import Body, JointType, calc_mass_matrix, load_body
from cnoid_control.body.description import (
    BodyDescription,
    ContinuousTrack,
    ExtraJoint,
    ExtraJointType,
    LinkDescription,
    Material,
    Mimic,
    Posture,
)
from cnoid_control.body.devices import ForceSensor, Imu
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.merge import merge_descriptions, prefixed

ARM = 'package://cnoid_control/urdf/arm.urdf'
TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.fixture
def placed():
    """Two arms that stand apart, one of them turned, in postures of their own."""
    arms = {'left': load_body(ARM), 'right': load_body(ARM)}
    arms['left'].q[:] = [0.3, 0.5, -0.4, 1.1, 0.6, 0.8, -0.2]
    arms['right'].q[:] = [-0.1, 0.7, 0.2, 0.9, -0.3, 0.4, 0.5]
    arms['right'].root_link.p = [0.2, -0.7, 0.1]
    arms['right'].root_link.R = TURN
    for arm in arms.values():
        arm.calc_forward_kinematics()
    return arms


@pytest.fixture
def both(placed):
    """Give the two arms as one body."""
    return Body(
        merge_descriptions({name: arm.placed_description() for name, arm in placed.items()})
    )


def gripper():
    """Two fingers of which one follows the other, with sensors and a material."""
    links = [LinkDescription('palm', material='rubber')]
    for i, name in enumerate(('thumb', 'finger')):
        links.append(
            LinkDescription(
                name,
                parent='palm',
                joint_type=JointType.PRISMATIC,
                joint_id=i,
                mimic=Mimic('thumb', -1.0) if i else None,
            )
        )
    devices = [('palm', Imu('imu', id=0)), ('thumb', ForceSensor('tip', id=0))]
    devices.append(('finger', ForceSensor('other', id=1)))
    return BodyDescription(
        'gripper',
        links,
        devices,
        extra_joints=[ExtraJoint(ExtraJointType.BALL, ('thumb', 'finger'), name='tip')],
        tracks=[ContinuousTrack('belt', 'palm', ('thumb', 'finger'))],
        materials={'rubber': Material(0.9)},
        source='gripper.urdf',
        postures={'open': Posture({'thumb': 0.1, 'finger': -0.1})},
        warnings=['assumed'],
    )


def test_every_link_is_where_its_own_model_has_it(placed, both):
    """Names begin with the model's, joint ids go on, and poses are those of each arm alone."""
    assert both.joint_names == [f'{arm}_joint{i}' for arm in placed for i in range(1, 8)]
    assert both.is_fixed_root
    assert both.root_link.name == 'world'
    assert both.num_links == 1 + sum(arm.num_links for arm in placed.values())
    for name, arm in placed.items():
        for link in arm.links:
            merged = both.link(f'{name}_{link.name}')
            np.testing.assert_allclose(merged.T, link.T, atol=1e-12)


def test_arms_do_not_feel_each_other(placed, both):
    """The mass matrix of the whole is made of those of the arms."""
    mass = calc_mass_matrix(both)
    expected = [calc_mass_matrix(arm) for arm in placed.values()]
    np.testing.assert_allclose(mass[:7, :7], expected[0], atol=1e-12)
    np.testing.assert_allclose(mass[7:, 7:], expected[1], atol=1e-12)
    np.testing.assert_allclose(mass[:7, 7:], 0.0, atol=1e-12)
    assert both.mass == pytest.approx(sum(arm.mass for arm in placed.values()))


def test_everything_that_has_a_name_has_a_new_one():
    """Devices, mimic joints, materials and postures; the models themselves stay as they were."""
    model = gripper()
    before = copy.deepcopy(model)
    merged = merge_descriptions({'a': model, 'b': model}, 'hands')
    body = Body(merged)
    assert body.name == 'hands'
    assert body.joint_names == ['a_thumb', 'a_finger', 'b_thumb', 'b_finger']
    assert [device.name for device in body.devices] == [
        *('a_imu', 'a_tip', 'a_other'),
        *('b_imu', 'b_tip', 'b_other'),
    ]
    assert [device.id for device in body.devices] == [0, 0, 1, 1, 2, 3]
    assert body.devices[4].link is body.link('b_thumb')
    assert body.link('b_finger').description.mimic == Mimic('b_thumb', -1.0)
    assert body.link('a_palm').description.material == 'a_rubber'
    assert merged.materials == {'a_rubber': Material(0.9), 'b_rubber': Material(0.9)}
    assert merged.postures['open'].q == {
        'a_thumb': 0.1,
        'a_finger': -0.1,
        'b_thumb': 0.1,
        'b_finger': -0.1,
    }
    assert merged.extra_joints[1].links == ('b_thumb', 'b_finger')
    assert merged.extra_joints[1].name == 'b_tip'
    assert merged.tracks[1] == ContinuousTrack('b_belt', 'b_palm', ('b_thumb', 'b_finger'))
    assert merged.warnings == ['a: assumed', 'b: assumed']
    assert merged.source == 'gripper.urdf'
    assert [link.name for link in model.links] == [link.name for link in before.links]
    assert [device.name for _, device in model.devices] == ['imu', 'tip', 'other']


def test_no_name_stays_no_name():
    """A device without a name does not get that of the model alone."""
    assert prefixed('left', '') == ''


@pytest.mark.parametrize(
    ('name', 'change', 'message'),
    [
        ('', {}, "model name ''"),
        ('a/b', {}, "model name 'a/b': a word without slashes"),
        ('walker', {'floats': True}, 'walker: a robot with a floating base.*give base: fixed'),
        ('own', {'mjcf': 'scene.xml'}, 'own: an MJCF model cannot be one of several'),
    ],
)
def test_what_cannot_be_merged_is_refused_by_name(name, change, message):
    """Until physics and dynamics can do it."""
    model = gripper()
    if change.get('floats'):
        model.links[0].joint_type = JointType.FREE
    model.mjcf = change.get('mjcf', '')
    with pytest.raises(ModelError, match=message):
        merge_descriptions({name: model})


def test_names_that_become_one_are_refused():
    """`a_b` + `c` and `a` + `b_c` are the same name: nobody could tell the links apart."""

    def single(link):
        return BodyDescription('m', [LinkDescription(link)])

    with pytest.raises(ModelError, match="'a_b_c'"):
        Body(merge_descriptions({'a_b': single('c'), 'a': single('b_c')}))
