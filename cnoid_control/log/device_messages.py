"""Devices in a log: their messages by the table of device kinds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cnoid_control.body import Device
from cnoid_control.log.writer import Batch
from cnoid_control.messages import layouts
from cnoid_control.messages.cdr import parse_message
from cnoid_control.messages.devices import DataMessage, NumbersMessage, kind_of
from cnoid_control.messages.frames import frame_of
from cnoid_control.messages.layouts import MessageLayout, is_stamped, stamps


class MeasurementCodec:
    """Messages of the numbers that a device measures in every tick.

    Devices of a kind that the table does not have are std_msgs/Float64MultiArray.

    Attributes:
        layout: the message.
        size: how many numbers the device measures.
        attributes: the device's attributes that hold them, each with its place in a row of them.
    """

    def __init__(self, device: Device) -> None:
        kind = kind_of(device)
        messages = [] if kind is None else kind.log
        numbers = next((one for one in messages if isinstance(one, NumbersMessage)), None)
        self.size = 0
        self.attributes: dict[str, slice] = {}
        for name in device.measured_fields:
            start, self.size = self.size, self.size + getattr(device, name).size
            self.attributes[name] = slice(start, self.size)
        # Fields of the message, each with its place in a row.
        self._paths = {'data': slice(0, self.size)}
        if numbers is not None:
            self._paths = {
                field.path: self.attributes[field.attribute] for field in numbers.fields
            }
        self.layout = numbers.layout(frame_of(device)) if numbers else layouts.numbers(self.size)

    def encode(self, rows: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Messages of rows of measured numbers, shape (n, size), at these times [ns]."""
        values = {path: rows[:, place] for path, place in self._paths.items()}
        if is_stamped(self.layout.schema):
            values['header.stamp'] = stamps(times)
        return self.layout.encode(values, len(times))

    def decode(self, messages: np.ndarray) -> np.ndarray:
        """Rows of measured numbers, shape (n, size), out of messages, one per row."""
        rows = np.empty((len(messages), self.size))
        for path, place in self._paths.items():
            rows[:, place] = self.layout.decode(messages, path)
        return rows


def data_messages(
    device: Device, topic: str, data: dict[str, np.ndarray], time: int
) -> Iterator[Batch]:
    """Messages of what a device that measures at a rate of its own has measured.

    Args:
        device: the device.
        topic: its topic.
        data: its data fields at the time.
        time: the time [ns].
    """
    times = np.array([time], dtype=np.uint64)
    for message in _data_log(device):
        layout = message.layout(device, frame_of(device), data[message.attribute])
        yield _batch(layout, topic + message.log_suffix, times)


def _batch(layout: MessageLayout, topic: str, times: np.ndarray) -> Batch:
    stamp = {'header.stamp': stamps(times)} if is_stamped(layout.schema) else {}
    return Batch(topic, layout.schema, times, layout.encode(stamp, 1))


def data_topics(device: Device, topic: str) -> dict[str, DataMessage]:
    """Topics that hold a device's data fields without loss, with their messages."""
    return {
        topic + message.log_suffix: message
        for message in _data_log(device)
        if message.decode is not None
    }


def decode_data(message: DataMessage, data: bytes) -> np.ndarray:
    """Data field of a device from its message.

    Raises:
        MalformedMessage: the bytes are not such a message.
    """
    assert message.decode is not None
    return message.decode(parse_message(message.schema, data)).copy()


def _data_log(device: Device) -> list[DataMessage]:
    kind = kind_of(device)
    return [] if kind is None else [one for one in kind.log if isinstance(one, DataMessage)]
