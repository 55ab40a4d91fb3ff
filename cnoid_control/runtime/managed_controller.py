"""One controller in its life cycle, with its sub-controllers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from cnoid_control.body import Body, StateFlag
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.plugin import ControllerConfig, ControllerIO, SimpleController
from cnoid_control.plugin.options import change_options, check_options
from cnoid_control.runtime.exceptions import (
    ControllerFailed,
    ControllerRaised,
    controller_refused,
    result_not_bool,
)
from cnoid_control.runtime.io_transfer import DeviceTransfer, IOTransfer
from cnoid_control.runtime.strict_io import StrictIO


class ManagedController:
    """A controller, what it was given and how far it has come.

    The methods are the phases of the life cycle; they raise a `ControllerFailed` where the phase
    failed, by a False, an exception or a result that is no bool, and leave it to the host what
    follows from that. Sub-controllers share the parent's body and are led by the parent.

    Attributes:
        name: name of the controller in the run.
        controller: the instance.
        options: its options, as text or as a mapping.
        children: its sub-controllers in the order in which they are called.
        folder: folder that relative paths in its options start from; the working folder where
            None.
        allows_scripts: whether scripts in its options may move the robot.
        parameters: its options, checked; None for a controller that declares none.
        io: its door to the robot, from initialize() on.
        request: what it reads and commands, fixed when initialize() has returned: what it changes
            later in its body, or asks of its io, is not what the robot was made ready for.
        configured, started: how far it has come.
        strict: what watches its body, in a strict run.
    """

    def __init__(
        self,
        name: str,
        controller: SimpleController,
        options: str | Mapping[str, Any] = '',
        children: list[ManagedController] | None = None,
        folder: Path | None = None,
        allows_scripts: bool = True,
    ) -> None:
        """Take a controller in.

        Raises:
            ParameterError: an option is not one of the controller's, or has a wrong value.
        """
        self.name = name
        self.controller = controller
        self.options = options
        self.children = children or []
        self.folder = folder
        self.allows_scripts = allows_scripts
        self.parameters = self.check(options)
        self.io: ControllerIO | None = None
        self.request = IORequest()
        self.configured = False
        self.started = False
        self.transfer: IOTransfer | None = None
        self.devices: DeviceTransfer | None = None
        self.strict: StrictIO | None = None

    def check(self, options: str | Mapping[str, Any]) -> Any:
        """Options as a checked instance of the controller's `Parameters`; None without any.

        Raises:
            ParameterError: an option is unknown, missing, of the wrong type or out of range.
        """
        return check_options(self.name, type(self.controller), options, self.folder)

    def with_children(self) -> Iterator[ManagedController]:
        """The controller and its sub-controllers, parents before children."""
        yield self
        for child in self.children:
            yield from child.with_children()

    # --- phases -------------------------------------------------------------------------------

    def configure(self, model: Body, time_step: float, os: TextIO) -> list[ControllerFailed]:
        """Configure the controller and then its sub-controllers.

        Args:
            model: the robot's model.
            time_step: period of the ticks [s].
            os: stream for messages.

        Returns:
            What was wrong with sub-controllers; those are left out.

        Raises:
            ControllerFailed: it failed.
        """
        if self.configured:
            self.unconfigure()
        config = ControllerConfig(
            self.name, model, self.options, self.parameters, os, time_step, self.folder
        )
        self._demand('configure', self.controller.configure, config)
        self.configured = True
        return self._keep_children(lambda child: child.configure(model, time_step, os))

    def initialize(
        self, robot: Body, own: Body, time_step: float, os: TextIO, shared: dict[str, Any]
    ) -> list[ControllerFailed]:
        """Initialize the controller and then its sub-controllers.

        Args:
            robot: body of the hardware.
            own: clone of it for this family of controllers.
            time_step: period of the ticks [s].
            os: stream for messages.
            shared: the family's shared objects.

        Returns:
            What was wrong with sub-controllers; those are left out.

        Raises:
            ControllerFailed: it failed.
        """
        self.io = ControllerIO(
            self.name,
            own,
            time_step,
            self.options,
            self.parameters,
            os,
            shared,
            self.folder,
            self.allows_scripts,
        )
        try:
            self._demand('initialize', self.controller.initialize, self.io)
        except ControllerFailed:
            self.io = None
            raise
        return self._keep_children(
            lambda child: child.initialize(robot, own, time_step, os, shared)
        )

    def connect(self, robot: Body) -> None:
        """Compile what is copied between the controllers' body and the robot's."""
        enabled: set[str] = set()
        for member in self.with_children():
            assert member.io is not None
            member.request = _request_of(member.io)
            enabled |= member.request.devices
            member.transfer = IOTransfer(member.io, robot)
        assert self.io is not None
        self.devices = self.devices or DeviceTransfer(self.io.body, robot)
        self.devices.listen(enabled)
        if self.strict is not None:
            self.strict.allow(
                [member.io for member in self.with_children() if member.io is not None]
            )

    def controls(self) -> list[tuple[str, Callable[[], Any]]]:
        """What a tick calls: the controller and its sub-controllers, with their names."""
        return [
            (member.name, self._guarded(member.io, member.controller.control))
            for member in self.with_children()
        ]

    def _guarded(self, io: ControllerIO | None, control: Callable[[], Any]) -> Callable[[], Any]:
        return control if self.strict is None or io is None else self.strict.guard(io, control)

    def apply_initial_commands(self, robot: Body) -> None:
        """Set the robot's actuation modes, and hand the present commands over to it."""
        self.set_modes(robot)
        for member in self.with_children():
            assert member.transfer is not None
            for copy in member.transfer.outputs:
                copy()
        if self.devices is not None:
            self.devices.output()

    def set_modes(self, robot: Body) -> None:
        """Have the robot's links commanded by what the controllers chose for them."""
        for member in self.with_children():
            assert member.io is not None
            for name, mode in member.request.outputs.items():
                link = member.io.body.link(name)
                robot.links[link.index].actuation_mode = mode

    def start(self) -> None:
        """Start the controller and then its sub-controllers; a failing one fails the whole.

        Raises:
            ControllerFailed: it or one of its sub-controllers failed.
        """
        self._demand('start', self.controller.start)
        for child in self.children:
            child.start()
        self.started = True

    def pause(self) -> list[ControllerFailed]:
        """Say that the loop has halted, to the sub-controllers first, in reverse order."""
        return self._descend('pause')

    def stop(self) -> list[ControllerFailed]:
        """Say that the run has ended, to the sub-controllers first, in reverse order."""
        return self._descend('stop')

    def resume(self) -> list[ControllerFailed]:
        """Say that the loop goes on; where the controller refuses, not to its sub-controllers."""
        try:
            self._demand('resume', self.controller.resume)
        except ControllerFailed as error:
            return [error]
        return [error for child in self.children for error in child.resume()]

    def disconnect(self) -> None:
        """Drop the io and stop listening to devices."""
        if self.devices is not None:
            self.devices.close()
        for member in self.with_children():
            member.io = None
            member.transfer = None
            member.devices = None
            member.started = False

    def unconfigure(self) -> list[ControllerFailed]:
        """Undo configure, of the sub-controllers first, in reverse order."""
        errors = self._descend('unconfigure')
        for member in self.with_children():
            member.configured = False
        return errors

    # --- options ------------------------------------------------------------------------------

    def change_options(self, options: str | Mapping[str, Any], parameters: Any) -> None:
        """Replace the options: between two ticks where the controller runs.

        Args:
            options: all its options, as text or as a mapping.
            parameters: the same, checked.

        Raises:
            ParameterError: a change is refused; the old options stay in force.
            ControllerRaised: the controller tried to leave the program.
            Exception: the controller refuses them for a reason of its own.
        """
        if self.io is not None:
            try:
                change_options(self.name, self.controller, self.parameters, parameters)
            except Exception:
                raise
            except BaseException as error:
                let_interrupt_pass(error)
                # One that leaves the program must not take the loop along.
                raise ControllerRaised(self.name, 'update_parameters', None, error) from error
            self.io.set_options(options, parameters)
        self.options, self.parameters = options, parameters

    # --- calls --------------------------------------------------------------------------------

    def _descend(self, phase: str) -> list[ControllerFailed]:
        errors = [error for child in reversed(self.children) for error in child._descend(phase)]
        try:
            getattr(self.controller, phase)()
        except BaseException as error:
            let_interrupt_pass(error)
            raised = ControllerRaised(self.name, phase, None, error)
            raised.__cause__ = error
            errors.append(raised)
        return errors

    def _keep_children(
        self, phase: Callable[[ManagedController], list[ControllerFailed]]
    ) -> list[ControllerFailed]:
        errors: list[ControllerFailed] = []
        for child in list(self.children):
            try:
                errors += phase(child)
            except ControllerFailed as error:
                errors.append(error)
                self.children.remove(child)
        return errors

    def _demand(self, phase: str, method: Callable[..., Any], *args: Any) -> None:
        try:
            result = method(*args)
        except BaseException as error:
            let_interrupt_pass(error)
            raise ControllerRaised(self.name, phase, None, error) from error
        if not isinstance(result, (bool, np.bool_)):
            raise result_not_bool(self.name, phase, None, result)
        if not result:
            raise controller_refused(self.name, phase)


def _request_of(io: ControllerIO) -> IORequest:
    return IORequest(
        inputs=dict(io.inputs),
        outputs={
            name: StateFlag(io.body.link(name).actuation_mode) for name in sorted(io.outputs)
        },
        devices=set(io.device_inputs),
        device_outputs=set(io.device_outputs),
        no_delay=set(io.outputs) if io.no_delay_mode else set(),
    )


def let_interrupt_pass(error: BaseException) -> None:
    """Raise Ctrl-C again; whatever else comes out of a controller is the controller's fault.

    Python raises Ctrl-C in the main thread only.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if isinstance(error, KeyboardInterrupt) and is_main:
        raise error
