"""Feeds a recorded run's inputs to its controllers again and compares what they command."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from cnoid_control.body.channels import CHANNELS, COMMAND_ARRAYS
from cnoid_control.hardware.channels import Channels, output_channels
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.replay import ReplayHardware, ReplayParameters
from cnoid_control.log.exceptions import LogError
from cnoid_control.log.model_files import stored_body
from cnoid_control.log.reader import LogFile
from cnoid_control.messages import layouts
from cnoid_control.messages.cdr import parse_message
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import Mailbox, Message, message_from_text
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import RunConfig, config_from_text
from cnoid_control.runtime.loop import RunOutcome
from cnoid_control.runtime.recorder import (
    joint_names,
    mailbox_topic,
    other_columns,
    restore_state_text,
)
from cnoid_control.runtime.run_files import as_recorded, changed_sources
from cnoid_control.runtime.succession import follow_succession

CUT_OFF = 'the log was cut off: the run went on after its last tick, or nothing closed the file'


@dataclass(frozen=True)
class Difference:
    """The first output that is not what it was.

    Attributes:
        tick: number of the tick.
        time: its time [s].
        channel: what was commanded: 'u', 'q_target', ...
        joint: joint or element of the channel.
        recorded, replayed: both values.
    """

    tick: int
    time: float
    channel: str
    joint: str
    recorded: float
    replayed: float

    def __str__(self) -> str:
        return (
            f'tick {self.tick} ({self.time:g} s): {self.channel} of {self.joint} '
            f'was {self.recorded!r} and is {self.replayed!r}'
        )


@dataclass(frozen=True)
class ReplayResult:
    """What a replay came to.

    Attributes:
        ticks: ticks that were compared.
        recorded_ticks: ticks in the log.
        differing_ticks: ticks in which any output differs by a bit.
        first_difference: where it begins; None where there is none.
        outcome: how the run ended.
        notes: what is not as it was in the run, one sentence each.
    """

    ticks: int
    recorded_ticks: int
    differing_ticks: int
    first_difference: Difference | None
    outcome: RunOutcome
    notes: list[str]

    @property
    def identical(self) -> bool:
        """Whether every tick was replayed with the same outputs, to the bit."""
        return (
            self.ticks == self.recorded_ticks
            and self.differing_ticks == 0
            and self.outcome.exit != 'failed'
        )


class OutputComparer:
    """Stands in the loop's place for a recorder and compares instead of recording."""

    def __init__(self, hardware: ReplayHardware) -> None:
        """Take the recorded outputs from the hardware's log."""
        self._hardware = hardware
        self._channels: Channels | None = None
        self.ticks = 0
        self.differing = 0
        self.first: Difference | None = None

    def open(self, request: IORequest, ios: list[ControllerIO]) -> None:
        """Line up what was recorded with what is commanded."""
        log = self._hardware.log
        channels = output_channels(self._hardware.body, request)
        columns = json.loads(log.metadata['cnoid_control']['columns'])['outputs']
        names = {name: [place.start, place.stop] for name, place in channels.columns.items()}
        if columns != names:
            raise LogError(
                f'{log.path}: {list(columns)} were commanded then, now it is {list(names)}'
            )
        self._channels = channels
        self._recorded = recorded_outputs(self._hardware, channels)
        self._row = np.empty(channels.width)

        self._letters = self._recorded_letters(ios)

    def _recorded_letters(
        self, ios: list[ControllerIO]
    ) -> dict[int, list[tuple[Mailbox[Any], Message]]]:
        """Messages by the tick in which they were taken, each with its mailbox."""
        log = self._hardware.log
        letters: dict[int, list[tuple[Mailbox[Any], Message]]] = {}
        for io in ios:
            for mailbox in io.mailboxes.values():
                topic = mailbox_topic(io, mailbox)
                if topic not in log.topics:
                    continue
                ticks = np.searchsorted(log.times('joint_states'), log.times(topic))
                for tick, data in zip(ticks, log.messages(topic), strict=True):
                    text = parse_message(layouts.TEXT, data).data
                    message = message_from_text(mailbox.kind, text)
                    letters.setdefault(int(tick), []).append((mailbox, message))
        return letters

    def note_inputs(self, time: float) -> None:
        """Post the messages that were taken in this tick; all else is the hardware's."""
        for mailbox, message in self._letters.get(self.ticks, ()):
            mailbox.post(message)

    def note_event(self, topic: str, text: str) -> None:
        """What happens to the robot is in its recorded states."""

    def note_outputs(self) -> None:
        """Compare this tick's commands by their bits."""
        assert self._channels is not None
        self._channels.take(self._row)
        recorded = self._recorded[self.ticks]
        different = self._row.view(np.uint64) != recorded.view(np.uint64)
        if different.any():
            self.differing += 1
            if self.first is None:
                self.first = self._describe(int(np.flatnonzero(different)[0]))
        self.ticks += 1

    def _describe(self, element: int) -> Difference:
        assert self._channels is not None
        channel, place = next(
            (name, place)
            for name, place in self._channels.columns.items()
            if place.start <= element < place.stop
        )
        index = element - place.start
        joints = joint_names(self._hardware.body)
        joint = joints[index] if place.stop - place.start == len(joints) else f'element {index}'
        recorded = self._recorded[self.ticks, element]
        time = self._hardware.time
        return Difference(
            self.ticks, time, channel, joint, float(recorded), float(self._row[element])
        )

    def note_sent(self) -> None:
        """What the limits do is not the controllers' output."""

    def close(self) -> None:
        """Nothing is left open."""


def recorded_outputs(hardware: ReplayHardware, channels: Channels) -> np.ndarray:
    """What the controllers commanded in the recorded run, shape (ticks, channels.width)."""
    log = hardware.log
    layout = layouts.joint_state(joint_names(hardware.body))
    fields = {channel.command: channel.interface for channel in CHANNELS}
    rows = np.zeros((hardware.ticks, channels.width))
    commands = log.rows('commands')
    for name, field in fields.items():
        rows[:, channels.columns[name]] = layout.decode(commands, field)
    if 'controller_outputs' in log.topics:
        # Only where the limits changed it is the controllers' own output recorded apart.
        ticks = np.searchsorted(log.times('joint_states'), log.times('controller_outputs'))
        raw = log.rows('controller_outputs')
        for name, field in fields.items():
            rows[ticks, channels.columns[name]] = layout.decode(raw, field)
    if 'outputs' in log.topics:
        others = other_columns(channels, COMMAND_ARRAYS)
        rows[:, others] = layouts.numbers_in(log.rows('outputs'))
    return rows


def recorded_config(log: LogFile) -> RunConfig:
    """Configuration of a recorded run.

    Raises:
        LogError: the log does not carry it.
    """
    metadata = log.metadata.get('cnoid_control', {})
    if not metadata.get('config'):
        log.demand_ticks()
        raise LogError(f'{log.path}: carries no configuration; it is not the log of a run')
    return config_from_text(metadata['config'])


def replay(
    path: str | Path, os: TextIO | None = None, recorded_controllers: bool = False
) -> ReplayResult:
    """Replay a recorded run on the robot that the log holds.

    Args:
        path: the log.
        os: stream for messages; the standard error where None.
        recorded_controllers: whether to run the controllers' files that the log holds, in place
            of the present ones. They are code: run only what you trust.

    Raises:
        LogError: the file is no log of a run, or a controller's file is gone.
        CnoidControlError: the run cannot be set up again.
    """
    log = LogFile(path)
    config = recorded_config(log)
    notes = [] if log.is_complete else [CUT_OFF]
    if recorded_controllers:
        config = as_recorded(log, config)
    else:
        notes += changed_sources(log, config)
    body = stored_body(log)
    hardware = ReplayHardware(body, ReplayParameters(Path(path)), config.time_step)
    restore_state_text(body, hardware.log.metadata['cnoid_control']['initial_state'])
    loop = make_loop(config, hardware, os)
    follow_succession(loop, config)
    comparer = OutputComparer(hardware)
    loop.recorder = comparer
    outcome = loop.run()
    return ReplayResult(
        comparer.ticks, hardware.ticks, comparer.differing, comparer.first, outcome, notes
    )
