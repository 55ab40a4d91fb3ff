"""What can be wrong with a robot's channels: one class per fact."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class HardwareError(CnoidControlError):
    """A robot, simulated or real, cannot do what was asked."""


class UnsupportedChannel(HardwareError):
    """A link cannot be commanded by, or read through, a channel."""

    def __init__(self, link: str, channel: object, hardware: str, known: Iterable[object]) -> None:
        """Name the link, the channel, the hardware and the channels that the link has there."""
        self.link = link
        super().__init__(
            f'{hardware} hardware has no channel {channel} for link {link!r}; {choices(known)}'
        )


class UnknownDevice(HardwareError):
    """A device was requested that the robot does not have."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        """Name the device and those that exist."""
        self.name = name
        super().__init__(f'unknown device {name!r}; {choices(known)}')


class SimulationModelError(HardwareError):
    """The robot cannot be built in the simulator."""

    def __init__(self, body: str, reason: str) -> None:
        """Name the robot and what the simulator says."""
        super().__init__(f'{body} cannot be simulated: {reason}')


class UnknownCollision(HardwareError):
    """An entry of the collision list that selects nothing."""

    def __init__(self, selector: str, known: Iterable[str]) -> None:
        """Name the entry and those that would select something."""
        super().__init__(f'collision: {selector!r} selects no shape; {choices(known)}')


class TimeStepMismatch(HardwareError):
    """A control period that is not a whole number of physics steps."""

    def __init__(self, period: float, step: float) -> None:
        """Name both [s]."""
        super().__init__(
            f'the control period {period} s is not a whole number of physics steps of {step} s'
        )


class SimulationDiverged(HardwareError):
    """The simulated motion has become infinite or not a number."""

    def __init__(self, what: str, time: float) -> None:
        """Name the quantity and the simulated time [s]."""
        self.time = time
        super().__init__(f'the simulation diverged at {time:.4f} s: {what} is not finite')


class UnknownHardware(HardwareError):
    """A kind of hardware that does not exist."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        """Name the kind and those that exist."""
        super().__init__(f'unknown hardware {name!r}; {choices(known)}')


class RenderingUnavailable(HardwareError):
    """This machine cannot draw pictures through a graphics library."""

    def __init__(self, reason: str) -> None:
        """State why."""
        super().__init__(f'no graphics library to draw with: {reason}')


class NotRecorded(HardwareError):
    """A controller reads what is not in the log that is replayed."""

    def __init__(self, path: object, channel: str, known: Iterable[str]) -> None:
        """Name the log, the channel and those that were recorded."""
        super().__init__(f'{path}: {channel!r} was not recorded; {choices(known)}')
