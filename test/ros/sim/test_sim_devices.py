"""Simulated sensors out to DDS, and back in by the control node's decoders."""

import math

import numpy as np
import pinocchio as pin
import pytest
from fake_hardware import two_joint_body
from rclpy.qos import QoSProfile

from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    ImageType,
    Imu,
    PointLight,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
)
from cnoid_control.messages.cdr import read_stamp
from cnoid_control.messages.devices import kind_of
from cnoid_control.messages.frames import frame_of
from cnoid_control.ros.exceptions import RosError
from cnoid_control.ros.message_types import message_class
from cnoid_control.ros.raw_dds import open_subscription
from cnoid_control.ros.robot.device_readers import message_decoder
from cnoid_control.ros.sim.devices import make_publisher

STAMP = 12_345_000_678


def carried(device, translation=(0.0, 0.0, 0.0)):
    """Return the device on the upper arm of a robot that has moved."""
    body = two_joint_body()
    body.q[:] = [0.4, 0.0]
    body.calc_forward_kinematics()
    device.link = body.link('arm0')
    device.p_local[:] = translation
    return device


@pytest.fixture
def travel(ros_node, spin_until):
    """Return a function that publishes a device and returns what arrives."""

    def send(device, changed=False):
        message = kind_of(device).messages[0]
        publisher = make_publisher(ros_node, device, 'sensor', QoSProfile(depth=1))
        kind = message_class(message.schema)
        inbox = open_subscription(ros_node, kind, 'sensor', QoSProfile(depth=1))
        assert spin_until(lambda: publisher.outbox.reader_count)
        if changed:
            device.notify_state_change()
        received = []

        def arrived():
            if (data := inbox.take()) is not None:
                received.append(data)
            return bool(received)

        publisher.publish(STAMP)
        assert spin_until(arrived)
        assert read_stamp(received[0]) == STAMP
        decoded = message_decoder(message)(received[0])
        twin = device.clone()
        assert message.read(twin, decoded)
        return twin, decoded, publisher, inbox

    return send


@pytest.mark.parametrize('kind', [Imu, RateGyroSensor, AccelerationSensor])
def test_inertial_sensors_travel(travel, kind):
    """Rates and specific force arrive as sent; what a sensor does not measure is marked so."""
    device = carried(kind('sensor'))
    for name in device.measured_fields:
        getattr(device, name)[:] = np.random.default_rng(1).normal(size=3)
    twin, message, _, _ = travel(device)
    for name in device.measured_fields:
        np.testing.assert_array_equal(getattr(twin, name), getattr(device, name))
    assert (message['angular_velocity_covariance'][0] == -1.0) is not hasattr(device, 'w')
    assert (message['linear_acceleration_covariance'][0] == -1.0) is not hasattr(device, 'dv')
    turn = pin.Quaternion(message['orientation']).toRotationMatrix()
    np.testing.assert_allclose(turn, device.link.R, atol=1e-12)


def test_forces_travel(travel):
    """Force and torque arrive as sent."""
    device = carried(ForceSensor('sensor'))
    device.F[:] = [1.0, -2.0, 622.0, 0.1, 0.2, -0.3]
    twin, _, _, _ = travel(device)
    np.testing.assert_array_equal(twin.F, device.F)


@pytest.mark.parametrize('image_type', [ImageType.COLOR, ImageType.GRAYSCALE])
def test_pictures_travel_once(travel, image_type):
    """A picture arrives pixel by pixel, and is not sent again before there is a new one."""
    shape = (3, 5, 3) if image_type is ImageType.COLOR else (3, 5)
    device = carried(Camera('sensor', image_type=image_type, width=5, height=3))
    device.image = np.random.default_rng(2).integers(0, 255, shape, dtype=np.uint8)
    twin, _, publisher, inbox = travel(device, changed=True)
    np.testing.assert_array_equal(twin.image, device.image)
    publisher.publish(STAMP + 1)
    inbox.wait(0.1)
    assert inbox.take() is None


@pytest.mark.parametrize('organized', [True, False])
def test_point_clouds_travel(travel, organized):
    """Points arrive as sent, organized by rows or not."""
    device = carried(RangeCamera('sensor', organized=organized, width=4, height=2))
    device.points = np.random.default_rng(3).normal(size=(8, 3)).astype(np.float32)
    twin, cloud, _, _ = travel(device, changed=True)
    np.testing.assert_array_equal(twin.points, device.points)
    assert (cloud.width, cloud.height) == ((4, 2) if organized else (8, 1))


def test_scans_travel(travel):
    """Distances arrive as sent, nothing as infinity."""
    device = carried(RangeSensor('sensor', yaw_range=math.pi / 2, yaw_step=math.pi / 8))
    device.range_data = np.array([1.0, 2.0, np.inf, 4.0, 5.0])
    twin, _, _, _ = travel(device, changed=True)
    np.testing.assert_allclose(twin.range_data, device.range_data, rtol=1e-6)


def test_frames_name_where_the_values_are():
    """A sensor at its link's origin speaks in the link's frame, another in one of its own."""
    assert frame_of(carried(Imu('sensor'))) == 'arm0'
    assert frame_of(carried(Imu('sensor'), (0.0, 0.0, 0.1))) == 'sensor'


def test_what_measures_nothing_is_not_served(ros_node):
    """There is no message for a lamp; the error names it and what can be served."""
    lamp = carried(PointLight('lamp'))
    assert kind_of(lamp) is None
    with pytest.raises(RosError, match=r'lamp.*choose from: Imu'):
        make_publisher(ros_node, lamp, 'lamp', QoSProfile(depth=1))
