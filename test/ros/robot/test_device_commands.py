"""Devices that a controller changes, on topics; the simulated robot obeys them."""

import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from mujoco_rig import Rig, write_arm
from rclpy.validate_topic_name import validate_topic_name
from robot_rig import effort_request
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from cnoid_control.body import Body, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.devices import Camera, ForceSensor, RangeSensor, SpotLight
from cnoid_control.messages.device_commands import (
    apply_device_command,
    command_topic,
    encode_device_command,
)
from cnoid_control.messages.exceptions import MalformedMessage
from cnoid_control.ros.exceptions import RobotError
from cnoid_control.ros.sim.devices import DeviceInputs


def message_of(**fields):
    """Return a command that changes these fields."""
    sizes = [len(values) for values in fields.values()]
    dimensions = [
        MultiArrayDimension(label=name, size=size, stride=size)
        for name, size in zip(fields, sizes, strict=True)
    ]
    data = [float(value) for values in fields.values() for value in values]
    return Float64MultiArray(layout=MultiArrayLayout(dim=dimensions), data=data)


@pytest.mark.parametrize('device', [SpotLight('a'), Camera('a'), ForceSensor('a')], ids=repr)
def test_a_command_holds_all_that_a_controller_can_change(device):
    """Real ROS reads it; another device that takes it is in the same state."""
    from rclpy.serialization import deserialize_message

    other = type(device)('a')
    device.on = False
    for number, name in enumerate(device.command_fields[1:], 2):
        value = getattr(device, name)
        setattr(device, name, value * 0.0 + number if hasattr(value, 'shape') else float(number))
    message = deserialize_message(encode_device_command(device), Float64MultiArray)
    assert [one.label for one in message.layout.dim] == list(device.command_fields)
    apply_device_command(other, message)
    assert other.read_state().tolist() == device.read_state().tolist()
    assert other.on is False


@pytest.mark.parametrize(
    ('fields', 'words'),
    [
        ({'colour': [1, 0, 0]}, "'colour' cannot be changed; choose from: on, color"),
        ({'color': [1, 0]}, "'color' has 3 numbers, got 2"),
        ({'intensity': [float('nan')]}, 'non-finite'),
        ({'intensity': [-1.0]}, "intensity of 'lamp' is -1.0, not within 0 and 1e\\+06"),
        (
            {'on': [0.0], 'cut_off_angle': [1e300]},
            "cut_off_angle of 'lamp' is",
        ),
        ({}, 'fields none'),
    ],
)
def test_a_command_that_makes_no_sense_changes_nothing(fields, words):
    """It is refused by name."""
    lamp = SpotLight('lamp')
    before = lamp.read_state()
    with pytest.raises(MalformedMessage, match=words):
        apply_device_command(lamp, message_of(**fields))
    assert lamp.read_state().tolist() == before.tolist()


def test_topics_have_names_that_ros_allows():
    """Whatever the model calls its devices."""
    assert command_topic(SpotLight('lamp')) == 'lamp/command'
    assert command_topic(SpotLight('2nd lamp-left')) == '_2nd_lamp_left/command'
    for name in ('', '/', '/front//2/lamp', 'Lampe über Tür', '$(x)', '~lamp'):
        assert validate_topic_name(command_topic(SpotLight(name)))


def test_a_change_is_sent_once_and_a_measurement_never(rig):
    """The topic is advertised when the first change is made."""
    body = rig.body([SpotLight('lamp'), ForceSensor('force')])
    hardware = rig.hardware(body)
    lamp, force = body.devices
    messages = rig.listen(Float64MultiArray, 'lamp/command')
    rig.open(hardware, effort_request(body))
    force.F[:] = 3.0
    force.notify_state_change()
    lamp.on = False
    lamp.notify_state_change()
    rig.wait(lambda: messages)
    lamp.notify_state_change()
    lamp.intensity = 0.5
    lamp.notify_state_change()
    rig.wait(lambda: len(messages) > 1)
    topics = dict(rig.node.get_publisher_names_and_types_by_node('cnoid_control', '/'))
    assert '/lamp/command' in topics
    assert '/force/command' not in topics
    assert len(messages) == 2
    assert [list(message.data)[:5] for message in messages] == [
        [0.0, 1.0, 1.0, 1.0, 1.0],
        [0.0, 1.0, 1.0, 1.0, 0.5],
    ]


def test_an_enabled_output_needs_somebody_who_obeys(rig):
    """Opening fails and names the device and the topic; with a driver the state is sent."""
    body = rig.body([SpotLight('lamp')])
    deaf = rig.hardware(body, startup_timeout=1.0)
    with pytest.raises(RobotError, match="device 'lamp': nobody subscribes '/lamp/command'"):
        rig.open(deaf, effort_request(body, device_outputs={'lamp'}))
    rig.silence()
    messages = rig.listen(Float64MultiArray, 'lamp/command')
    body = rig.body([SpotLight('lamp', intensity=0.75)])
    rig.open(rig.hardware(body), effort_request(body, device_outputs={'lamp'}))
    rig.wait(lambda: messages)
    assert messages[0].data[4] == 0.75


def test_the_simulated_robot_obeys(ros_context, ros_node, spin_until, tmp_path):
    """A lamp that is switched by a message is dark; a field that it lacks is refused."""
    config = write_arm(tmp_path)
    model = tmp_path / 'arm.urdf'
    lamp = '<cnoid_control><device name="lamp" type="PointLight" link="lower"/></cnoid_control>'
    model.write_text(model.read_text().replace('</robot>', f'{lamp}</robot>'))
    rig = Rig(ros_context, ros_node, spin_until, config)
    try:
        device = rig.robot.body.devices[0]
        light = rig.robot.hardware._mapping.devices.light('lamp')
        publisher = ros_node.create_publisher(Float64MultiArray, 'lamp/command', 10)
        assert spin_until(publisher.get_subscription_count)
        publisher.publish(message_of(on=[0], color=[0.5, 0.25, 0.0]))
        assert spin_until(lambda: not device.on)
        assert spin_until(lambda: not rig.robot.hardware.model.light_active[light])
        assert device.color.tolist() == [0.5, 0.25, 0.0]
        publisher.publish(message_of(volume=[1]))
        publisher.publish(message_of(intensity=[0.5]))
        assert spin_until(lambda: device.intensity == 0.5)
    finally:
        assert rig.close() == ''


@pytest.mark.parametrize(
    ('device', 'fields', 'words'),
    [
        (Camera('a'), {'near': [0.0]}, 'near .* not within 1e-06'),
        (Camera('a'), {'near': [300.0]}, 'not below far, 200'),
        (Camera('a'), {'frame_rate': [-1.0]}, 'frame_rate .* not within'),
        (Camera('a'), {'delay': [1e9]}, 'delay .* not within 0 and 10'),
        (Camera('a'), {'field_of_view': [0.0]}, 'field_of_view .* not within'),
        (RangeSensor('a'), {'yaw_step': [0.0]}, 'yaw_step .* not within'),
        (RangeSensor('a'), {'yaw_step': [1e-6], 'pitch_range': [3.0]}, 'more than 2000000'),
        (RangeSensor('a'), {'detection_rate': [2.0]}, 'detection_rate .* not within 0 and 1'),
    ],
    ids=str,
)
def test_what_would_end_the_simulation_is_refused(device, fields, words):
    """One message must not have MuJoCo end the process, or fill the memory."""
    before = device.read_state().tolist()
    with pytest.raises(MalformedMessage, match=words):
        apply_device_command(device, message_of(**fields))
    assert device.read_state().tolist() == before


def test_a_field_that_is_given_twice_is_refused():
    """Nobody could say which one counts."""
    message = message_of(on=[0.0])
    message.layout.dim.append(message.layout.dim[0])
    message.data.append(1.0)
    with pytest.raises(MalformedMessage, match="'on' is given twice"):
        apply_device_command(Camera('a'), message)


def test_a_flood_of_commands_does_not_fill_the_memory(ros_node):
    """While the simulation stands, so many wait and no more; then they are obeyed in order."""
    lamp = SpotLight('lamp')
    root = LinkDescription('root', joint_type=JointType.FREE)
    body = Body(BodyDescription('lamp', [root], [('root', lamp)]))
    calls = []
    inputs = DeviceInputs(ros_node, body, calls.append)
    device = body.devices[0]
    for number in range(100):
        inputs._take(device, message_of(intensity=[float(number)]))
    assert len(calls) == 10
    for call in calls:
        call()
    assert device.intensity == 9.0
    calls.clear()
    inputs._take(device, message_of(intensity=[0.5]))
    calls[0]()
    assert device.intensity == 0.5
