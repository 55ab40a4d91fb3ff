"""Copies of inputs and outputs between the robot's body and a controller's."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

import numpy as np

from cnoid_control.body import Body, Device, Link, StateFlag
from cnoid_control.body.channels import CHANNELS, COMMAND_CHANNELS, POSITION, commanded_flags
from cnoid_control.body.copies import copy_call
from cnoid_control.body.joint_values import BLOCK_ARRAYS
from cnoid_control.plugin import ControllerIO

Copy = Callable[[], None]

JOINT_INPUTS = {channel.flag: channel.state for channel in CHANNELS}
JOINT_INPUTS[StateFlag.JOINT_ACCELERATION] = 'ddq'
JOINT_OUTPUTS: dict[str, Callable[[StateFlag], object]] = {
    channel.command: channel.serves for channel in COMMAND_CHANNELS
}
JOINT_OUTPUTS['ddq'] = StateFlag.JOINT_ACCELERATION.__and__
LINK_VALUES = {
    StateFlag.LINK_POSITION: ('R', 'p'),
    StateFlag.LINK_TWIST: ('v', 'w'),
    StateFlag.LINK_ACCELERATION: ('dv', 'dw'),
}


class IOTransfer:
    """The copying for one controller, compiled once into a list of calls.

    What a controller enabled is fixed when its initialize() has returned, so each tick only runs
    through precomputed array copies.

    Attributes:
        inputs: calls that refresh the controller's body.
        outputs: calls that hand its commands to the robot's body.
    """

    def __init__(self, io: ControllerIO, robot: Body) -> None:
        """Compile the copies between `io.body` and the robot's body."""
        self._robot = robot
        self._own = io.body
        self.inputs: list[Copy] = []
        self.outputs: list[Copy] = []
        self._compile_inputs(io)
        self._compile_outputs(io)

    def _compile_inputs(self, io: ControllerIO) -> None:
        flags_of = {self._own.link(name): flags for name, flags in io.inputs.items()}
        joints = {
            array: [link for link, flags in flags_of.items() if flags & flag]
            for flag, array in JOINT_INPUTS.items()
        }
        self.inputs += joint_copies(self._own, self._robot, joints)
        for link, flags in flags_of.items():
            source = self._robot.links[link.index]
            for flag, names in LINK_VALUES.items():
                if flags & flag:
                    self.inputs.append(partial(_copy_link_values, link, source, names))
            if flags & StateFlag.LINK_EXT_WRENCH:
                self.inputs.append(partial(np.copyto, link.F_ext, source.F_ext))
            if flags & StateFlag.LINK_CONTACT_STATE:
                self.inputs.append(partial(_copy_contacts, link, source))

    def _compile_outputs(self, io: ControllerIO) -> None:
        links = sorted((self._own.link(name) for name in io.outputs), key=lambda ln: ln.index)
        joints = {
            array: [link for link in links if is_used(link.actuation_mode)]
            for array, is_used in JOINT_OUTPUTS.items()
        }
        # q_target goes along in every mode: where it is no command it is the reference.
        joints[POSITION.command] = links
        self.outputs += joint_copies(self._robot, self._own, joints)
        for link in links:
            target = self._robot.links[link.index]
            mode = commanded_flags(link, link.actuation_mode)
            for flag, names in LINK_VALUES.items():
                if mode & flag:
                    self.outputs.append(partial(_demand_finite, link, names))
                    self.outputs.append(partial(_copy_link_values, target, link, names))
            if mode & StateFlag.LINK_EXT_WRENCH:
                wrench = target.F_ext
                self.outputs.append(partial(_demand_finite, link, ('F_ext',)))
                # Controllers add up; the host has set the sum to 0 at the start of the tick.
                self.outputs.append(partial(np.add, wrench, link.F_ext, wrench))


def joint_slot(link: Link) -> int:
    """Row of a link's joint in the joint arrays, virtual joints included; -1 for none."""
    if link.index < 0:
        return link.joint_id
    return link.body.tree.joint_slots[link.index]


def joint_copies(target: Body, source: Body, joints: Mapping[str, Iterable[Link]]) -> list[Copy]:
    """Cheapest calls that copy elements of joint arrays.

    Args:
        target: body to copy to.
        source: body to copy from.
        joints: the joints whose elements are copied, by joint array.
    """
    copies: list[Copy] = []
    whole_rows: list[int] = []
    for array, links in joints.items():
        slots = sorted({slot for slot in map(joint_slot, links) if slot >= 0})
        if len(slots) == target.tree.num_slots > 0 and array in BLOCK_ARRAYS:
            whole_rows.append(BLOCK_ARRAYS.index(array))
        elif slots:
            to = target.joint_arrays[array].view(np.ndarray)
            of = source.joint_arrays[array].view(np.ndarray)
            copies.append(_copy_slots(to, of, slots))
    for first, end in _runs(sorted(whole_rows)):
        copies.append(copy_call(target.joint_block[first:end], source.joint_block[first:end]))
    return copies


def _copy_slots(to: np.ndarray, of: np.ndarray, slots: list[int]) -> Copy:
    for first, end in _runs(slots):
        if end - first == len(slots):
            return copy_call(to[first:end], of[first:end])
    mask = np.zeros(len(to), dtype=bool)
    mask[slots] = True
    return partial(np.copyto, to, of, where=mask)


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Ranges of consecutive numbers: first and one behind the last."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return runs


def _copy_link_values(target: Link, source: Link, names: tuple[str, ...]) -> None:
    for name in names:
        setattr(target, name, getattr(source, name))


def _demand_finite(link: Link, names: tuple[str, ...]) -> None:
    for name in names:
        value = getattr(link, name)
        # A square that overflows is no command either.
        if not math.isfinite(np.vdot(value, value)):
            raise ValueError(f'{name} of link {link.name!r} is commanded as {value.tolist()}')


def _copy_contacts(target: Link, source: Link) -> None:
    target.contact_points = list(source.contact_points)


class DeviceTransfer:
    """Devices of one controller and of its sub-controllers, which share its body.

    A state crosses only after `notify_state_change`: sensor states towards the controller that
    enabled them, changes that the controller made (a light switched off) towards the robot.

    Attributes:
        reads: whether any device is read.
        has_sent: whether the controller has changed a device of the robot.
        outgoing: indices of the devices whose states are to be handed over by `output`.
    """

    def __init__(self, own: Body, robot: Body) -> None:
        """Take note of what the controllers change from now on, in initialize() already.

        Args:
            own: body of the controllers.
            robot: body of the hardware.
        """
        self.reads = False
        self.has_sent = False
        self._robot_devices = robot.devices
        self._own_devices = own.devices
        self._incoming: set[int] = set()
        self.outgoing: set[int] = set()
        self._arrived: list[int] = []
        # Index of the device whose state crosses right now: its echo is not sent back.
        self._crossing = -1
        self._disconnect = [
            device.state_changed.connect(self._note_outgoing) for device in own.devices
        ]

    def listen(self, enabled: Collection[str]) -> None:
        """Bring the states of these devices to the controllers from now on."""
        self.reads = bool(enabled)
        self._disconnect += [
            device.state_changed.connect(self._note_incoming)
            for device in self._robot_devices
            if device.name in enabled
        ]

    def _note_incoming(self, device: Device) -> None:
        if device.index != self._crossing:
            self._incoming.add(device.index)

    def _note_outgoing(self, device: Device) -> None:
        if device.index != self._crossing:
            self.outgoing.add(device.index)

    def input(self) -> None:
        """Take over the states that have changed; `announce` says so on the controller's side."""
        if self._incoming:
            self._arrived = sorted(self._incoming)
            self._incoming.clear()
            for index in self._arrived:
                self._own_devices[index].copy_state_from(self._robot_devices[index])

    def announce(self) -> None:
        """Say on the controller's side which states have come; that may call controllers."""
        if self._arrived:
            arrived, self._arrived = self._arrived, []
            self._notify(arrived, self._own_devices)

    def output(self) -> None:
        """Hand over the states that the controller has changed, and say so on the robot's side.

        Raises:
            ValueError: a device cannot be what the controller has made of it.
        """
        if self.outgoing:
            self.has_sent = True
            indices = sorted(self.outgoing)
            self.outgoing.clear()
            for index in indices:
                problem = self._own_devices[index].problem()
                if problem:
                    raise ValueError(problem)
                self._robot_devices[index].copy_state_from(self._own_devices[index])
            self._notify(indices, self._robot_devices)

    def _notify(self, indices: list[int], devices: list[Device]) -> None:
        for index in indices:
            self._crossing = index
            try:
                devices[index].notify_state_change()
            finally:
                self._crossing = -1

    def close(self) -> None:
        """Stop listening."""
        for disconnect in self._disconnect:
            disconnect()
