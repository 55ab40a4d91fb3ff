"""What joint actuators cannot do: one class per fact."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class DriveError(CnoidControlError):
    """A command that the joint actuators cannot take."""


class UnknownDrivenJoint(DriveError):
    """A joint that is not driven by these actuators."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        """Name the joint and the joints that are driven."""
        super().__init__(f'unknown joint {name!r}; {choices(known)}')


class TorqueNotAvailable(DriveError):
    """A torque for joints that only take positions."""

    def __init__(self, joints: Iterable[str]) -> None:
        """Name the joints."""
        super().__init__(
            f'{", ".join(joints)}: position servos take no torque; '
            "use actuators 'hardware' or 'controller'"
        )
