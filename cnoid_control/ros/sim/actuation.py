"""Actuation of the simulated robot: received commands to joints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cnoid_control.body import JointType, StateFlag
from cnoid_control.body.channels import BY_INTERFACE, CHANNELS, POSITION, VELOCITY, mode_of
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.ros.sim.commands import CommandInput

# A bit for each interface; sets of interfaces are sums of bits.
BITS = {name: 1 << place for place, name in enumerate(BY_INTERFACE)}
# The actuation mode of each set; None where it is none.
MODES = [
    mode_of([name for name, bit in BITS.items() if bits & bit]) for bits in range(1 << len(BITS))
]
IS_MODE = np.array([mode is not None for mode in MODES])


class SimulatedActuation:
    """Drives each joint by the interfaces that commands have come for.

    A joint whose controllers were exchanged goes on with its last command until every new one has
    sent one; a joint that lost a controller keeps the last command of that one.
    """

    def __init__(self, hardware: MujocoHardware, devices: Iterable[str]) -> None:
        """Read everything that is published; actuate nothing before commands arrive."""
        self._hardware = hardware
        self._body = hardware.body
        self._devices = set(devices)
        # The interfaces that each joint is driven by, as bits.
        self._interfaces = np.zeros(self._body.num_joints, dtype=int)
        self._commands = {name: np.zeros(self._body.num_joints) for name in BY_INTERFACE}
        self._groups: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.open()

    def open(self) -> None:
        """Give the hardware its channels; what joints get before the next command is as soft.

        Joints that begin with efforts start with the effort that acts now, those that begin with
        positions where they are, those that begin with velocities at rest.
        """
        body = self._body
        joint_inputs = StateFlag(sum(channel.flag for channel in CHANNELS))
        inputs = {joint.name: joint_inputs for joint in body.joints if joint.name}
        root = body.root_link.name
        inputs[root] = (
            inputs.get(root, StateFlag.NONE) | StateFlag.LINK_POSITION | StateFlag.LINK_TWIST
        )
        outputs = {
            joint.name: mode
            for joint, bits in zip(body.joints, self._interfaces, strict=True)
            if joint.name and (mode := MODES[bits]) is not None
        }
        self._groups = [
            (
                body.joint_arrays[channel.command],
                np.flatnonzero(self._interfaces & BITS[name]),
                self._commands[name],
            )
            for name, channel in BY_INTERFACE.items()
            if (self._interfaces & BITS[name]).any()
        ]
        self._hardware.open(IORequest(inputs=inputs, outputs=outputs, devices=self._devices))

    def hold(self) -> None:
        """Hold all joints where they are by their servos; the surfaces of tracks stand still."""
        tracks = [
            joint.joint_type is JointType.PSEUDO_CONTINUOUS_TRACK for joint in self._body.joints
        ]
        by_velocity, by_position = BITS[VELOCITY.interface], BITS[POSITION.interface]
        self._interfaces[:] = np.where(tracks, by_velocity, by_position)
        self._commands[VELOCITY.interface][tracks] = 0.0
        self._body.dq_target[tracks] = 0.0
        self._commands[POSITION.interface][:] = self._body.q
        self._body.q_target[:] = self._body.q
        self.open()

    def release(self) -> None:
        """Actuate nothing until commands come."""
        self._interfaces[:] = 0
        self.open()

    def apply(self, inputs: Iterable[CommandInput]) -> None:
        """Take over the last commands of the active controllers and send them."""
        interfaces = np.zeros_like(self._interfaces)
        silent = np.zeros(interfaces.size, dtype=bool)
        for source in inputs:
            interfaces[source.slots] |= BITS[source.interface]
            if source.complete:
                self._commands[source.interface][source.slots] = source.values
            else:
                silent[source.slots] = True
        new = IS_MODE[interfaces] & ~silent & (interfaces != self._interfaces)
        changed = np.flatnonzero(new)
        if changed.size:
            self._interfaces[changed] = interfaces[changed]
            self._body.q_target[changed] = self._body.q[changed]
            self._body.dq_target[changed] = 0.0
            self.open()
        self.send()

    def send(self) -> None:
        """Send the last commands."""
        for target, slots, commands in self._groups:
            target[slots] = commands[slots]
        self._hardware.write()
