"""A recorded run as arrays over time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.body import Body, Device
from cnoid_control.body.rotations import rotation_matrix
from cnoid_control.log.device_messages import MeasurementCodec
from cnoid_control.log.exceptions import LogError
from cnoid_control.log.model_files import stored_body
from cnoid_control.log.reader import LogFile
from cnoid_control.messages import layouts
from cnoid_control.messages.cdr import parse_message
from cnoid_control.messages.frames import TF, THINGS, WORLD

# Ticks that are decoded at once.
BLOCK = 8192
PER_TICK = ('joint_states', 'commands', 'root')


@dataclass(frozen=True)
class Series:
    """Values over time.

    Attributes:
        times: [s], shape (n,).
        values: shape (n, size).
    """

    times: np.ndarray
    values: np.ndarray


class RunLog:
    """Log of a run: what was read and sent in every tick, and what happened.

    Nothing of it is read before it is asked for, so that a log of any length opens at once.

    Attributes:
        path: the file.
        file: its messages.
        joint_names: names of the joints in the order of the arrays, virtual ones included.
        times: time of every tick [s].
    """

    def __init__(self, path: str | Path) -> None:
        """Open a log.

        Raises:
            LogError: it is not the log of a run.
        """
        self.path = Path(path)
        self.file = LogFile(path)
        metadata = self.file.metadata.get('cnoid_control', {})
        self.file.demand_ticks()
        if 'joints' not in metadata or 'joint_states' not in self.file.topics:
            what = 'has no tick' if 'joints' in metadata else 'is not the log of a run'
            raise LogError(f'{path}: {what} of cnoid_control')
        self._metadata = metadata
        self.joint_names: list[str] = json.loads(metadata['joints'])
        self.times = self.file.times('joint_states').astype(float) * 1e-9
        self._root = layouts.odometry(WORLD, metadata['root_link'])
        self._states: layouts.MessageLayout | None = None
        self._commands = layouts.joint_state(self.joint_names)
        self._times: dict[str, np.ndarray] = {}

    @property
    def ticks(self) -> int:
        """Number of ticks."""
        return len(self.times)

    @property
    def is_complete(self) -> bool:
        """Whether the file was closed; False where it was cut off."""
        return self.file.is_complete

    @property
    def name(self) -> str:
        """Name of the configuration; the file's where it has none."""
        config = self._metadata.get('config', '')
        return str(json.loads(config)['name']) if config else self.path.stem

    def body(self) -> Body:
        """A new body of the robot.

        Raises:
            LogError: the log holds no model.
        """
        return stored_body(self.file)

    def tick_at(self, time: float) -> int:
        """Tick that shows a time [s]: the last one that is not later."""
        found = int(np.searchsorted(self.times, time + 1e-9, side='right')) - 1
        return min(max(found, 0), self.ticks - 1)

    def rows(self, ticks: np.ndarray) -> dict[str, np.ndarray]:
        """State and commands of some ticks, one row each.

        Args:
            ticks: their numbers, rising.

        Returns:
            `q`, `dq` (measured), `q_target`, `dq_target`, `u` (sent), `root` (x y z and
            quaternion x y z w), `root_motion` (v and w, world axes), and `effort` where it was
            measured.

        Raises:
            LogError: the file is damaged.
        """
        found = self.file.gather(dict.fromkeys(PER_TICK, ticks))
        states = self._state_layout(found['joint_states'].shape[1])
        pose = self._root.decode(found['root'], 'pose.pose')
        twist = self._root.decode(found['root'], 'twist.twist')
        motion = np.concatenate([_turned(pose[:, 3:], part) for part in np.split(twist, 2, 1)], 1)
        rows = {
            'q': states.decode(found['joint_states'], 'position'),
            'dq': states.decode(found['joint_states'], 'velocity'),
            'q_target': self._commands.decode(found['commands'], 'position'),
            'dq_target': self._commands.decode(found['commands'], 'velocity'),
            'u': self._commands.decode(found['commands'], 'effort'),
            'root': pose,
            'root_motion': motion,
        }
        if states.places['effort'].size:
            rows['effort'] = states.decode(found['joint_states'], 'effort')
        return rows

    def _state_layout(self, length: int) -> layouts.MessageLayout:
        if self._states is None:
            self._states = self._commands
            if length != self._commands.length:
                self._states = layouts.joint_state(self.joint_names, with_effort=False)
            if length != self._states.length:
                raise LogError(f'{self.path}: joint states are not of its {self.joint_names}')
        return self._states

    def blocks(self, begin: int, end: int) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
        """All ticks from one to another, some thousand at a time, each with its first one."""
        for first in range(begin, end, BLOCK):
            yield first, self.rows(np.arange(first, min(first + BLOCK, end)))

    def put(self, body: Body, tick: int) -> None:
        """Put a body of the robot into the state of a tick, kinematics done.

        Raises:
            LogError: the file is damaged.
        """
        rows = self.rows(np.array([tick]))
        pose = rows['root'][0]
        body.root_link.p = pose[:3]
        body.root_link.R = rotation_matrix(pose[3:])
        slots = body.joint_arrays['q']
        slots[:] = rows['q'][0][: len(slots)]
        body.calc_forward_kinematics()

    def things(self, time: float) -> dict[str, np.ndarray]:
        """Poses of what moved besides the robot, x y z and quaternion x y z w, at a time [s]."""
        if THINGS not in self.file.topics:
            return {}
        number = max(0, self.number_at(THINGS, self.tick_at(time)))
        (data,) = self.file.messages(THINGS, np.array([number]))
        message = parse_message(TF, data)
        return {one.child_frame_id: _pose(one.transform) for one in message.transforms}

    # --- what has topics of its own -----------------------------------------------------------

    def topic_of(self, device: Device) -> str:
        """Topic of a device; empty where it is not in the log."""
        topic = json.loads(self._metadata.get('topics', '{}')).get(device.name, device.name)
        return str(topic) if topic in self.file.topics else ''

    def number_at(self, topic: str, tick: int) -> int:
        """Number of a topic's last message up to a tick; -1 where there is none."""
        if topic not in self._times:
            self._times[topic] = self.file.times(topic).astype(float) * 1e-9
        time = self.times[tick] + 1e-9
        return int(np.searchsorted(self._times[topic], time, side='right')) - 1

    def device(self, device: Device) -> Series | None:
        """All measurements of a device, one row per new state; None where none is recorded."""
        topic = self.topic_of(device)
        if not device.measured_fields or not topic:
            return None
        codec = MeasurementCodec(device)
        return self.series(topic, codec.decode)

    def series(
        self,
        topic: str,
        decode: Callable[[np.ndarray], np.ndarray] = layouts.numbers_in,
        numbers: np.ndarray | None = None,
    ) -> Series:
        """Numbers of a topic over time.

        Args:
            topic: the topic.
            decode: makes rows of numbers of its messages; std_msgs/Float64MultiArray by default.
            numbers: which of its messages, rising; all where None.

        Raises:
            LogError: there is no such topic, or its messages differ in length.
        """
        times = self.file.times(topic)
        times = times if numbers is None else times[numbers]
        return Series(times.astype(float) * 1e-9, decode(self.file.rows(topic, numbers)))

    def fields(self) -> list[str]:
        """Topics of numbers that the controllers logged: `controller/name`."""
        return [
            topic
            for topic in self.file.topics
            if '/' in topic
            and self.file.schema(topic) == layouts.NUMBERS
            and not topic.startswith('contacts/')
            and not topic.endswith('/command')
        ]

    def texts(self, topic: str) -> list[tuple[float, str]]:
        """Texts of a topic with their times [s]; empty where there is no such topic."""
        if topic not in self.file.topics:
            return []
        times = self.file.times(topic).astype(float) * 1e-9
        found = [parse_message(layouts.TEXT, data).data for data in self.file.messages(topic)]
        return list(zip(times.tolist(), found, strict=True))

    def events(self) -> list[tuple[float, str]]:
        """What happened, in the order of time: pushes, swaps and states of state machines."""
        found = [(time, _push(text)) for time, text in self.texts('pushes')]
        # The first one has the robot from the start.
        found += [(time, f'swap to {name}') for time, name in self.texts('controller')[1:]]
        for topic in self.file.topics:
            if topic.endswith('/state') and self.file.schema(topic) == layouts.TEXT:
                found += self.texts(topic)
        return sorted(found)


def _pose(transform: Any) -> np.ndarray:
    place, turn = transform.translation, transform.rotation
    return np.array([place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w])


def _push(text: str) -> str:
    push = json.loads(text)
    force = float(np.linalg.norm(push['force']))
    return f'push {push["link"]} {force:.3g} N, {push["duration"]:.3g} s'


def _turned(quaternions: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Vectors turned by quaternions x y z w, shapes (n, 4) and (n, 3)."""
    axis, w = quaternions[:, :3], quaternions[:, 3:]
    twice = 2.0 * np.cross(axis, vectors)
    return vectors + w * twice + np.cross(axis, twice)
