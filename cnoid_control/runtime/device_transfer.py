"""Carries device states between the robot and a controller's body when they were changed."""

from __future__ import annotations

from collections.abc import Collection

from cnoid_control.body import Body, Device


class DeviceTransfer:
    """Devices of one controller and of its sub-controllers, which share its body.

    A state crosses only after `notify_state_change`: sensor states towards the controller that
    enabled them, changes that the controller made (a light switched off) towards the robot.

    Attributes:
        reads: whether any device is read.
    """

    def __init__(self, own: Body, robot: Body, enabled: Collection[str]) -> None:
        """Listen to the devices of both bodies.

        Args:
            own: body of the controllers.
            robot: body of the hardware.
            enabled: names of the devices that the controllers read.
        """
        self.reads = bool(enabled)
        self._robot_devices = robot.devices
        self._own_devices = own.devices
        self._incoming: set[int] = set()
        self._outgoing: set[int] = set()
        # Index of the device whose state crosses right now: its echo is not sent back.
        self._crossing = -1
        self._disconnect = [
            device.state_changed.connect(self._note_incoming)
            for device in robot.devices
            if device.name in enabled
        ]
        self._disconnect += [
            device.state_changed.connect(self._note_outgoing) for device in own.devices
        ]

    def _note_incoming(self, device: Device) -> None:
        if device.index != self._crossing:
            self._incoming.add(device.index)

    def _note_outgoing(self, device: Device) -> None:
        if device.index != self._crossing:
            self._outgoing.add(device.index)

    def input(self) -> None:
        """Take over the states that have changed, and say so on the controller's side."""
        if self._incoming:
            indices = sorted(self._incoming)
            self._incoming.clear()
            self._carry(indices, self._robot_devices, self._own_devices)

    def output(self) -> None:
        """Hand over the states that the controller has changed, and say so on the robot's side."""
        if self._outgoing:
            indices = sorted(self._outgoing)
            self._outgoing.clear()
            self._carry(indices, self._own_devices, self._robot_devices)

    def _carry(self, indices: list[int], source: list[Device], target: list[Device]) -> None:
        for index in indices:
            target[index].copy_state_from(source[index])
            self._crossing = index
            try:
                target[index].notify_state_change()
            finally:
                self._crossing = -1

    def close(self) -> None:
        """Stop listening."""
        for disconnect in self._disconnect:
            disconnect()
