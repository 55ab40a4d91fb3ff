"""What the numbers of an action do to a controller that goes on by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pinocchio as pin

from cnoid_control.body import Body
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.plugin.mailbox import (
    JointTrajectory,
    JointValues,
    Mailbox,
    Message,
    Pose,
    Twist,
    Value,
)
from cnoid_control.runtime.managed_controller import ManagedController

XYZ = ('x', 'y', 'z')
RPY = ('roll', 'pitch', 'yaw')
TWIST = (*(f'linear.{axis}' for axis in XYZ), *(f'angular.{axis}' for axis in XYZ))
MESSAGES = (Value, Twist, Pose, JointValues, JointTrajectory)


class Action(Protocol):
    """What takes the numbers of an action.

    Attributes:
        names: what each number is.
        low, high: their bounds; not finite where somebody has to say them.
    """

    names: list[str]
    low: np.ndarray
    high: np.ndarray

    def act(self, values: np.ndarray) -> None:
        """Have the controller follow these numbers from its next tick on."""


def make_action(
    text: str, managed: ManagedController, fields: Sequence[str], period: float
) -> Action:
    """Action of a running controller.

    Args:
        text: 'mailbox:NAME' or 'option:KEY'.
        managed: the controller, initialized.
        fields: the numbers of the message or option that are set; all where empty.
        period: time between two actions [s].

    Raises:
        CnoidControlError: the controller has no such mailbox or option, or it is not of numbers.
    """
    kind, _, name = text.partition(':')
    if kind == 'mailbox':
        assert managed.io is not None  # It was initialized.
        mailboxes = managed.io.mailboxes
        if name not in mailboxes:
            known = choices(f'mailbox:{one}' for one in mailboxes)
            raise CnoidControlError(
                f'action {text!r}: {managed.name!r} has no mailbox {name!r}; {known}'
            )
        return MailboxAction(mailboxes[name], managed.io.body, fields, period)
    return OptionAction(managed, name, fields)


class MailboxAction:
    """Numbers that become a message for the controller."""

    def __init__(
        self, mailbox: Mailbox[Any], body: Body, fields: Sequence[str], period: float
    ) -> None:
        """Find out which numbers the messages have.

        Raises:
            CnoidControlError: they have none, or not those of `fields`.
        """
        self._mailbox, self._period = mailbox, period
        joints = body.joint_names
        known: dict[type[Message], Sequence[str]] = {
            Value: ('value',),
            Twist: TWIST,
            Pose: (*XYZ, *RPY),
            JointValues: joints,
            JointTrajectory: joints,
        }
        kind = next((one for one in known if issubclass(mailbox.kind, one)), None)
        if kind is None:
            raise CnoidControlError(
                f'mailbox {mailbox.name!r} takes {mailbox.kind.__name__}, which is not made of '
                f'numbers; only {", ".join(one.__name__ for one in MESSAGES)} are'
            )
        self._kind = kind
        self.names = _chosen(f'mailbox {mailbox.name!r}', fields, known[kind])
        self.low, self.high = np.full(len(self.names), -1.0), np.full(len(self.names), 1.0)
        if kind in (JointValues, JointTrajectory):
            ids = body.joint_ids(self.names)
            self.low, self.high = body.q_lower[ids].copy(), body.q_upper[ids].copy()
        elif kind is Pose:
            # Where it may go nobody knows but the user.
            self.low, self.high = np.full((2, len(self.names)), np.nan)

    def act(self, values: np.ndarray) -> None:
        """Post the message."""
        self._mailbox.post(self._message(dict(zip(self.names, values.tolist(), strict=True))))

    def _message(self, values: Mapping[str, float]) -> Message:
        if self._kind is Value:
            return Value(value=values['value'])
        if self._kind is Twist:
            twist = np.array([values.get(name, 0.0) for name in TWIST])
            return Twist(linear=twist[:3], angular=twist[3:])
        if self._kind is Pose:
            turn = pin.rpy.rpyToMatrix(*(values.get(name, 0.0) for name in RPY))
            place = np.array([values.get(name, 0.0) for name in XYZ])
            return Pose(T=pin.SE3(turn, place).homogeneous)
        names, numbers = tuple(values), np.array(list(values.values()))
        if self._kind is JointValues:
            return JointValues(names=names, position=numbers)
        return JointTrajectory(
            names=names, times=np.array([self._period]), positions=numbers[np.newaxis]
        )


class OptionAction:
    """Numbers that become an option of the controller, such as the posture that it holds."""

    def __init__(self, managed: ManagedController, key: str, fields: Sequence[str]) -> None:
        """Find out which numbers the option has.

        Raises:
            CnoidControlError: the controller has no such option, or it is not of numbers.
        """
        self._managed, self._key = managed, key
        parameters = managed.parameters
        known = list(vars(parameters)) if parameters is not None else []
        if key not in known:
            raise CnoidControlError(
                f'action {f"option:{key}"!r}: {managed.name!r} has no option {key!r}; '
                f'{choices(f"option:{one}" for one in known)}'
            )
        assert managed.io is not None  # It was initialized.
        body = managed.io.body
        value = getattr(parameters, key)
        self._form: type
        if isinstance(value, (bool, int, float)) and not isinstance(value, bool):
            self.names, self._form = _chosen(f'option {key!r}', fields, [key]), float
        elif key == 'posture':
            self.names, self._form = _chosen(f'option {key!r}', fields, body.joint_names), dict
        elif isinstance(value, dict) and all(isinstance(one, float) for one in value.values()):
            self.names, self._form = _chosen(f'option {key!r}', fields, list(value)), dict
        elif isinstance(value, list) and all(isinstance(one, float) for one in value) and value:
            self.names, self._form = [f'{key}.{i}' for i in range(len(value))], list
        else:
            raise CnoidControlError(
                f'option {key!r} of {managed.name!r} is {value!r}: no numbers that an action '
                'could be'
            )
        self.low, self.high = np.full((2, len(self.names)), np.nan)
        if key == 'posture':
            ids = body.joint_ids(self.names)
            self.low, self.high = body.q_lower[ids].copy(), body.q_upper[ids].copy()

    def act(self, values: np.ndarray) -> None:
        """Have the controller use the option.

        Raises:
            CnoidControlError: the controller cannot change it while it runs, or not to this.
        """
        managed = self._managed
        value: Any = values.tolist()
        if self._form is float:
            value = value[0]
        elif self._form is dict:
            value = dict(zip(self.names, value, strict=True))
            before = getattr(managed.parameters, self._key)
            value = {**before, **value} if isinstance(before, dict) else value
        parameters = replace(managed.parameters, **{self._key: value})
        managed.change_options(managed.options, parameters)


def _chosen(what: str, fields: Sequence[str], known: Sequence[str]) -> list[str]:
    for name in fields:
        if name not in known:
            raise CnoidControlError(f'{what} has no field {name!r}; {choices(known)}')
    if len(set(fields)) < len(fields):
        raise CnoidControlError(f'fields of {what}: {list(fields)} names one twice')
    return list(fields or known)
