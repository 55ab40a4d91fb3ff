"""ControllerConfig and ControllerIO: what a controller gets from its host."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO, TypeVar

import numpy as np

from cnoid_control.body import Body, Device, JointType, Link, StateFlag
from cnoid_control.plugin.exceptions import ControllerError
from cnoid_control.plugin.limit_counts import LimitCounts
from cnoid_control.plugin.mailbox import Mailbox, MessageT
from cnoid_control.plugin.options import format_option_string, parse_option_string, split_options


class ControllerConfig:
    """The controller's name, options and target, for `SimpleController.configure`.

    Attributes:
        controller_name: name of this controller in the run.
        body: the robot's model; not the body that is read and commanded in a run.
        parameters: the options as a checked instance of the controller's `Parameters`; None for a
            controller that declares none.
        os: stream for the controller's messages.
        time_step: period of the ticks [s].
        current_time: time of the present tick [s], 0 before and at the first.
        folder: folder that relative paths in the options start from: the configuration's.
    """

    def __init__(
        self,
        controller_name: str,
        body: Body,
        options: str | Mapping[str, Any] = '',
        parameters: Any = None,
        os: TextIO | None = None,
        time_step: float = 0.0,
        folder: Path | None = None,
    ) -> None:
        """Collect it; options given as a mapping become a line of YAML."""
        self.time_step = time_step
        self.current_time = 0.0
        self.controller_name = controller_name
        self.body = body
        self.folder = folder or Path()
        self._options: str | dict[str, Any] = ''
        self.set_options(options, parameters)
        self.os: TextIO = os if os is not None else sys.stderr

    def set_options(self, options: str | Mapping[str, Any], parameters: Any) -> None:
        """Replace the options; for the host."""
        # What was given is the caller's, and few ask for it as text, which takes its time.
        self._options = options if isinstance(options, str) else copy.deepcopy(dict(options))
        self.parameters = parameters

    @property
    def option_string(self) -> str:
        """The options as one line of text."""
        if not isinstance(self._options, str):
            self._options = format_option_string(self._options)
        return self._options

    @option_string.setter
    def option_string(self, text: str) -> None:
        self._options = text

    @property
    def options(self) -> list[str]:
        """The option string split at spaces, with quotes and backslashes resolved."""
        return split_options(self.option_string)

    @property
    def structured_options(self) -> dict[str, Any] | None:
        """The option string as a YAML mapping; None, with a message on `os`, where it is none."""
        try:
            return parse_option_string(self.option_string)
        except ValueError as error:
            print(f'{self.controller_name}: {error}', file=self.os)
            return None


SharedT = TypeVar('SharedT')

JOINT_MODES = StateFlag.JOINT_EFFORT | StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY


class ControllerIO(ControllerConfig):
    """Inputs and outputs of one controller, for `SimpleController.initialize`.

    `body` is a clone of the robot for this controller alone: each tick the enabled inputs are
    copied into it before control(), and the enabled outputs out of it afterwards. An input that
    was not enabled keeps its initial value; an output that was not enabled goes nowhere.

    Attributes:
        no_delay_mode: whether commands act in the step in which they were computed, not in the
            next one.
        inputs: what is read of each link, by link name.
        outputs: names of the links that are commanded by what their actuation mode says.
        device_inputs: names of the devices that are read.
        device_outputs: names of the devices whose output was enabled.
        mailboxes: mailboxes by name.
        log_fields: what the controller has logged in this tick, by name.
        limit_counts: how often each joint was limited in the run, by kind of limit; None outside
            a run.
        allows_scripts: whether what the configuration scripts may move the robot without anybody
            who asks for it now: in a simulation, and where it was allowed.
    """

    def __init__(
        self,
        controller_name: str,
        body: Body,
        time_step: float,
        options: str | Mapping[str, Any] = '',
        parameters: Any = None,
        os: TextIO | None = None,
        shared_objects: dict[str, Any] | None = None,
        folder: Path | None = None,
        allows_scripts: bool = True,
    ) -> None:
        """Open the door with nothing enabled.

        Args:
            controller_name: name of this controller in the run.
            body: the clone to read from and to write to.
            time_step: period of the ticks [s].
            options: its options, as text or as a mapping.
            parameters: its options, checked.
            os: stream for its messages.
            shared_objects: the objects of the controllers that share the body.
            folder: folder that relative paths in its options start from.
            allows_scripts: whether scripts may move the robot.
        """
        super().__init__(controller_name, body, options, parameters, os, time_step, folder)
        self.no_delay_mode = False
        self.inputs: dict[str, StateFlag] = {}
        self.outputs: set[str] = set()
        self.device_inputs: set[str] = set()
        self.device_outputs: set[str] = set()
        self.mailboxes: dict[str, Mailbox[Any]] = {}
        self.log_fields: dict[str, str | np.ndarray] = {}
        self.limit_counts: LimitCounts | None = None
        self.allows_scripts = allows_scripts
        self._shared_objects = shared_objects if shared_objects is not None else {}

    @property
    def is_no_delay_mode(self) -> bool:
        """Choreonoid's name for `no_delay_mode`."""
        return self.no_delay_mode

    @is_no_delay_mode.setter
    def is_no_delay_mode(self, value: bool) -> None:
        self.no_delay_mode = value

    # What older versions of Choreonoid call it.
    is_immediate_mode = is_no_delay_mode
    immediate_mode = is_no_delay_mode

    def enable_io(self, link: Link) -> None:
        """Enable input and output of a link or joint as its actuation mode suggests."""
        self.enable_input(link)
        self.enable_output(link)

    def enable_input(self, target: Link | Device, flags: StateFlag | None = None) -> None:
        """Read a link, a joint or a device from now on.

        Args:
            target: link or device of `body`.
            flags: what to read of a link, added to what was enabled before; where None, q for a
                joint that is commanded, and the pose too for a link that is pushed.

        Raises:
            ControllerError: the link or device is of another body.
        """
        if isinstance(target, Device):
            self._check_device(target)
            self.device_inputs.add(target.name)
            return
        self._check_link(target)
        if _is_hole(target):
            return
        if flags is None:
            flags = _default_input(target)
        self.inputs[target.name] = self.inputs.get(target.name, StateFlag.NONE) | flags

    def enable_output(self, target: Link | Device, flags: StateFlag | None = None) -> None:
        """Command a link, a joint or a device from now on.

        A device that a controller changes needs no enabling: `notify_state_change` sends it. One
        that is enabled is demanded: initialize() fails where nothing would obey it.

        Args:
            target: link or device of `body`.
            flags: what it is commanded by, becomes its actuation mode, NONE for no output; where
                None, what its actuation mode says at the end of initialize().

        Raises:
            ControllerError: the link or device is of another body.
        """
        if isinstance(target, Device):
            self._check_device(target)
            self.device_outputs.add(target.name)
            return
        link = target
        self._check_link(link)
        if flags is not None:
            link.actuation_mode = StateFlag(flags)
        if flags is not None and not flags:
            self.outputs.discard(link.name)
        elif not _is_hole(link):
            self.outputs.add(link.name)

    def get_or_create_shared_object(self, name: str, factory: Callable[[], SharedT]) -> SharedT:
        """Object that this controller shares with its sub-controllers, made where missing."""
        if name not in self._shared_objects:
            self._shared_objects[name] = factory()
        return self._shared_objects[name]

    def find_shared_object(self, name: str) -> Any:
        """Shared object of that name; None where there is none."""
        return self._shared_objects.get(name)

    def mailbox(self, name: str, kind: type[MessageT], topic: str = '') -> Mailbox[MessageT]:
        """Mailbox for messages from outside; the same one each time for the same name.

        Args:
            name: name of the mailbox.
            kind: class of its messages (see `cnoid_control.plugin.mailbox`).
            topic: relative ROS topic that feeds it; `~/<name>` where empty.

        Raises:
            ControllerError: there is one of that name for another kind, or what would feed it is
                no topic name.
        """
        found = self.mailboxes.get(name)
        if found is None:
            found = self.mailboxes[name] = Mailbox(name, kind, topic)
        if found.kind is not kind:
            raise ControllerError(
                f'mailbox {name!r} takes {found.kind.__name__} already, not {kind.__name__}'
            )
        return found

    def log(self, name: str, value: float | np.ndarray | str) -> None:
        """Record a number, a vector or a text of the controller's own in this tick's log."""
        # A copy: the controller may reuse its array before the tick is recorded.
        self.log_fields[name] = value if isinstance(value, str) else np.array(value, dtype=float)

    def count_limited(self, kind: str, joints: np.ndarray) -> None:
        """Count joints whose command the controller itself has limited in this tick.

        The run's summary and the diagnostics name them, as those that the last gate limits. An
        effort that is sent at its limit is counted there, and not twice.

        Args:
            kind: kind of limit: 'effort', 'velocity', 'position'.
            joints: ids of the joints.
        """
        if self.limit_counts is not None:
            self.limit_counts.add(kind, joints)

    def _check_link(self, link: Link) -> None:
        if link.body is not self.body:
            raise _foreign_item(link, self.controller_name)

    def _check_device(self, device: Device) -> None:
        if not any(device is own for own in self.body.devices):
            raise _foreign_item(device, self.controller_name)


def _is_hole(link: Link) -> bool:
    """Whether a link only fills a hole in the joint ids: there is nothing to read or command."""
    return link.index < 0


def _default_input(link: Link) -> StateFlag:
    flags = StateFlag.NONE
    mode = link.actuation_mode
    if mode & JOINT_MODES and link.joint_type is not JointType.PSEUDO_CONTINUOUS_TRACK:
        flags |= StateFlag.JOINT_DISPLACEMENT
    if mode & StateFlag.LINK_EXT_WRENCH:
        flags |= StateFlag.LINK_POSITION
    return flags


def _foreign_item(item: object, controller: str) -> ControllerError:
    """The error about a link or device of another body than the one that is controlled."""
    return ControllerError(
        f'controller {controller!r} enabled {item!r}, which is not of io.body; '
        'links and devices of config.body or of a clone carry no input or output'
    )
