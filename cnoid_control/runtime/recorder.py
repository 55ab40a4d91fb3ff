"""Recording of each tick into a log file."""

from __future__ import annotations

import json
import queue
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from cnoid_control.body import Body, Device, StateFlag
from cnoid_control.body.body import BodyState
from cnoid_control.body.channels import COMMAND_ARRAYS
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.robot_description import robot_description, to_text
from cnoid_control.body.rotations import rotation_matrix
from cnoid_control.body.value_rows import ValueRows
from cnoid_control.hardware.channels import Channels, input_channels, output_channels
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.log.device_messages import MeasurementCodec, data_messages
from cnoid_control.log.model_files import model_attachments
from cnoid_control.log.writer import Batch, McapWriter
from cnoid_control.messages import layouts
from cnoid_control.messages.frames import TF, THINGS, WORLD, FrameMessage, world_frames
from cnoid_control.messages.layouts import MessageLayout, stamps, to_nanoseconds
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import Mailbox, Message, message_to_text

ROOT_ARRAYS = ('root_q', 'root_motion', 'root_acceleration', 'external_wrenches')


def state_to_text(body: Body) -> str:
    """JSON of a body's state."""
    state = body.save_state()
    values = {name: array.tolist() for name, array in state.joints.items()}
    values |= {name: getattr(state, name).tolist() for name in ROOT_ARRAYS}
    return json.dumps(values)


def restore_state_text(body: Body, text: str) -> None:
    """Put a body into a state given as text; one that it is in already is left untouched."""
    if state_to_text(body) == text:
        return
    values = {name: np.array(value, dtype=float) for name, value in json.loads(text).items()}
    root: dict[str, Any] = {name: values.pop(name) for name in ROOT_ARRAYS}
    body.restore_state(BodyState(joints=values, **root))


# Topic of the controller that has the robot, noted when it changes.
CONTROLLER = 'controller'
# Times per second at which the poses of all links are noted; joint states are in every tick.
FRAME_RATE = 30.0


def description_text(body: Body) -> str:
    """URDF of a robot for the programs that read the log; empty where there is none."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            return to_text(robot_description(body.description, Path(folder)))
    except ModelError:
        return ''


# Input columns that have topics of their own; the others go to the topic `inputs`.
NAMED_INPUTS = ('q', 'dq', 'u', 'root_q')


class LogEncoder:
    """Makes the messages of a block.

    Topics: `joint_states` (what was read), `commands` (what was sent), `controller_outputs` (what
    the controllers commanded, where the limits changed it), `root`, one topic per device, `inputs`
    (the exact time, and what of the state is in none of these), `outputs` (what else the
    controllers commanded), `tf` and `things` (poses of the links, and of what else moves, at
    `FRAME_RATE`), `robot_description`, `pushes`, and what the controllers log of their own.
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
        self._decode = inputs.decode, outputs.decode
        self._inputs = inputs.columns
        self._outputs = outputs.columns
        self._sent = sent_rows(body)
        self._states = layouts.joint_state(names, with_effort='u' in inputs.columns)
        self._commands = layouts.joint_state(names)
        self._root = layouts.odometry(WORLD, body.root_link.name)
        self._more_inputs = other_columns(inputs, NAMED_INPUTS)
        self._more_outputs = other_columns(outputs, COMMAND_ARRAYS)
        self._tick = layouts.numbers(1 + len(self._more_inputs))
        self._rest = layouts.numbers(len(self._more_outputs))
        self._sensors = [(device, MeasurementCodec(device)) for device in sensors]
        self._topics = topics
        # Poses are computed on a body of the writer's own.
        self._shown = body.clone()
        self._frames = FrameMessage(self._shown)
        self._next_frame = 0.0
        self._description = description_text(body)

    def encode(self, block: LogBlock) -> list[Batch]:
        """Messages of a block."""
        rows = block.rows
        seconds = np.array(block.times[:rows])
        times = to_nanoseconds(seconds)
        stamp = stamps(times)
        decode_inputs, decode_outputs = self._decode
        inputs, outputs = decode_inputs(block.inputs[:rows]), decode_outputs(block.outputs[:rows])
        sent = self._sent.decode(block.sent[:rows], rows)
        batches = [
            self._joint_states(times, stamp, inputs),
            self._joint_commands('commands', times, stamp, sent),
            self._odometry(times, stamp, inputs),
        ]
        tick = np.column_stack((seconds, inputs[:, self._more_inputs]))
        batches.append(_batch('inputs', self._tick, times, {'data': tick}))
        if len(self._more_outputs):
            values = {'data': outputs[:, self._more_outputs]}
            batches.append(_batch('outputs', self._rest, times, values))
        raw = np.concatenate([outputs[:, self._outputs[name]] for name in COMMAND_ARRAYS], axis=1)
        # By bits: the limits may have changed a NaN, which differs from itself, or a sign of 0.
        changed = (raw.view(np.uint64) != sent.view(np.uint64)).any(axis=1)
        batches.append(
            self._joint_commands(
                'controller_outputs', times[changed], stamp[changed], raw[changed]
            )
        )
        batches += self._measurements(block, times)
        batches += self._single_messages(block, times)
        batches += self._link_frames(block, inputs, times)
        batches += [_thing_frames(times[row], things) for row, things in block.things]
        if self._description:
            layout = MessageLayout(layouts.TEXT, {'data': self._description})
            batches.append(_batch('robot_description', layout, times[:1], {}))
            self._description = ''
        return batches

    def _link_frames(self, block: LogBlock, inputs: np.ndarray, times: np.ndarray) -> list[Batch]:
        if not self._frames.frames:
            return []
        rows, shown = [], self._shown
        for row in range(block.rows):
            if block.times[row] < self._next_frame:
                continue
            self._next_frame = block.times[row] + (1.0 - 1e-6) / FRAME_RATE
            shown.configuration[:7] = inputs[row, self._inputs['root_q']]
            shown.set_root_axes(rotation_matrix(shown.root_q[3:]))
            shown.q[:] = inputs[row, self._inputs['q']][: shown.num_joints]
            rows.append((row, self._frames.encode(int(times[row]))))
        if not rows:
            return []
        messages = np.frombuffer(b''.join(data for _, data in rows), np.uint8)
        chosen = np.array([row for row, _ in rows])
        return [Batch('tf', TF, times[chosen], messages.reshape(len(rows), -1))]

    def _joint_states(self, times: np.ndarray, stamp: np.ndarray, inputs: np.ndarray) -> Batch:
        columns = self._inputs
        values = {
            'header.stamp': stamp,
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
        values = {'position': position, 'velocity': velocity, 'effort': effort}
        return _batch(topic, self._commands, times, values | {'header.stamp': stamp})

    def _odometry(self, times: np.ndarray, stamp: np.ndarray, inputs: np.ndarray) -> Batch:
        pose = inputs[:, self._inputs['root_q']]
        twist = inputs[:, self._inputs['root_motion']]
        # An Odometry's twist is in the axes of the child frame.
        local = [unrotate(pose[:, 3:], twist[:, :3]), unrotate(pose[:, 3:], twist[:, 3:])]
        values = {'pose.pose': pose, 'twist.twist': np.concatenate(local, axis=1)}
        return _batch('root', self._root, times, values | {'header.stamp': stamp})

    def _measurements(self, block: LogBlock, times: np.ndarray) -> list[Batch]:
        batches, start = [], 0
        for index, (device, codec) in enumerate(self._sensors):
            fresh = block.fresh[: block.rows, index]
            values = block.measurements[: block.rows][fresh, start : start + codec.size]
            rows = codec.encode(values, times[fresh])
            topic = self._topics.get(device.name, device.name)
            batches.append(Batch(topic, codec.layout.schema, times[fresh], rows))
            start += codec.size
        return batches

    def _single_messages(self, block: LogBlock, times: np.ndarray) -> list[Batch]:
        batches: list[Batch] = []
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
                layout = MessageLayout(layouts.TEXT, {'data': text})
                batches.append(_batch(topic, layout, times[row : row + 1], {}))
        return batches


def sent_rows(body: Body) -> ValueRows:
    """Rows of the joint commands that go to the robot."""
    return ValueRows(body, [body.joint_arrays[name] for name in COMMAND_ARRAYS])


def _thing_frames(time: np.ndarray, things: dict[str, np.ndarray]) -> Batch:
    layout = world_frames(list(things))
    times = np.array([time], dtype=np.uint64)
    values = {
        f'transforms.{index}.transform': pose[None] for index, pose in enumerate(things.values())
    }
    values |= {f'transforms.{index}.header.stamp': stamps(times) for index in range(len(things))}
    return _batch(THINGS, layout, times, values)


def joint_names(body: Body) -> list[str]:
    """Names of all joints in the order of the joint arrays; a hole in the ids gets a name."""
    return [joint.joint_name or f'joint_{slot}' for slot, joint in enumerate(body.all_joints)]


def unrotate(quaternions: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Vectors in the axes that the quaternions x y z w turn to, shapes (n, 4) and (n, 3)."""
    axis, w = -quaternions[:, :3], quaternions[:, 3:]
    twice = 2.0 * np.cross(axis, vectors)
    return vectors + w * twice + np.cross(axis, twice)


def other_columns(channels: Channels, named: tuple[str, ...]) -> np.ndarray:
    """Places in a row of what has no topic of its own, in the order of the topic for it."""
    places = [
        np.arange(place.start, place.stop)
        for name, place in channels.columns.items()
        if name not in named
    ]
    return np.concatenate(places) if places else np.zeros(0, dtype=int)


def _batch(
    topic: str, layout: MessageLayout, times: np.ndarray, values: dict[str, np.ndarray]
) -> Batch:
    return Batch(topic, layout.schema, times, layout.encode(values, len(times)))


BLOCK = 256
QUEUE_BLOCKS = 64


def mailbox_topic(io: ControllerIO, mailbox: Mailbox[Any]) -> str:
    """Topic that holds the messages of a controller's mailbox."""
    return f'mailboxes/{io.controller_name}/{mailbox.name}'


@dataclass
class LogBlock:
    """Rows of many ticks on their way to the file.

    Attributes:
        times: times [s].
        inputs, outputs: rows that the channels have noted.
        sent: what the limits left of the outputs' joint commands, as rows that were noted.
        measurements: measured numbers of the devices, one after the other.
        fresh: which devices had a new state, shape (rows, devices).
        data: what devices saw: row, device and data fields.
        commands: what controllers did to devices: row, device and state.
        contacts: row, link name and numbers of the contact points.
        fields: what controllers logged of their own: row, topic and numbers.
        things: row and poses of what moves besides the robot.
        messages: row, topic and text of what controllers took out of their mailboxes, of texts
            that they logged, and of what happened to the robot.
    """

    measurements: np.ndarray
    fresh: np.ndarray
    times: list[float] = field(default_factory=lambda: [0.0] * BLOCK)
    inputs: list[bytes] = field(default_factory=lambda: [b''] * BLOCK)
    outputs: list[bytes] = field(default_factory=lambda: [b''] * BLOCK)
    sent: list[bytes] = field(default_factory=lambda: [b''] * BLOCK)
    data: list[tuple[int, Device, dict[str, np.ndarray]]] = field(default_factory=list)
    commands: list[tuple[int, Device, np.ndarray]] = field(default_factory=list)
    contacts: list[tuple[int, str, np.ndarray]] = field(default_factory=list)
    fields: list[tuple[int, str, np.ndarray]] = field(default_factory=list)
    things: list[tuple[int, dict[str, np.ndarray]]] = field(default_factory=list)
    messages: list[tuple[int, str, str]] = field(default_factory=list)
    rows: int = 0


class Recorder:
    """Notes rows in the loop; a thread turns blocks of them into messages and writes those.

    A file that cannot be written to any more (a full disk) is reported once, and the run goes on
    without it.

    Attributes:
        path: the file.
        error: what ended the recording early; empty where nothing did.
        dropped: ticks that were left out because the file was too slow for a run in real time.
    """

    def __init__(
        self,
        path: str | Path,
        body: Body,
        config: str = '',
        topics: dict[str, str] | None = None,
        real_time: bool = False,
        os: TextIO | None = None,
        attachments: dict[str, bytes] | None = None,
        things: Callable[[], dict[str, np.ndarray]] | None = None,
        controllers: Callable[[], list[ControllerIO]] | None = None,
    ) -> None:
        """Prepare a recording of a run that has not begun.

        Args:
            path: the file; an old one is replaced.
            body: body of the hardware, in its initial state.
            config: the configuration as text, which a replay needs.
            topics: topics of devices by name, where other than the name.
            real_time: whether the loop must not wait for the file.
            os: stream for messages.
            attachments: files that the log holds besides the model, by name.
            things: gives the poses of what moves besides the robot, x y z and quaternion x y z w,
                by name.
            controllers: gives the io of the controllers that have the robot now; those that it
                begins with where None.
        """
        self.path = Path(path)
        self.error = ''
        self.dropped = 0
        self._body = body
        self._topics = topics or {}
        self._real_time = real_time
        self._os = os if os is not None else sys.stderr
        self._metadata = {
            'config': config,
            'initial_state': state_to_text(body),
            'topics': json.dumps(self._topics),
            'joints': json.dumps(joint_names(body)),
            'root_link': body.root_link.name,
        }
        self._attachments = attachments or {}
        self._look_at_things = things
        self._controllers = controllers
        self._in_charge = ''
        self._next_look = 0.0
        self._queue: queue.Queue[LogBlock | None] = queue.Queue(QUEUE_BLOCKS)
        self._thread: threading.Thread | None = None
        self._disconnect: list[Any] = []

    # --- before and after the loop ------------------------------------------------------------

    def open(self, request: IORequest, ios: list[ControllerIO]) -> None:
        """Create the file.

        Args:
            request: what the controllers read and command.
            ios: the controllers' io, for what they log of their own.

        Raises:
            LogError: the file cannot be created.
        """
        body = self._body
        self._ios = ios
        self._inputs = input_channels(body, request)
        self._outputs = output_channels(body, request)
        self._note_sent = sent_rows(body).note
        self._sensors = [
            device
            for device in body.devices
            if device.name in request.devices and device.measured_fields
        ]
        self._seeing = {name for name in request.devices if self._sees(name)}
        self._touched = [
            body.link(name)
            for name, flags in sorted(request.inputs.items())
            if flags & StateFlag.LINK_CONTACT_STATE
        ]
        self._fresh: set[str] = set()
        self._reading = False
        columns = {'inputs': self._inputs.columns, 'outputs': self._outputs.columns}
        self._metadata['columns'] = json.dumps(
            {
                kind: {name: [place.start, place.stop] for name, place in places.items()}
                for kind, places in columns.items()
            }
        )
        encoder = LogEncoder(body, self._inputs, self._outputs, self._sensors, self._topics)
        files = model_attachments(body) | self._attachments
        writer = McapWriter(self.path, {'cnoid_control': self._metadata}, files)
        self._disconnect = [
            device.state_changed.connect(self._note_change) for device in body.devices
        ]
        self._block = self._new_block()
        for io in ios:
            for mailbox in io.mailboxes.values():
                mailbox.taken = partial(self._note_message, mailbox_topic(io, mailbox))
        self._reading = True
        self._thread = threading.Thread(
            target=self._write_blocks, args=(writer, encoder), name='recorder', daemon=True
        )
        self._thread.start()

    def _sees(self, name: str) -> bool:
        return any(device.name == name and device.data_fields for device in self._body.devices)

    def close(self) -> None:
        """Write what is left, finish the file and wait for it."""
        if self._thread is None:
            return
        for disconnect in self._disconnect:
            disconnect()
        self._hand_over(wait=True)
        self._queue.put(None)
        self._thread.join()
        self._thread = None

    def report(self) -> dict[str, Any]:
        """For the summary of the run: the file, and what is missing in it."""
        report: dict[str, Any] = {'log': str(self.path)}
        if self.error:
            report['log_error'] = self.error
        if self.dropped:
            report['log_dropped_ticks'] = self.dropped
        return report

    # --- in the loop --------------------------------------------------------------------------

    def _new_block(self) -> LogBlock:
        measured = sum(
            getattr(device, name).size
            for device in self._sensors
            for name in device.measured_fields
        )
        return LogBlock(
            measurements=np.empty((BLOCK, measured)),
            fresh=np.zeros((BLOCK, len(self._sensors)), dtype=bool),
        )

    def _note_change(self, device: Device) -> None:
        if self._reading:
            self._fresh.add(device.name)
        else:
            self._block.commands.append((self._block.rows, device, device.read_state()))

    def _note_message(self, topic: str, message: Message) -> None:
        self._block.messages.append((self._block.rows, topic, message_to_text(message)))

    def note_inputs(self, time: float) -> None:
        """Note the state that the hardware has just read."""
        block = self._block
        row = block.rows
        self._reading = False
        block.times[row] = time
        block.inputs[row] = self._inputs.note()
        if self._fresh:
            self._note_devices(block, row)
        if self._look_at_things is not None and time >= self._next_look:
            self._next_look = time + (1.0 - 1e-6) / FRAME_RATE
            if things := self._look_at_things():
                block.things.append((row, things))
        for link in self._touched:
            numbers = [
                [*point.position, *point.normal, *point.force, *point.velocity, point.depth]
                for point in link.contact_points
            ]
            block.contacts.append((row, link.name, np.array(numbers, dtype=float).reshape(-1)))

    def _note_devices(self, block: LogBlock, row: int) -> None:
        start = 0
        for index, device in enumerate(self._sensors):
            is_fresh = device.name in self._fresh
            block.fresh[row, index] = is_fresh
            for name in device.measured_fields:
                values = getattr(device, name)
                if is_fresh:
                    block.measurements[row, start : start + values.size] = values
                start += values.size
        for name in self._fresh & self._seeing:
            device = next(one for one in self._body.devices if one.name == name)
            data = {key: getattr(device, key).copy() for key in device.data_fields}
            block.data.append((row, device, data))
        self._fresh.clear()

    def note_event(self, topic: str, text: str) -> None:
        """Note what happened to the robot before the next tick."""
        self._block.messages.append((self._block.rows, topic, text))

    def note_outputs(self) -> None:
        """Note what the controllers have commanded."""
        block = self._block
        block.outputs[block.rows] = self._outputs.note()
        ios = self._ios
        if self._controllers is not None:
            ios = self._controllers()
            if ios and ios[0].controller_name != self._in_charge:
                self._in_charge = ios[0].controller_name
                self.note_event(CONTROLLER, self._in_charge)
        for io in ios:
            if io.log_fields:
                for name, value in io.log_fields.items():
                    topic = f'{io.controller_name}/{name}'
                    if isinstance(value, str):
                        block.messages.append((block.rows, topic, value))
                    else:
                        block.fields.append((block.rows, topic, value.reshape(-1)))
                io.log_fields.clear()

    def note_sent(self) -> None:
        """Note what goes to the robot; this ends the tick."""
        block = self._block
        block.sent[block.rows] = self._note_sent()
        block.rows += 1
        self._reading = True
        if block.rows == BLOCK:
            self._hand_over(wait=not self._real_time)

    def _hand_over(self, wait: bool) -> None:
        block = self._block
        self._block = self._new_block()
        if self.error or not block.rows:
            return
        try:
            self._queue.put(block, block=wait)
        except queue.Full:
            self.dropped += block.rows

    # --- in the thread ------------------------------------------------------------------------

    def _write_blocks(self, writer: McapWriter, encoder: LogEncoder) -> None:
        while True:
            block = self._queue.get()
            if block is None:
                break
            if not self.error:
                try:
                    writer.write(encoder.encode(block))
                except Exception as error:
                    self._fail(error)
        try:
            writer.close()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self.error:
            text = getattr(error, 'strerror', None) or f'{type(error).__name__}: {error}'
            self.error = f'{self.path}: recording stopped: {text}'
            print(f'warning: {self.error}', file=self._os)
