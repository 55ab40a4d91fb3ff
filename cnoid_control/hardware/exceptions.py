"""Errors of hardware, simulated or real."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.body import StateFlag
from cnoid_control.exceptions import CnoidControlError, choices


class HardwareError(CnoidControlError):
    """A robot, simulated or real, cannot do what was asked."""


class UnsupportedChannel(HardwareError):
    """A link cannot be commanded by, or read through, a channel.

    Attributes:
        link: name of the link.
    """

    def __init__(
        self,
        link: str,
        channel: object,
        hardware: str,
        known: Iterable[object],
        remedy: str = '',
    ) -> None:
        """Name the link, the channel, the hardware, the channels that the link has, a remedy."""
        self.link = link
        known = [one.label if isinstance(one, StateFlag) else one for one in known]
        if isinstance(channel, StateFlag):
            channel = channel.label
        super().__init__(
            f'{hardware} hardware has no channel {channel} for link {link!r}; {choices(known)}'
            + (f'; {remedy}' if remedy else '')
        )


class RenderingUnavailable(HardwareError):
    """This machine cannot draw pictures through a graphics library."""

    def __init__(self, reason: str) -> None:
        """State why."""
        super().__init__(f'no graphics library to draw with: {reason}')


def unknown_device(name: str, known: Iterable[str]) -> HardwareError:
    """Error of a device that the robot does not have."""
    return HardwareError(f'unknown device {name!r}; {choices(known)}')


def not_simulable(body: str, reason: str) -> HardwareError:
    """Error of a robot that the simulator refuses."""
    return HardwareError(f'{body} cannot be simulated: {reason}')
