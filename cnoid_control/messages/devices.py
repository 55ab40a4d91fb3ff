"""What each kind of device is on ROS and in a log: one table for reader, simulator and recorder.

A new kind of device needs one `DeviceKind` at the end of this file; CONTRIBUTING.md lists the
other places.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    ImageType,
    Imu,
    RangeCamera,
    RangeSensor,
    RateGyroSensor,
)
from cnoid_control.body.devices.base import Device
from cnoid_control.messages.layouts import NUMBERS, MessageLayout, StampedNumbers, is_stamped
from cnoid_control.messages.vision import (
    decode_image,
    decode_numbers,
    decode_points,
    decode_range,
    decode_scan,
    encode_grid,
    encode_image,
    encode_numbers,
    encode_points,
    encode_scan,
)
from cnoid_control.parameters import unknown_option

# A covariance whose first element is -1 says that there is no such estimate.
NO_ESTIMATE = (-1.0, *8 * (0.0,))


class MeasuredField(NamedTuple):
    """An array of a device that is measured in every tick.

    Attributes:
        attribute: attribute of the device.
        path: field of the message that holds it.
        covariance: field that begins with -1 where the message does not have it; empty for none.
    """

    attribute: str
    path: str
    covariance: str = ''


@dataclass(frozen=True)
class NumbersMessage:
    """A stamped message of fixed size, for devices that are measured in every tick.

    Attributes:
        schema: ROS type, `package/msg/Type`.
        fields: what of the device it holds.
        constants: fields that are always the same.
        orientation: field for the device's orientation in the world; empty where it has none.
    """

    schema: str
    fields: tuple[MeasuredField, ...]
    constants: Mapping[str, Any]
    orientation: str = ''

    is_large = False

    def layout(self, frame: str) -> MessageLayout:
        """Layout of the message with a frame."""
        return MessageLayout(self.schema, {'header.frame_id': frame, **self.constants})

    def read(self, device: Device, message: StampedNumbers) -> bool:
        """Copy a message into a device; False where it lacks a value or one is non-finite."""
        is_good = True
        for attribute, path, covariance in self.fields:
            values = getattr(device, attribute)
            values[:] = message[path]
            if not math.isfinite(values.dot(values)) or (
                covariance and message[covariance].item(0) == -1.0
            ):
                is_good = False
        return is_good


@dataclass(frozen=True)
class DataMessage:
    """A message of any size, for devices that measure at a rate of their own.

    Attributes:
        schema: ROS type, `package/msg/Type`.
        attribute: attribute of the device that it fills.
        decode: makes the attribute's value out of a message; raises MalformedMessage or
            ValueError where the message makes no sense. None for a message that is only written.
        encode: makes the message's fields out of the device and the attribute's value. None for
            a message that is only read.
        is_large: whether it is too large to be read in the loop thread.
        log_suffix: what its topic in a log has behind the device's topic.
    """

    schema: str
    attribute: str
    decode: Callable[[Any], np.ndarray] | None
    encode: Callable[[Any, np.ndarray], dict[str, Any]] | None
    is_large: bool = False
    log_suffix: str = ''

    def read(self, device: Device, message: Any) -> bool:
        """Put a message into a device.

        Raises:
            MalformedMessage, ValueError: the message makes no sense.
        """
        assert self.decode is not None
        setattr(device, self.attribute, self.decode(message))
        return True

    def layout(self, device: Device, frame: str, value: np.ndarray) -> MessageLayout:
        """Message of a value of the attribute; only its stamp is open."""
        assert self.encode is not None
        values = self.encode(device, value)
        if is_stamped(self.schema):
            values['header.frame_id'] = frame
        return MessageLayout(self.schema, values)


@dataclass(frozen=True)
class GridMessage(DataMessage):
    """A cloud that fills the grid of a range sensor, whatever the order of its points."""

    def read(self, device: Device, message: Any) -> bool:
        """Put the distance of the nearest point into each sample of a range sensor.

        Raises:
            MalformedMessage, ValueError: the message makes no sense.
        """
        assert isinstance(device, RangeSensor)
        points = decode_points(message).astype(float)
        points = points[np.isfinite(points).all(axis=1)]
        samples = device.samples_towards(points)
        distances = np.linalg.norm(points, axis=1)
        seen = (samples >= 0) & (distances <= device.max_distance)
        ranges = np.full(device.num_pitch_samples * device.num_yaw_samples, np.inf)
        np.minimum.at(ranges, samples[seen], distances[seen])
        device.range_data = ranges
        return True


class Stream(NamedTuple):
    """One topic of a device that is spread over several.

    Attributes:
        name: name of the stream; `DEVICE/NAME` sets its topic in a configuration.
        topic: default topic, relative; '{name}' stands for the device's name.
        messages: messages that can feed it; the first one is published by a simulated robot.
        exists: whether a device of the kind has it.
    """

    name: str
    topic: str
    messages: tuple[NumbersMessage | DataMessage, ...]
    exists: Callable[[Any], bool] = lambda device: True


class Broadcaster(NamedTuple):
    """The ros2_control broadcaster that publishes a kind of device.

    Attributes:
        type: its plugin.
        interfaces: the state interfaces that it reads.
    """

    type: str
    interfaces: tuple[str, ...]


@dataclass(frozen=True)
class DeviceKind:
    """What a kind of device is on ROS and in a log.

    Attributes:
        device_type: class of the devices.
        topic: default topic, relative; '{name}' stands for the device's name.
        messages: messages that can feed such a device; the first one is published by a simulated
            robot, and expected where the type of a topic is not known.
        log: messages that a log holds.
        broadcaster: broadcaster that publishes it in ros2_control; None for another node.
        applies: whether a device of that class is of this kind.
        more: further topics of the device.
    """

    device_type: type[Device]
    topic: str
    messages: tuple[NumbersMessage | DataMessage, ...]
    log: tuple[NumbersMessage | DataMessage, ...]
    broadcaster: Broadcaster | None = None
    applies: Callable[[Any], bool] = lambda device: True
    more: tuple[Stream, ...] = ()

    def streams(self, device: Device) -> list[Stream]:
        """All topics of a device, the main one first, without a name."""
        return [
            Stream('', self.topic, self.messages),
            *(stream for stream in self.more if stream.exists(device)),
        ]


def kind_of(device: Device) -> DeviceKind | None:
    """Kind of a device; None where no message carries such a device."""
    for device_type in type(device).__mro__:
        for kind in DEVICE_KINDS:
            if kind.device_type is device_type and kind.applies(device):
                return kind
    return None


def default_topic(device: Device) -> str:
    """Relative topic of a device that the configuration does not give one."""
    kind = kind_of(device)
    return (kind.topic if kind else '{name}').format(name=topic_name(device.name))


def topic_name(name: str) -> str:
    """Name of a device with no other characters than ROS allows in a topic."""
    parts = [part for part in re.sub(r'[^A-Za-z0-9_/]', '_', name).split('/') if part] or ['_']
    return '/'.join(f'_{part}' if part[0].isdigit() else part for part in parts)


def device_streams(device: Device, topics: Mapping[str, str]) -> list[tuple[str, Stream]]:
    """Topics of a device with their streams; none where no message carries such a device.

    Args:
        device: the device.
        topics: topics of a configuration, by the device's name, and `DEVICE/STREAM` for its
            further topics.
    """
    kind = kind_of(device)
    found = []
    for stream in kind.streams(device) if kind else ():
        key = f'{device.name}/{stream.name}' if stream.name else device.name
        default = stream.topic.format(name=topic_name(device.name))
        found.append((topics.get(key) or default, stream))
    return found


def topic_keys(devices: Iterable[Device]) -> list[str]:
    """Keys that a configuration may give topics of these devices under."""
    keys = []
    for device in devices:
        kind = kind_of(device)
        if kind is not None:
            keys.append(device.name)
            keys += [f'{device.name}/{stream.name}' for stream in kind.more]
    return keys


def require_devices_of(topics: Iterable[str], devices: Iterable[Device]) -> None:
    """Refuse topics of a configuration for devices that a robot does not have.

    Raises:
        ParameterError: there is one; the message names it and those that exist.
    """
    known = topic_keys(devices)
    for key in topics:
        if key not in known:
            raise unknown_option(f'devices.{key}', known)


# --- the table --------------------------------------------------------------------------------

IMU = 'sensor_msgs/msg/Imu'
VECTOR = 'geometry_msgs/msg/Vector3Stamped'
ANGULAR_VELOCITY = MeasuredField('w', 'angular_velocity', 'angular_velocity_covariance')
ACCELERATION = MeasuredField('dv', 'linear_acceleration', 'linear_acceleration_covariance')
IMU_TOPIC = 'imu_sensor_broadcaster/imu'
IMU_BROADCASTER = Broadcaster(
    'imu_sensor_broadcaster/IMUSensorBroadcaster',
    (
        *(f'orientation.{axis}' for axis in 'xyzw'),
        *(f'angular_velocity.{axis}' for axis in 'xyz'),
        *(f'linear_acceleration.{axis}' for axis in 'xyz'),
    ),
)
WRENCH = NumbersMessage(
    'geometry_msgs/msg/WrenchStamped', (MeasuredField('F', 'wrench'),), constants={}
)
IMAGE = DataMessage('sensor_msgs/msg/Image', 'image', decode_image, encode_image, is_large=True)
POINTS = DataMessage(
    'sensor_msgs/msg/PointCloud2', 'points', decode_points, encode_points, is_large=True
)
SCAN = DataMessage('sensor_msgs/msg/LaserScan', 'range_data', decode_scan, encode_scan)

GRID = GridMessage('sensor_msgs/msg/PointCloud2', 'range_data', None, encode_grid, is_large=True)
# A LaserScan has single precision; these are the numbers that the controller saw.
RANGES = DataMessage(NUMBERS, 'range_data', decode_numbers, encode_numbers, log_suffix='/ranges')

DEVICE_KINDS = (
    DeviceKind(
        Imu,
        IMU_TOPIC,
        messages=(NumbersMessage(IMU, (ANGULAR_VELOCITY, ACCELERATION), {}, 'orientation'),),
        log=(
            NumbersMessage(
                IMU, (ANGULAR_VELOCITY, ACCELERATION), {'orientation_covariance': NO_ESTIMATE}
            ),
        ),
        broadcaster=IMU_BROADCASTER,
    ),
    DeviceKind(
        RateGyroSensor,
        IMU_TOPIC,
        messages=(
            NumbersMessage(
                IMU, (ANGULAR_VELOCITY,), {ACCELERATION.covariance: NO_ESTIMATE}, 'orientation'
            ),
        ),
        log=(NumbersMessage(VECTOR, (MeasuredField('w', 'vector'),), {}),),
        broadcaster=IMU_BROADCASTER,
    ),
    DeviceKind(
        AccelerationSensor,
        IMU_TOPIC,
        messages=(
            NumbersMessage(
                IMU, (ACCELERATION,), {ANGULAR_VELOCITY.covariance: NO_ESTIMATE}, 'orientation'
            ),
        ),
        log=(NumbersMessage(VECTOR, (MeasuredField('dv', 'vector'),), {}),),
        broadcaster=IMU_BROADCASTER,
    ),
    DeviceKind(
        ForceSensor,
        '{name}_broadcaster/wrench',
        messages=(WRENCH,),
        log=(WRENCH,),
        broadcaster=Broadcaster(
            'force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster',
            (
                *(f'force.{axis}' for axis in 'xyz'),
                *(f'torque.{axis}' for axis in 'xyz'),
            ),
        ),
    ),
    # One with several rows is a cloud; a LaserScan has one.
    DeviceKind(
        RangeSensor,
        '{name}/points',
        messages=(GRID,),
        log=(GRID, RANGES),
        applies=lambda device: device.num_pitch_samples > 1,
    ),
    DeviceKind(
        RangeSensor,
        '{name}/scan',
        messages=(SCAN, DataMessage('sensor_msgs/msg/Range', 'range_data', decode_range, None)),
        log=(
            DataMessage(SCAN.schema, 'range_data', None, encode_scan),
            RANGES,
        ),
    ),
    DeviceKind(
        RangeCamera,
        '{name}/points',
        messages=(POINTS,),
        more=(
            Stream(
                'image',
                '{name}/image',
                (IMAGE,),
                lambda device: device.image_type is not ImageType.NONE,
            ),
        ),
        log=(
            POINTS,
            DataMessage(IMAGE.schema, 'image', decode_image, encode_image, log_suffix='/image'),
        ),
    ),
    DeviceKind(Camera, '{name}/image', messages=(IMAGE,), log=(IMAGE,)),
)
