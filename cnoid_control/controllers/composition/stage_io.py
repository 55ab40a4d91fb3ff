"""The door of a controller inside a composition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cnoid_control.parameters import parse_parameters
from cnoid_control.parameters.exceptions import UnknownParameter
from cnoid_control.plugin import ControllerIO, SimpleController
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
        super().__init__(name, outer.body.clone(), outer.time_step, options, parameters, outer.os)
        self.outer = outer
        self.current_time = outer.current_time

    def renew(self) -> None:
        """Be as new: nothing enabled, the body in the state that the composition's is in.

        Quicker than another clone, so that stages can change within a tick.
        """
        self.inputs.clear()
        self.outputs.clear()
        self.device_inputs.clear()
        self.no_delay_mode = False
        self.current_time = self.outer.current_time
        source = self.outer.body
        for name, array in source.joint_arrays.items():
            self.body.joint_arrays[name][:] = array
        for mine, theirs in zip(self.body.links, source.links, strict=True):
            mine.actuation_mode = theirs.actuation_mode
        for own, device in zip(self.body.devices, source.devices, strict=True):
            own.copy_state_from(device)
        self.body.restore_state(source.save_state())

    def mailbox(self, name: str, kind: type[MessageT], topic: str = '') -> Mailbox[MessageT]:
        """Mailbox of the composition under the name `stage/name`."""
        full = f'{self.controller_name}/{name}'
        self.mailboxes[name] = self.outer.mailbox(full, kind, topic or f'~/{full}')
        return self.mailboxes[name]

    def log(self, name: str, value: float | np.ndarray) -> None:
        """Record a value under `stage/name`."""
        self.outer.log(f'{self.controller_name}/{name}', value)

    def get_or_create_shared_object(self, name: str, factory: Any) -> Any:
        """Object that all controllers of the composition share."""
        return self.outer.get_or_create_shared_object(name, factory)

    def find_shared_object(self, name: str) -> Any:
        """Shared object of that name; None where there is none."""
        return self.outer.find_shared_object(name)


def check_options(
    name: str, controller: type[SimpleController], options: Mapping[str, Any]
) -> Any:
    """Options of a controller as an instance of its `Parameters`; None where it has none.

    Raises:
        ParameterError: an option is not one of the controller's, or has a wrong value.
    """
    if controller.Parameters is None:
        if options:
            raise UnknownParameter(f'{name}.{next(iter(options))}', [])
        return None
    return parse_parameters(controller.Parameters, options, name)
