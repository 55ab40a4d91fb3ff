"""What can be wrong on the ROS side: one class per fact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.hardware.exceptions import HardwareError


class RosError(CnoidControlError):
    """Base of what can be wrong on the ROS side."""


class ServiceUnavailable(HardwareError, RosError):
    """A service that did not answer."""

    def __init__(self, name: str, reason: str, timeout: float | None = None) -> None:
        """Name the service, what happened, and how long was waited [s], if at all."""
        self.name = name
        waited = '' if timeout is None else f' within {timeout:g} s'
        super().__init__(f'service {name!r}: {reason}{waited}')


class NoJointStates(HardwareError, RosError):
    """Joint states that did not come, or not complete."""

    def __init__(self, topic: str, timeout: float, reason: str) -> None:
        """Name the topic, how long it was waited for and what came instead."""
        self.topic = topic
        super().__init__(f'topic {topic!r}: no complete joint state in {timeout:g} s: {reason}')


class MissingChannel(HardwareError, RosError):
    """Something that a controller reads and that nobody publishes."""

    def __init__(self, what: str, topic: str, reason: str) -> None:
        """Name what is read, the topic and what is wrong with it."""
        super().__init__(f'{what} is read, but topic {topic!r} {reason}')


class NoSubscriber(HardwareError, RosError):
    """Commands that nobody receives."""

    def __init__(self, taker: str, topic: str, timeout: float) -> None:
        """Name the taker, the topic and how long was waited for a subscription [s]."""
        super().__init__(
            f'nobody receives the commands of {taker!r}: no subscription of topic {topic!r} '
            f'within {timeout:g} s'
        )


class MultiplePublishers(HardwareError, RosError):
    """A topic that must have one publisher and has several."""

    def __init__(self, topic: str, nodes: Iterable[str]) -> None:
        """Name the topic and the nodes that publish it."""
        super().__init__(
            f'topic {topic!r} has several publishers: {", ".join(nodes)}; '
            'the state of the robot must come from one'
        )


class WrongTopicType(HardwareError, RosError):
    """A topic that carries another type than is needed."""

    def __init__(self, what: str, topic: str, found: Iterable[str], wanted: Iterable[str]) -> None:
        """Name the topic, what it carries and what it should."""
        super().__init__(f'{what}: topic {topic!r} carries {", ".join(found)}; {choices(wanted)}')


class UncommandedJoint(HardwareError, RosError):
    """A joint that no taker of commands takes in the mode that is needed."""

    def __init__(self, joints: Iterable[str], interface: str, takers: Iterable[str]) -> None:
        """Name the joints, the interface and the takers that there are."""
        super().__init__(
            f'no {interface} command can be given to {", ".join(joints)}: '
            f'no taker of {interface} commands has them; takers of commands: '
            f'{", ".join(takers) or "none"}'
        )


class UnknownJoints(HardwareError, RosError):
    """A controller that commands joints which the robot does not have."""

    def __init__(self, taker: str, joints: Iterable[str], known: Iterable[str]) -> None:
        """Name the controller, the joints and those that there are."""
        super().__init__(
            f'{taker!r} takes commands for {", ".join(joints)}, which are not joints of the '
            f'robot; {choices(known)}'
        )


class JointClaimedTwice(HardwareError, RosError):
    """A joint that two active takers of commands would command."""

    def __init__(self, joint: str, takers: Iterable[str]) -> None:
        """Name the joint and the takers."""
        super().__init__(
            f'joint {joint!r} would be commanded by {" and by ".join(takers)}; give each taker '
            'its own joints under hardware.ros2_control.commands'
        )


class UnusableController(HardwareError, RosError):
    """A ros2_control controller that cannot take commands."""

    def __init__(self, name: str, reason: str, known: Iterable[str]) -> None:
        """Name the controller, what is wrong and the controllers that there are."""
        super().__init__(f'controller {name!r} {reason}; {choices(known)}')


class SwitchRefused(HardwareError, RosError):
    """controller_manager did not switch."""

    def __init__(self, activate: Iterable[str], deactivate: Iterable[str], message: str) -> None:
        """Name both lists and the manager's own words."""
        super().__init__(
            f'controller_manager refused to activate [{", ".join(activate)}] and deactivate '
            f'[{", ".join(deactivate)}]: {message or "no reason given"}'
        )


class MissingInterfaces(HardwareError, RosError):
    """A message package that is not installed."""

    def __init__(self, package: str, purpose: str) -> None:
        """Name the package and what needs it."""
        super().__init__(
            f'{purpose} needs the message package {package!r}, which is not installed'
        )


class NoRobotDescription(RosError):
    """A robot description that did not come."""

    def __init__(self, topic: str, timeout: float, reason: str) -> None:
        """Name the topic, how long it was waited for and what happened."""
        super().__init__(
            f'topic {topic!r}: no robot description in {timeout:g} s: {reason}; give a file as '
            'robot.model or the text as robot_description, or publish it latched'
        )


class NotActive(RosError):
    """Something was asked for that the present state does not allow."""


class LoopDidNotCome(RosError):
    """The loop has not come to what it was to do between two ticks; it will not do it."""

    def __init__(self, patience: float) -> None:
        """Say how long it was waited for [s]."""
        super().__init__(f'the loop did not come to it in {patience:g} s; nothing has changed')


class LoopDidNotReturn(RosError):
    """The loop has begun what it was to do between two ticks, and is not done with it."""

    def __init__(self, patience: float) -> None:
        """Say how long it was waited for [s]."""
        super().__init__(f'the loop has begun it and was not done with it in {patience:g} s')


class ResetInterrupted(RosError):
    """A stop that was asked for while a reset was under way."""

    def __init__(self, reasons: Sequence[str]) -> None:
        """Name the stops."""
        super().__init__(f'the safe state goes on: {"; ".join(reasons)} after the reset had begun')


class FaultStillPresent(RosError):
    """The safe state was to be left while its cause, or another one, is still there."""

    def __init__(self, causes: Sequence[str]) -> None:
        """Name what is wrong."""
        super().__init__(f'the safe state goes on: {"; ".join(causes)}')


class JointOrderChanged(HardwareError, RosError):
    """A command controller that has other joints than when it was put to use."""

    def __init__(self, controller: str, joints: Sequence[str], before: Sequence[str]) -> None:
        """Name the controller and its joints."""
        super().__init__(
            f'command controller {controller!r} has joints {", ".join(joints)} now instead of '
            f'{", ".join(before)}: deactivate the node and activate it again'
        )


class FilePluginRefused(RosError):
    """A controller of a file that was to be swapped in without that being allowed."""

    def __init__(self, controller: str) -> None:
        """Name the controller and what would allow it."""
        super().__init__(
            f'controller: {controller!r} is a file, and files are not loaded while the node is '
            'configured unless it was started with allow_file_plugins:=true'
        )


class FixedParameter(RosError):
    """A parameter that cannot be changed in the present state."""

    def __init__(self, key: str) -> None:
        """Name the parameter and when it can be changed."""
        hint = 'activate the node to swap, or clean it up' if key == 'controller' else 'clean up'
        super().__init__(f'{key}: fixed while the node is configured; {hint} first')
