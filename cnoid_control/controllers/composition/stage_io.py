"""The door of a SimpleController within a composition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cnoid_control.body import Device
from cnoid_control.plugin import ControllerIO
from cnoid_control.plugin.mailbox import Mailbox, MessageT


class StageIO(ControllerIO):
    """Inputs and outputs of a controller that sees a clone of the composition's body.

    Mailboxes and log fields are the composition's, under the stage's name.

    Attributes:
        outer: io of the composition.
    """

    def __init__(
        self, name: str, outer: ControllerIO, options: Mapping[str, Any], parameters: Any
    ) -> None:
        """Open a door to a clone of the composition's body as it is now."""
        super().__init__(
            name,
            outer.body.clone(),
            outer.time_step,
            options,
            parameters,
            outer.os,
            folder=outer.folder,
        )
        self.outer = outer
        self.current_time = outer.current_time
        # Indices of the devices that the controller has changed, and the one that is being read.
        self._changed: set[int] = set()
        self._arriving = -1
        for device in self.body.devices:
            device.state_changed.connect(self._note_change)

    def _note_change(self, device: Device) -> None:
        if device.index != self._arriving:
            self._changed.add(device.index)

    def read_device(self, device: Device) -> None:
        """Take the state of a device over from the composition's body, and say so."""
        device.copy_state_from(self.outer.body.devices[device.index])
        self._arriving = device.index
        try:
            device.notify_state_change()
        finally:
            self._arriving = -1

    def send_devices(self) -> None:
        """Hand the devices that the controller has changed over to the composition's body."""
        if self._changed:
            changed = sorted(self._changed)
            self._changed.clear()
            for index in changed:
                device = self.outer.body.devices[index]
                device.copy_state_from(self.body.devices[index])
                device.notify_state_change()

    def count_limited(self, kind: str, joints: np.ndarray) -> None:
        """Count what the controller has limited as the composition's."""
        self.outer.count_limited(kind, joints)

    def renew(self) -> None:
        """Be as new: nothing enabled, the body in the state that the composition's is in.

        Quicker than another clone, so that stages can change within a tick.
        """
        self.inputs.clear()
        self.outputs.clear()
        self.device_inputs.clear()
        self.device_outputs.clear()
        self._changed.clear()
        self.no_delay_mode = False
        self.current_time = self.outer.current_time
        self.body.copy_state_from(self.outer.body)

    def mailbox(self, name: str, kind: type[MessageT], topic: str = '') -> Mailbox[MessageT]:
        """Mailbox of the composition under the name `stage/name`."""
        full = f'{self.controller_name}/{name}'
        self.mailboxes[name] = self.outer.mailbox(full, kind, topic or f'~/{full}')
        return self.mailboxes[name]

    def log(self, name: str, value: float | np.ndarray | str) -> None:
        """Record a value under `stage/name`."""
        self.outer.log(f'{self.controller_name}/{name}', value)

    def get_or_create_shared_object(self, name: str, factory: Any) -> Any:
        """Object that all controllers of the composition share."""
        return self.outer.get_or_create_shared_object(name, factory)

    def find_shared_object(self, name: str) -> Any:
        """Shared object of that name; None where there is none."""
        return self.outer.find_shared_object(name)
