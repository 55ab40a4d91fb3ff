"""The robot as the loop sees it: all that the loop uses, with what holds for a simulation."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from cnoid_control.body import Body, StateFlag
from cnoid_control.body.devices import GenericDevice
from cnoid_control.hardware.exceptions import HardwareError, unknown_device


@dataclass
class IORequest:
    """What the controllers read and command, collected after they were initialized.

    Attributes:
        inputs: what is read of each link, by link name.
        outputs: what each link is commanded by, by link name; equals the link's actuation mode.
        devices: names of the devices that are read.
        device_outputs: names of the devices whose outputs controllers have enabled.
        no_delay: names of the links whose commands act in the same step.
    """

    inputs: dict[str, StateFlag] = field(default_factory=dict)
    outputs: dict[str, StateFlag] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)
    device_outputs: set[str] = field(default_factory=set)
    no_delay: set[str] = field(default_factory=set)


def require_devices(body: Body, request: IORequest, hardware: str) -> None:
    """Refuse devices that a simulator does not have or cannot command.

    Raises:
        HardwareError: there is one; the message names it.
    """
    devices = {device.name: device for device in body.devices}
    for name in request.devices | request.device_outputs:
        if name not in devices:
            raise unknown_device(name, devices)
    for name in request.device_outputs:
        if isinstance(devices[name], GenericDevice):
            raise HardwareError(f'{hardware} hardware does nothing with {devices[name]!r}')


class StateWatch(Protocol):
    """The part of a watchdog that hardware feeds."""

    def feed(self, name: str, now: float | None = None) -> None:
        """Say that what the watch `name` waits for has arrived, now or then [s]."""

    def state_stamped(self, stamp: float) -> None:
        """Tell the time of a new state by the clock that stamps it [s]."""

    def rate_found(self, problem: str) -> None:
        """Say what is wrong with the rate of the joint states; nothing where it is empty."""

    def slow_device_found(self, problem: str) -> None:
        """Say that a device is slower than the joint states that wait for it."""

    def publishers_found(self, topic: str, count: int) -> None:
        """Say how many nodes publish the joint states."""

    def is_fresh(self, name: str) -> bool:
        """Whether what the watch `name` waits for has arrived in time."""


class Hardware(Protocol):
    """A robot, simulated or real, seen from the loop.

    The state and the commands travel through `body`: `read` refreshes what was requested of its
    joint arrays, links and devices; `write` sends `u`, `q_target` or `dq_target` of every joint,
    as the joint's `actuation_mode` says, and the outputs of links and of devices. Whoever
    derives from this class gets what holds for a simulation in this process.

    Attributes:
        name: name of the kind, as on the command line.
        body: the robot's state and the commands for it. It holds the present state as soon as the
            hardware was made: controllers take their initial posture from it before `open`.
        time_step: period of a tick [s].
        time: time of the last state read [s], 0 at the start.
        dt: time between the last two states [s]; infinite where that is always `time_step`.
        is_due: whether controllers are to be called for the last read: not where it only gave up
            waiting for a state.
        is_simulated: whether `time` is that of a simulation in this process.
        waits_for_commands: whether the robot's time stands still until the next `write`: nothing
            is late while controllers compute.
        feeds_watchdog: whether states or devices can fail to arrive. Then the hardware feeds
            `watchdog`, and their ages are watched.
        state_timeout: longest wait for a state before the watchdog is asked [s].
        watchdog: told of every state and device that arrives; None before there is one.
        limit_counts: where clamps that the robot itself makes are counted, by kind of limit and
            joint id; None where nobody counts them.
    """

    name: str
    body: Body
    time_step: float
    time: float
    dt: float = math.inf
    is_due: bool = True
    is_simulated: bool = True
    waits_for_commands: bool = True
    feeds_watchdog: bool = False
    state_timeout: float = math.inf
    watchdog: StateWatch | None = None
    limit_counts: Mapping[str, np.ndarray] | None = None

    def open(self, request: IORequest) -> None:
        """Prepare the channels that were requested, and give `body` its first state.

        The commands that `body` holds by then are the controllers' initial ones. Called again,
        it changes what is read and commanded while running.

        Raises:
            HardwareError: a channel does not exist; the message names it and those that do.
        """

    def prepare(self, request: IORequest) -> bool:
        """Do all of a later `open` that takes time; not in the loop's thread.

        Returns:
            Whether anything was done that only an `open` for the present request undoes.

        Raises:
            HardwareError: as `open` does.
        """
        return False

    @abstractmethod
    def read(self) -> bool:
        """Wait for the next state and take it over; False when there will be none any more."""

    def write(self) -> None:
        """Send the commands in `body`."""

    def count_limited(self, kind: str, joints: np.ndarray) -> None:
        """Count joints whose commands the robot itself has limited in this tick.

        Args:
            kind: kind of limit.
            joints: ids of the joints.
        """
        if self.limit_counts is not None:
            self.limit_counts[kind][joints] += 1

    def count_limits(self) -> None:
        """Bring `limit_counts` up to date; in the loop's thread or when it has ended."""
        return

    def halt(self) -> None:
        """Have a `read` that waits return, because the run is to end; from any thread."""
        return

    def close(self) -> None:
        """Leave the robot safe and free what was opened; may be called more than once."""
