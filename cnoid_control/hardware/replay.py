"""Recorded inputs as a robot."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cnoid_control.body import Body, ContactPoint, Device, StateFlag
from cnoid_control.exceptions import choices
from cnoid_control.hardware.channels import Channels, input_channels
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.hardware import Hardware, IORequest
from cnoid_control.hardware.registry import HardwareKind
from cnoid_control.log.device_messages import MeasurementCodec, data_topics, decode_data
from cnoid_control.log.exceptions import LogError
from cnoid_control.log.reader import LogFile
from cnoid_control.messages import layouts
from cnoid_control.parameters import parameter


@dataclass
class ReplayParameters:
    """The log that is played."""

    file: Path = parameter(description='log file of the run')


class ReplayHardware(Hardware):
    """Gives the states of a log, tick by tick, to the bit; commands go nowhere.

    Attributes:
        name: 'replay'.
        body: the robot's state and the commands for it.
        time_step: period of a tick [s].
        time: time of the last state read [s].
        log: the log file.
        ticks: number of ticks in the log.
    """

    name = 'replay'

    def __init__(self, body: Body, parameters: ReplayParameters, time_step: float) -> None:
        """Read the log of a run.

        Args:
            body: the robot, where and as it started.
            parameters: options.
            time_step: period of a tick [s].

        Raises:
            LogError: the file is no log of a run.
        """
        self.body = body
        self.time_step = time_step
        self.time = 0.0
        self.log = LogFile(parameters.file)
        metadata = self.log.metadata.get('cnoid_control', {})
        if 'columns' not in metadata or 'joint_states' not in self.log.topics:
            raise LogError(f'{parameters.file}: is not the log of a run of cnoid_control')
        self._columns: dict[str, list[int]] = json.loads(metadata['columns'])['inputs']
        self._tick_of = {int(ns): k for k, ns in enumerate(self.log.times('joint_states'))}
        self.ticks = len(self._tick_of)
        self._next = 0
        self._rows = np.zeros((0, 0))
        self._channels: Channels | None = None
        self._changes: dict[int, list[tuple[Device, dict[str, np.ndarray]]]] = {}
        self._contacts: dict[int, list[tuple[str, np.ndarray]]] = {}

    def open(self, request: IORequest) -> None:
        """Find everything that the controllers read in the log.

        Raises:
            HardwareError: something was not recorded, because nobody read it then.
        """
        self._channels = input_channels(self.body, request)
        self._load_rows(self._channels)
        self._changes = {}
        for name in sorted(request.devices):
            self._load_device(next(one for one in self.body.devices if one.name == name))
        self._contacts = {}
        for name, flags in request.inputs.items():
            if flags & StateFlag.LINK_CONTACT_STATE:
                self._load_contacts(name)

    def _load_rows(self, channels: Channels) -> None:
        recorded = self._recorded_columns()
        self._times = recorded['time'][:, 0]
        self._rows = np.zeros((self.ticks, channels.width))
        for name, place in channels.columns.items():
            if name not in recorded:
                raise self._not_recorded(name, recorded)
            self._rows[:, place] = recorded[name]

    def _not_recorded(self, channel: str, known: Iterable[str]) -> HardwareError:
        return HardwareError(f'{self.log.path}: {channel!r} was not recorded; {choices(known)}')

    def _recorded_columns(self) -> dict[str, np.ndarray]:
        log = self.log
        columns = self._columns
        joints = [joint.joint_name or f'joint_{i}' for i, joint in enumerate(self.body.all_joints)]
        states = layouts.joint_state(joints, with_effort='u' in columns)
        rows = log.rows('joint_states')
        if rows.shape[1] != states.length:
            raise LogError(f'{log.path}: is not of robot {self.body.name!r}')
        odometry = layouts.odometry('world', self.body.root_link.name)
        data = layouts.numbers_in(log.rows('inputs'))
        recorded = {
            'time': data[:, :1],
            'q': states.decode(rows, 'position'),
            'dq': states.decode(rows, 'velocity'),
            'root_q': odometry.decode(log.rows('root'), 'pose.pose'),
        }
        if 'u' in columns:
            recorded['u'] = states.decode(rows, 'effort')
        start = 1
        for name, (first, end) in columns.items():
            if name not in recorded:
                recorded[name] = data[:, start : start + end - first]
                start += end - first
        return recorded

    def _load_device(self, device: Device) -> None:
        topic = self._topic(device)
        if device.measured_fields and topic in self.log.topics:
            codec = MeasurementCodec(device)
            values = codec.decode(self.log.rows(topic))
            for time, row in zip(self.log.times(topic), values, strict=True):
                fields = {name: row[place] for name, place in codec.attributes.items()}
                self._note(device, int(time), fields)
        for data_topic, message in data_topics(device, topic).items():
            if data_topic in self.log.topics:
                for time, data in zip(
                    self.log.times(data_topic), self.log.messages(data_topic), strict=True
                ):
                    value = decode_data(message, data)
                    self._note(device, int(time), {message.attribute: value})

    def _topic(self, device: Device) -> str:
        metadata = self.log.metadata['cnoid_control']
        return json.loads(metadata.get('topics', '{}')).get(device.name, device.name)

    def _note(self, device: Device, time: int, fields: dict[str, np.ndarray]) -> None:
        changes = self._changes.setdefault(self._tick_of[time], [])
        for other, known in changes:
            if other is device:
                known.update(fields)
                return
        changes.append((device, fields))

    def _load_contacts(self, link: str) -> None:
        topic = f'contacts/{link}'
        if topic not in self.log.topics:
            raise self._not_recorded(topic, self.log.topics)
        for time, message in zip(self.log.times(topic), self.log.messages(topic), strict=True):
            values = layouts.numbers_in(np.frombuffer(message, np.uint8)[None])[0]
            self._contacts.setdefault(self._tick_of[int(time)], []).append((link, values))

    def read(self) -> bool:
        """Take over the next state of the log; False behind the last one."""
        tick = self._next
        if tick == self.ticks or self._channels is None:
            return False
        self._next += 1
        self.time = float(self._times[tick])
        self._channels.put(self._rows[tick])
        for device, fields in self._changes.get(tick, ()):
            for name, value in fields.items():
                if name in device.measured_fields:
                    getattr(device, name)[:] = value
                else:
                    setattr(device, name, value.copy())
            device.notify_state_change()
        for link, numbers in self._contacts.get(tick, ()):
            self.body.link(link).contact_points = [
                ContactPoint(row[:3], row[3:6], row[6:9], row[9:12], float(row[12]))
                for row in numbers.reshape(-1, 13).copy()
            ]
        return True

    def write(self) -> None:
        """Commands change nothing any more."""

    def close(self) -> None:
        """Nothing is left open."""


def _create(
    body: Body, parameters: ReplayParameters, time_step: float, devices: Mapping[str, str]
) -> Hardware:
    return ReplayHardware(body, parameters, time_step)


REPLAY = HardwareKind(
    'a recorded run: its states are read again, commands have no effect',
    ReplayParameters,
    _create,
)
