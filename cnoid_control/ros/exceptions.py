"""Errors on the ROS side."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.hardware.exceptions import HardwareError


class RosError(CnoidControlError):
    """Base of all errors on the ROS side; raised itself where nobody tells the cases apart."""


class RobotError(HardwareError, RosError):
    """The robot's topics or controllers are not there, or not as needed."""


class LoopCallTimeout(RosError):
    """The control loop did not do what it was to do between two ticks in time.

    Attributes:
        started: whether it has begun; if not, it never will.
    """

    def __init__(self, patience: float, started: bool) -> None:
        """Say how long the request was waited for [s], and how far it is."""
        self.started = started
        super().__init__(
            f'control loop started the request but did not finish within {patience:g} s'
            if started
            else f'control loop did not process the request within {patience:g} s; '
            'request cancelled'
        )


class ServiceUnavailable(RobotError):
    """A service that did not answer."""

    def __init__(self, name: str, reason: str, timeout: float | None = None) -> None:
        """Name the service, what happened, and how long was waited [s], if at all."""
        self.name = name
        waited = '' if timeout is None else f' within {timeout:g} s'
        super().__init__(f'service {name!r}: {reason}{waited}')


class MissingChannel(RobotError):
    """Something that a controller reads and that nobody publishes."""

    def __init__(self, what: str, topic: str, reason: str) -> None:
        """Name what is read, the topic and what is wrong with it."""
        super().__init__(f'{what} is read, but topic {topic!r} {reason}')


class WrongTopicType(RobotError):
    """A topic that carries another type than is needed."""

    def __init__(self, what: str, topic: str, found: Iterable[str], wanted: Iterable[str]) -> None:
        """Name the topic, what it carries and what it should."""
        super().__init__(f'{what}: topic {topic!r} carries {", ".join(found)}; {choices(wanted)}')


class UnusableController(RobotError):
    """A ros2_control controller that cannot take commands."""

    def __init__(self, name: str, reason: str, known: Iterable[str]) -> None:
        """Name the controller, what is wrong and the controllers that there are."""
        super().__init__(f'controller {name!r} {reason}; {choices(known)}')


class MissingInterfaces(RobotError):
    """A message package that is not installed."""

    def __init__(self, package: str, purpose: str) -> None:
        """Name the package or the message, and what needs it."""
        super().__init__(f'{purpose} needs the messages {package!r}, which are not installed')


class FilePluginRefused(RosError):
    """A class of a file that was to be loaded while running without that being allowed."""

    def __init__(self, key: str, name: str) -> None:
        """Name the parameter, the file and what would allow it."""
        super().__init__(
            f'{key}: {name!r} is a file, and files are given at the start only unless the node '
            'was started with allow_file_plugins:=true'
        )


class FixedParameter(RosError):
    """A parameter that cannot be changed in the present state."""

    def __init__(self, key: str) -> None:
        """Name the parameter and when it can be changed."""
        hint = 'activate the node to swap, or clean it up' if key == 'controller' else 'clean up'
        super().__init__(f'{key}: fixed while the node is configured; {hint} first')
