"""What the loop needs of whatever is on the other end of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from cnoid_control.body import Body, StateFlag


@dataclass
class IORequest:
    """What the controllers read and command, collected after they were initialized.

    Attributes:
        inputs: what is read of each link, by link name.
        outputs: what each link is commanded by, by link name; equals the link's actuation mode.
        devices: names of the devices that are read.
        no_delay: names of the links whose commands act in the same step.
    """

    inputs: dict[str, StateFlag] = field(default_factory=dict)
    outputs: dict[str, StateFlag] = field(default_factory=dict)
    devices: set[str] = field(default_factory=set)
    no_delay: set[str] = field(default_factory=set)


class Hardware(Protocol):
    """A robot, simulated or real, seen from the loop.

    The state and the commands travel through `body`: `read` refreshes what was requested of its
    joint arrays, links and devices; `write` sends `u`, `q_target` or `dq_target` of every joint,
    as the joint's `actuation_mode` says, and the outputs of links and of devices.

    Attributes:
        name: name of the kind, as on the command line.
        body: the robot's state and the commands for it. It holds the present state as soon as the
            hardware was made: controllers take their initial posture from it before `open`.
        time_step: period of a tick [s].
        time: time of the last state read [s], 0 at the start.
    """

    name: str
    body: Body
    time_step: float
    time: float

    def open(self, request: IORequest) -> None:
        """Prepare the channels that were requested, and give `body` its first state.

        The commands that `body` holds by then are the controllers' initial ones.

        Raises:
            HardwareError: a channel does not exist; the message names it and those that do.
        """

    def read(self) -> bool:
        """Wait for the next state and take it over; False when there will be none any more."""

    def write(self) -> None:
        """Send the commands in `body`."""

    def close(self) -> None:
        """Leave the robot safe and free what was opened; may be called more than once."""
