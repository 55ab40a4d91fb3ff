"""Turns rows of ticks into ROS 2 messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cnoid_control.body import Body, Device
from cnoid_control.hardware.channels import Channels
from cnoid_control.log import layouts
from cnoid_control.log.cdr_layout import CdrLayout, stamps, to_nanoseconds
from cnoid_control.log.device_messages import (
    data_messages,
    measurement_layout,
    split_measurements,
)
from cnoid_control.log.mcap_writer import Batch

if TYPE_CHECKING:
    from cnoid_control.runtime.recorder import LogBlock

# Input columns that have topics of their own; the others go to the topic `inputs`.
NAMED_INPUTS = ('q', 'dq', 'u', 'root_q')
COMMANDS = ('q_target', 'dq_target', 'u')


class LogEncoder:
    """Makes the messages of a block.

    Topics: `joint_states` (what was read), `commands` (what was sent), `controller_outputs` (what
    the controllers commanded, where the limits changed it), `root`, a topic a device, `inputs`
    (the exact time, and what of the state is in none of these) and `outputs` (what else the
    controllers commanded).
    """

    def __init__(
        self,
        body: Body,
        inputs: Channels,
        outputs: Channels,
        sensors: list[Device],
        topics: dict[str, str],
    ) -> None:
        """Lay the messages out.

        Args:
            body: body of the hardware.
            inputs: columns of what is read.
            outputs: columns of what is commanded.
            sensors: devices with measured numbers, in the order of their columns.
            topics: topics of devices by name, where other than the name.
        """
        names = joint_names(body)
        self._inputs = inputs.columns
        self._outputs = outputs.columns
        self._states = layouts.joint_state(names, 'u' in inputs.columns)
        self._commands = layouts.joint_state(names)
        self._root = layouts.odometry('world', body.root_link.name)
        self._more_inputs = _places(inputs, NAMED_INPUTS)
        self._more_outputs = _places(outputs, COMMANDS)
        self._tick = layouts.numbers(1 + len(self._more_inputs))
        self._rest = layouts.numbers(len(self._more_outputs))
        self._sensors = [(device, measurement_layout(device)) for device in sensors]
        self._topics = topics

    def encode(self, block: LogBlock) -> list[Batch]:
        """Messages of a block."""
        rows = block.rows
        times = to_nanoseconds(block.times[:rows])
        stamp = stamps(times)
        inputs, outputs, sent = block.inputs[:rows], block.outputs[:rows], block.sent[:rows]
        batches = [
            self._joint_states(times, stamp, inputs),
            self._joint_commands('commands', times, stamp, sent),
            self._odometry(times, stamp, inputs),
        ]
        tick = np.column_stack((block.times[:rows], inputs[:, self._more_inputs]))
        batches.append(_batch('inputs', self._tick, times, {'data': tick}))
        if len(self._more_outputs):
            values = {'data': outputs[:, self._more_outputs]}
            batches.append(_batch('outputs', self._rest, times, values))
        raw = np.concatenate([outputs[:, self._outputs[name]] for name in COMMANDS], axis=1)
        # By bits: the limits may have changed a NaN, which differs from itself, or a sign of 0.
        changed = (raw.view(np.uint64) != sent.view(np.uint64)).any(axis=1)
        batches.append(
            self._joint_commands(
                'controller_outputs', times[changed], stamp[changed], raw[changed]
            )
        )
        batches += self._measurements(block, times, stamp)
        batches += self._single_messages(block, times)
        return batches

    def _joint_states(self, times: np.ndarray, stamp: np.ndarray, inputs: np.ndarray) -> Batch:
        columns = self._inputs
        values = {
            'stamp': stamp,
            'position': inputs[:, columns['q']],
            'velocity': inputs[:, columns['dq']],
        }
        if 'u' in columns:
            values['effort'] = inputs[:, columns['u']]
        return _batch('joint_states', self._states, times, values)

    def _joint_commands(
        self, topic: str, times: np.ndarray, stamp: np.ndarray, commands: np.ndarray
    ) -> Batch:
        position, velocity, effort = np.split(commands, 3, axis=1)
        values = {'stamp': stamp, 'position': position, 'velocity': velocity, 'effort': effort}
        return _batch(topic, self._commands, times, values)

    def _odometry(self, times: np.ndarray, stamp: np.ndarray, inputs: np.ndarray) -> Batch:
        pose = inputs[:, self._inputs['root_q']]
        twist = inputs[:, self._inputs['root_motion']]
        # An Odometry's twist is in the axes of the child frame.
        local = [unrotate(pose[:, 3:], twist[:, :3]), unrotate(pose[:, 3:], twist[:, 3:])]
        values = {'stamp': stamp, 'pose': pose, 'twist': np.concatenate(local, axis=1)}
        return _batch('root', self._root, times, values)

    def _measurements(self, block: LogBlock, times: np.ndarray, stamp: np.ndarray) -> list[Batch]:
        batches, start = [], 0
        for index, (device, layout) in enumerate(self._sensors):
            size = sum(getattr(device, name).size for name in device.measured_fields)
            fresh = block.fresh[: block.rows, index]
            values = block.measurements[: block.rows][fresh, start : start + size]
            fields = split_measurements(device, values) | {'stamp': stamp[fresh]}
            topic = self._topics.get(device.name, device.name)
            batches.append(_batch(topic, layout, times[fresh], fields))
            start += size
        return batches

    def _single_messages(self, block: LogBlock, times: np.ndarray) -> list[Batch]:
        batches = []
        for row, device, data in block.data:
            topic = self._topics.get(device.name, device.name)
            batches += data_messages(device, topic, data, int(times[row]))
        numbers = [
            (row, f'{self._topics.get(device.name, device.name)}/command', state)
            for row, device, state in block.commands
        ]
        numbers += [(row, f'contacts/{link}', values) for row, link, values in block.contacts]
        numbers += block.fields
        for row, topic, values in numbers:
            # Where the run ended in mid tick, the last row was never finished.
            if row < len(times):
                layout = layouts.numbers(values.size)
                batches.append(_batch(topic, layout, times[row : row + 1], {'data': values[None]}))
        for row, topic, text in block.messages:
            if row < len(times):
                batches.append(_batch(topic, layouts.text(text), times[row : row + 1], {}))
        return batches


def joint_names(body: Body) -> list[str]:
    """Names of all joints in the order of the joint arrays; a hole in the ids gets a name."""
    return [joint.joint_name or f'joint_{slot}' for slot, joint in enumerate(body.all_joints)]


def unrotate(quaternions: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Vectors in the axes that the quaternions x y z w turn to, shapes (n, 4) and (n, 3)."""
    axis, w = -quaternions[:, :3], quaternions[:, 3:]
    twice = 2.0 * np.cross(axis, vectors)
    return vectors + w * twice + np.cross(axis, twice)


def _places(channels: Channels, named: tuple[str, ...]) -> np.ndarray:
    places = [
        np.arange(place.start, place.stop)
        for name, place in channels.columns.items()
        if name not in named
    ]
    return np.concatenate(places) if places else np.zeros(0, dtype=int)


def _batch(
    topic: str, layout: CdrLayout, times: np.ndarray, values: dict[str, np.ndarray]
) -> Batch:
    return Batch(topic, layout.schema, times, layout.encode(values, len(times)))
