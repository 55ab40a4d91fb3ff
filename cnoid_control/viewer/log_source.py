"""A log as what a page is fed by: played, scrubbed and stepped through."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.body import Body
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.log import LogError, RunLog
from cnoid_control.log.device_messages import MeasurementCodec
from cnoid_control.messages import layouts
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.replay import recorded_config
from cnoid_control.viewer.frame import ENDED, PAUSED, RUNNING, Frame
from cnoid_control.viewer.source import ACTIONS, Description

# What can be asked of a log besides what every source knows: seek(time) goes to a time [s].
SEEK = 'seek'
PLAYING = ('pause', 'resume', 'step', 'reset', 'speed')
REFUSAL = 'a log is what has happened: it can be looked at, not changed'
CUT_OFF = 'the log was cut off here'


class Player:
    """Time of a log that goes on with the wall clock, or stands still.

    Attributes:
        begin, end: first and last time [s].
        speed: time of the log per wall-clock time.
    """

    def __init__(
        self, begin: float, end: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Stand at the beginning."""
        self.begin, self.end = begin, end
        self.speed = 1.0
        self._clock = clock
        self._time = begin
        self._since: float | None = None

    @property
    def time(self) -> float:
        """Time that is shown [s]; at the end it stops."""
        if self._since is None:
            return self._time
        now = self._time + self.speed * (self._clock() - self._since)
        if now >= self.end:
            self._time, self._since = self.end, None
            return self.end
        return now

    @property
    def is_playing(self) -> bool:
        """Whether the time goes on."""
        return self.time < self.end and self._since is not None

    def play(self) -> None:
        """Go on; from the beginning where it stands at the end."""
        if self.time >= self.end:
            self._time = self.begin
        self._since = self._since if self._since is not None else self._clock()

    def pause(self) -> None:
        """Stand still."""
        self._time, self._since = self.time, None

    def seek(self, time: float) -> None:
        """Go to a time [s], the nearest one of the log; play on from there where it plays."""
        playing = self._since is not None
        self._time = min(max(time, self.begin), self.end)
        self._since = self._clock() if playing else None

    def set_speed(self, speed: float) -> None:
        """Go on at another speed."""
        self.seek(self.time)
        self.speed = speed


class LogSource:
    """Plays a log; others are shown beside it at the same times.

    Only what is shown is read: the moment that the log is at, out of its chunk.

    Attributes:
        body: the robot, the page's own.
        config: the configuration of the run; None where it cannot be used any more.
        log: the log.
        others: logs to compare with.
        player: where it is.
        events: what happened, with its times [s].
    """

    def __init__(self, paths: Sequence[str | Path]) -> None:
        """Open logs.

        Raises:
            LogError: one is not the log of a run, or holds no model.
        """
        self.log = RunLog(paths[0])
        self.others = [RunLog(path) for path in paths[1:]]
        self.body: Body = self.log.body()
        self.config: RunConfig | None = _config(self.log)
        self.player = Player(float(self.log.times[0]), float(self.log.times[-1]))
        self.events = self.log.events()
        self._controller = self.config.controller_name if self.config is not None else ''
        self._lock = threading.Lock()
        self._shown: tuple[object, ...] = ()
        self._frame: Frame | None = None
        self._sensors = [
            (device, MeasurementCodec(device), topic)
            for device in self.body.devices
            if device.measured_fields and (topic := self.log.topic_of(device))
        ]
        self._fields = self.log.fields()
        self._touched = [
            (link.index, topic)
            for link in self.body.links
            if (topic := f'contacts/{link.name}') in self.log.file.topics
        ]

    def frame(self) -> Frame | None:
        """The moment that the log is at."""
        with self._lock:
            player = self.player
            now, playing = player.time, player.is_playing
            tick = self.log.tick_at(now)
            shown = (tick, playing, player.speed)
            if shown != self._shown:
                self._shown = shown
                try:
                    self._frame = self._read(tick, playing)
                except LogError as error:
                    # The rest of the log can still be seen.
                    self._frame = Frame(
                        time=float(self.log.times[tick]),
                        tick=tick,
                        state=PAUSED,
                        reason=str(error),
                    )
            return self._frame

    def _read(self, tick: int, playing: bool) -> Frame:
        log = self.log
        rows = {name: values[0] for name, values in log.rows(np.array([tick])).items()}
        size = self.body.num_joints
        at_end = tick == log.ticks - 1
        state = RUNNING if playing else ENDED if at_end else PAUSED
        return Frame(
            time=float(log.times[tick]),
            tick=tick,
            state=state,
            reason=CUT_OFF if at_end and not log.is_complete else '',
            controller=self._controller,
            speed=self.player.speed if playing else 0.0,
            q=rows['q'][:size],
            dq=rows['dq'][:size],
            u=rows['u'][:size],
            q_target=rows['q_target'][:size],
            dq_target=rows['dq_target'][:size],
            root=rows['root'],
            root_motion=rows['root_motion'],
            devices=self._devices(tick),
            log=self._logged(tick),
            contacts=self._contacts(tick),
            things=log.things(float(log.times[tick])),
        )

    def _devices(self, tick: int) -> dict[str, dict[str, np.ndarray]]:
        found = {}
        for device, codec, topic in self._sensors:
            number = self.log.number_at(topic, tick)
            if number >= 0:
                (values,) = codec.decode(self.log.file.rows(topic, np.array([number])))
                found[device.name] = {
                    name: values[place] for name, place in codec.attributes.items()
                }
        return found

    def _logged(self, tick: int) -> dict[str, np.ndarray]:
        found = {}
        for topic in self._fields:
            number = self.log.number_at(topic, tick)
            if number >= 0:
                (data,) = self.log.file.messages(topic, np.array([number]))
                found[topic] = layouts.numbers_in(np.frombuffer(data, np.uint8)[None])[0]
        return found

    def _contacts(self, tick: int) -> np.ndarray:
        rows = [np.zeros((0, 7))]
        for index, topic in self._touched:
            number = self.log.number_at(topic, tick)
            if number >= 0:
                (data,) = self.log.file.messages(topic, np.array([number]))
                points = layouts.numbers_in(np.frombuffer(data, np.uint8)[None]).reshape(-1, 13)
                place = np.full((len(points), 1), float(index))
                rows.append(np.concatenate([place, points[:, :3], points[:, 6:9]], axis=1))
        return np.concatenate(rows)

    def describe(self) -> Description:
        """Title of the log; nothing in it can be changed."""
        names = [self.log.path.name, *(one.path.name for one in self.others)]
        return Description(
            title=' and '.join(names),
            controller=self._controller,
            controllers=[self._controller] if self._controller else [],
            refusals={action: REFUSAL for action in ACTIONS if action not in PLAYING},
            speed=self.player.speed,
        )

    def act(self, action: str, **arguments: Any) -> str:
        """Play, pause, step, go to a time.

        Raises:
            CnoidControlError: nothing else can be done with a log.
        """
        if action not in (*PLAYING, SEEK):
            known = f'{REFUSAL}; {choices([*PLAYING, SEEK])}'
            raise CnoidControlError(known if action in ACTIONS else f'unknown {action!r}; {known}')
        with self._lock:
            player = self.player
            if action == 'pause':
                player.pause()
            elif action == 'resume':
                player.play()
            elif action == 'reset':
                player.seek(player.begin)
            elif action == 'step':
                player.pause()
                tick = self.log.tick_at(player.time) + int(arguments.get('count', 1))
                player.seek(float(self.log.times[min(max(tick, 0), self.log.ticks - 1)]))
            elif action == 'speed':
                player.set_speed(_number('value', arguments.get('value'), 1e-3, 1e3))
            else:
                player.seek(_number('time', arguments.get('time'), -np.inf, np.inf))
            return f'{player.time:.3f} s'

    def close(self) -> None:
        """Nothing is left open."""


def _number(name: str, value: object, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise CnoidControlError(f'{name} is {value!r}; it must be from {low:g} to {high:g}')
    return float(value)


def _config(log: RunLog) -> RunConfig | None:
    try:
        return recorded_config(log.file)
    except LogError:
        return None
