"""The io: what is enabled by default, options, shared objects and mailboxes."""

from __future__ import annotations

import io as streams

import numpy as np
import pytest
from fake_hardware import two_joint_body

from cnoid_control import ControllerConfig, ControllerIO, StateFlag
from cnoid_control.body import Body, Device, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.plugin.exceptions import ControllerError
from cnoid_control.plugin.mailbox import Trigger, Value


@pytest.fixture
def io() -> ControllerIO:
    """Door to a two-joint arm."""
    return ControllerIO('tester', two_joint_body(), 0.01, os=streams.StringIO())


@pytest.mark.parametrize(
    ('mode', 'expected'),
    [
        (StateFlag.NONE, StateFlag.NONE),
        (StateFlag.JOINT_EFFORT, StateFlag.JOINT_DISPLACEMENT),
        (StateFlag.JOINT_DISPLACEMENT, StateFlag.JOINT_DISPLACEMENT),
        (StateFlag.JOINT_VELOCITY, StateFlag.JOINT_DISPLACEMENT),
        (StateFlag.LINK_POSITION, StateFlag.NONE),
        (StateFlag.LINK_EXT_WRENCH, StateFlag.LINK_POSITION),
    ],
)
def test_default_input_follows_the_actuation_mode(io, mode, expected):
    """enable_io reads q of a joint that is commanded, and the pose of a link that is pushed."""
    joint = io.body.joint(0)
    joint.actuation_mode = mode
    io.enable_io(joint)
    assert io.inputs == {'arm0': expected}
    assert io.outputs == {'arm0'}


def test_tracks_have_no_default_input():
    """A pseudo continuous track has no displacement to read."""
    track = LinkDescription(
        'track', 'root', joint_type=JointType.PSEUDO_CONTINUOUS_TRACK, joint_id=0
    )
    body = Body(BodyDescription('tank', [LinkDescription('root'), track]))
    io = ControllerIO('tester', body, 0.01)
    body.link('track').actuation_mode = StateFlag.JOINT_VELOCITY
    io.enable_io(body.link('track'))
    assert io.inputs == {'track': StateFlag.NONE}


def test_input_flags_add_up(io):
    """A second call adds to the first."""
    joint = io.body.joint(1)
    io.enable_input(joint, StateFlag.JOINT_VELOCITY)
    io.enable_input(joint, StateFlag.JOINT_EFFORT)
    assert io.inputs == {'arm1': StateFlag.JOINT_VELOCITY | StateFlag.JOINT_EFFORT}


def test_output_flags_set_the_mode_and_none_takes_it_back(io):
    """enable_output(link, NONE) means no output."""
    joint = io.body.joint(0)
    io.enable_output(joint, StateFlag.JOINT_VELOCITY)
    assert (joint.actuation_mode, io.outputs) == (StateFlag.JOINT_VELOCITY, {'arm0'})
    io.enable_output(joint, StateFlag.NONE)
    assert (joint.actuation_mode, io.outputs) == (StateFlag.NONE, set())


def test_links_and_devices_of_another_body_are_refused(io):
    """Enabling a link of the model body would silently do nothing."""
    other = two_joint_body()
    for call in (io.enable_io, io.enable_input, io.enable_output):
        with pytest.raises(ControllerError, match=r"'tester'.*arm0"):
            call(other.joint(0))
    with pytest.raises(ControllerError, match='gyro'):
        io.enable_input(Device('gyro'))


def test_options_come_in_three_forms():
    """A mapping is also a string and words; a string is parsed."""
    body = two_joint_body()
    io = ControllerIO('tester', body, 0.01, {'mode': 'torque', 'gain': 2.5})
    assert io.option_string == '{mode: torque, gain: 2.5}'
    assert io.structured_options == {'mode': 'torque', 'gain': 2.5}
    assert ControllerIO('tester', body, 0.01, 'fast "a b"').options == ['fast', 'a b']


def test_options_are_those_that_were_given_then():
    """What becomes of the mapping later does not show in the text, nor in a list within it."""
    given = {'joints': ['arm0']}
    io = ControllerIO('tester', two_joint_body(), 0.01, given)
    given['joints'].append('arm1')
    given['gain'] = 1.0
    assert io.option_string == '{joints: [arm0]}'


def test_options_that_are_no_mapping_are_reported(io):
    """structured_options is None then, with a message on os."""
    io.option_string = 'just words'
    assert io.structured_options is None
    assert "tester: option string 'just words'" in io.os.getvalue()


def test_shared_objects_are_made_once(io):
    """Who comes first makes it, the others find it."""
    assert io.find_shared_object('joystick') is None
    made = io.get_or_create_shared_object('joystick', lambda: ['new'])
    assert io.get_or_create_shared_object('joystick', lambda: ['other']) is made
    assert io.find_shared_object('joystick') is made


def test_mailbox_is_the_same_for_the_same_name(io):
    """Another kind of message under that name is refused."""
    box = io.mailbox('speed', Value, topic='speed')
    assert io.mailbox('speed', Value) is box
    with pytest.raises(ControllerError, match="'speed' takes Value already, not Trigger"):
        io.mailbox('speed', Trigger)


@pytest.mark.parametrize(
    ('name', 'topic'),
    [('set point', ''), ('speed', '1/speed'), ('speed', 'a//b'), ('speed', '~speed'), ('', '')],
)
def test_mailboxes_that_no_topic_can_feed_are_refused(io, name, topic):
    """The mailbox, the topic and the rule are named, and there is no such mailbox."""
    shown = topic or f'~/{name}'
    with pytest.raises(ControllerError, match=f"mailbox '{name}': '{shown}' is no topic name"):
        io.mailbox(name, Value, topic)
    assert io.mailboxes == {}
    for good in ('', 'speed', '/left/speed', '~/speed_2'):
        assert io.mailbox(f'speed{len(io.mailboxes)}', Value, good).topic.endswith(good)


def test_log_keeps_a_copy(io):
    """The controller may go on with its array."""
    values = np.array([1.0, 2.0])
    io.log('error', values)
    values[:] = 0.0
    np.testing.assert_array_equal(io.log_fields['error'], [1.0, 2.0])


def test_holes_in_the_joint_ids_carry_nothing():
    """Enabling all of `body.joints` leaves out what only fills a hole."""
    links = [
        LinkDescription('base', joint_type=JointType.FIXED),
        LinkDescription('arm', 'base', joint_type=JointType.REVOLUTE, joint_id=1),
    ]
    io = ControllerIO('tester', Body(BodyDescription('r', links)), 0.01)
    for joint in io.body.joints:
        joint.actuation_mode = StateFlag.JOINT_EFFORT
        io.enable_io(joint)
    assert io.inputs == {'arm': StateFlag.JOINT_DISPLACEMENT}
    assert io.outputs == {'arm'}


def test_configuration_knows_the_time_step():
    """Choreonoid's config has the members of its io."""
    config = ControllerConfig('tester', two_joint_body(), time_step=0.01)
    assert config.time_step == 0.01
    assert config.current_time == 0.0


@pytest.mark.parametrize(
    'name', ['no_delay_mode', 'is_no_delay_mode', 'immediate_mode', 'is_immediate_mode']
)
def test_no_delay_mode_has_its_old_names(io, name):
    """Whichever name it is set by, it is one switch."""
    assert not io.no_delay_mode
    setattr(io, name, True)
    assert io.no_delay_mode
    assert io.is_no_delay_mode
    assert io.immediate_mode
    assert io.is_immediate_mode
