"""Life cycle of the controllers of one run."""

from __future__ import annotations

import difflib
import itertools
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import Any, TextIO

import numpy as np

from cnoid_control.body import Body, Light, StateFlag
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.plugin import ControllerIO, SimpleController
from cnoid_control.runtime.exceptions import (
    ControllerFailed,
    ControllerRaised,
    NoControllerLeft,
    result_not_bool,
)
from cnoid_control.runtime.io_transfer import DeviceTransfer
from cnoid_control.runtime.managed_controller import ManagedController, let_interrupt_pass
from cnoid_control.runtime.realtime import collect_garbage
from cnoid_control.runtime.safety.hang_monitor import Abandoned, Call, HangMonitor
from cnoid_control.runtime.safety.limit_rules import ImplausibleCommand
from cnoid_control.runtime.strict_io import StrictIO


class ControllerHost:
    """One or more controllers on one body, in Choreonoid's phases.

    A controller that fails before the first tick is dropped and the others go on; when none is
    left the run does not begin. In the loop the enabled inputs of all controllers are copied,
    then all are called, then all enabled outputs are copied; a controller that fails there ends
    the run. Every controller that was started is stopped.

    Attributes:
        body: body of the hardware.
        time_step: period of the ticks [s].
        os: stream for messages of the host and of the controllers.
        strict: whether to warn of what controllers read or write without having enabled it.
        controllers: those that are still in the run.
        errors: what went wrong so far, in order.
        warnings: what they were warned of, in order.
        idle_reason: why they were going to command nothing at all; empty where they were not.
        is_abandoned: whether a controller has not returned and keeps a thread.
    """

    def __init__(
        self,
        controllers: Sequence[ManagedController],
        body: Body,
        time_step: float,
        os: TextIO | None = None,
        strict: bool = False,
    ) -> None:
        """Take the controllers in; nothing is called yet."""
        self.controllers = list(controllers)
        self._all = list(controllers)
        self.body = body
        self.time_step = time_step
        self.os = os if os is not None else sys.stderr
        self.strict = strict
        self.errors: list[CnoidControlError] = []
        self.warnings: list[str] = []
        self.idle_reason = ''
        self._inputs: list[Callable[[], None]] = []
        self._outputs: list[Callable[[], None]] = []
        self._controls: list[tuple[str, Callable[[], Any]]] = []
        self._ios: list[ControllerIO] = []
        self._announcements: list[Callable[[], None]] = []
        # The devices that each family of controllers has changed, and what hands these over.
        self._device_outputs: list[tuple[set[int], Callable[[], None]]] = []
        self.is_abandoned = False

    def members(self) -> list[ManagedController]:
        """All controllers and sub-controllers that are still in the run."""
        return [member for managed in self.controllers for member in managed.with_children()]

    def ios(self) -> list[ControllerIO]:
        """The io of all controllers and sub-controllers, from initialize on."""
        return [member.io for member in self.members() if member.io is not None]

    def find_idle_reason(self) -> str:
        """Why they have commanded nothing at all so far; empty where they have."""
        transfers = [managed.devices for managed in self.controllers if managed.devices]
        return '' if any(one.has_sent for one in transfers) else self.idle_reason

    def who_commands(self, command: ImplausibleCommand | None) -> list[str]:
        """Names of the controllers that command its joint; of all where that is not known."""
        names = [managed.name for managed in self.controllers]
        if command is None:
            return names
        link = self.body.joint(command.joint).name
        return [
            managed.name for managed in self.controllers if link in managed.request.outputs
        ] or names

    # --- before the loop ----------------------------------------------------------------------

    def configure(self) -> None:
        """Configure all controllers on the model; those that fail are dropped."""
        model = self.body.clone()
        self._keep(lambda managed: managed.configure(model, self.time_step, self.os))

    def initialize(self, standby: bool = False) -> IORequest:
        """Initialize all controllers; those that fail are dropped.

        Args:
            standby: leave the robot's modes and commands alone, for another host has the robot.

        Returns:
            What the remaining ones read and command.

        Raises:
            NoControllerLeft: all were dropped.
        """
        self._keep(self._initialize)
        self._demand_controllers()
        for managed in self.controllers:
            managed.connect(self.body)
            if not standby:
                managed.apply_initial_commands(self.body)
        self._warn_of_double_outputs()
        idle = [text for text in map(_no_control, self.controllers) if text]
        for text in idle:
            self.warn(text)
        self.idle_reason = '; '.join(idle) if len(idle) == len(self.controllers) else ''
        request = self.request()
        # A robot without joints may be there to be pushed, or to be looked at.
        if self.body.num_joints and not (request.outputs or request.device_outputs):
            names = ', '.join(repr(managed.name) for managed in self.controllers)
            self.idle_reason = (
                f'nothing commands the robot: {names} enabled no output (io.enable_io or '
                'io.enable_output in initialize())'
            )
            # A lamp is commanded without having been enabled.
            if not standby and not self.body.devices_of(Light):
                self.warn(self.idle_reason)
        return request

    def set_modes(self) -> None:
        """Have the robot's links commanded by what the controllers chose for them."""
        for managed in self.controllers:
            managed.set_modes(self.body)

    def _initialize(self, managed: ManagedController) -> list[ControllerFailed]:
        shared: dict[str, Any] = {}
        own = self.body.clone()
        managed.strict = StrictIO(own) if self.strict else None
        # Before the call: what initialize() changes goes out with the initial commands.
        managed.devices = DeviceTransfer(own, self.body)
        try:
            return managed.initialize(self.body, own, self.time_step, self.os, shared)
        except ControllerFailed:
            managed.devices.close()
            managed.devices = None
            raise

    def start(self) -> None:
        """Start all controllers; those that fail are dropped and will not be stopped.

        Raises:
            NoControllerLeft: all were dropped.
        """

        def start(managed: ManagedController) -> list[ControllerFailed]:
            try:
                managed.start()
            except ControllerFailed:
                managed.disconnect()
                raise
            return []

        self._keep(start)
        self._demand_controllers()
        self.compile()

    def compile(self) -> None:
        """Line up the calls of a tick; to be called again when `controllers` has changed."""
        members = self.members()
        transfers = [member.transfer for member in members if member.transfer is not None]
        devices = [managed.devices for managed in self.controllers if managed.devices is not None]
        self._inputs = list(itertools.chain.from_iterable(one.inputs for one in transfers))
        self._outputs = list(itertools.chain.from_iterable(one.outputs for one in transfers))
        if len(self.body.devices):
            self._inputs += [one.input for one in devices if one.reads]
            self._announcements = [one.announce for one in devices if one.reads]
            self._device_outputs = [(one.outgoing, one.output) for one in devices]
        self._controls = [call for managed in self.controllers for call in managed.controls()]
        self._ios = self.ios()
        if any(flags & StateFlag.LINK_EXT_WRENCH for flags in self.request().outputs.values()):
            # Controllers add up: the sum begins with nothing.
            self._outputs.insert(0, partial(self.body.external_wrenches.fill, 0.0))

    def request(self) -> IORequest:
        """What the controllers read and command, as they asked for it in initialize()."""
        request = IORequest()
        for managed in self.controllers:
            for member in managed.with_children():
                own = member.request
                for name, flags in own.inputs.items():
                    request.inputs[name] = request.inputs.get(name, StateFlag.NONE) | flags
                request.outputs |= own.outputs
                request.devices |= own.devices
                request.device_outputs |= own.device_outputs
                request.no_delay |= own.no_delay
        return request

    # --- the loop -----------------------------------------------------------------------------

    def control(self, tick: int, time: float, monitor: HangMonitor | None = None) -> bool:
        """Call all controllers once; their inputs are copied before, their outputs after.

        In the thread that owns the robot, which may lose it while they compute: nothing but their
        own bodies is touched meanwhile.

        Args:
            tick: number of the tick, for messages.
            time: time of the state in `body` [s].
            monitor: what watches that they return; None for nobody.

        Returns:
            Whether any controller has more to do.

        Raises:
            ControllerFailed: a controller raised, returned no bool, or has made its body unfit
                for copies; no output was copied.
            Abandoned: the robot was taken over meanwhile.
        """
        # All in one function, for it is gone through in every tick.
        try:
            for io in self._ios:
                io.current_time = time
            for copy in self._inputs:
                copy()
        except Exception as error:
            raise ControllerRaised(self.controllers[0].name, 'control', None, error) from error
        # As begin_call() and Call.close() do, at a fraction of the cost.
        token = [None]
        call = (token, self, 'control', True, monotonic())
        if monitor is not None:
            monitor.call = call
        name = ''
        go_on = False
        try:
            for announce in self._announcements:
                announce()
            for name, control in self._controls:
                result = control()
                if result is True:
                    go_on = True
                elif result is not False:
                    if not isinstance(result, np.bool_):
                        raise result_not_bool(name, 'control', tick, result)
                    go_on = go_on or bool(result)
        except ControllerFailed:
            Call(call).end()
            raise
        except BaseException as error:
            let_interrupt_pass(error)
            name = name or self.controllers[0].name
            raised = ControllerRaised(name, 'control', tick, error)
            self._print_traceback(raised)
            Call(call).end()
            raise raised from error
        try:
            token.pop()
        except IndexError:
            raise Abandoned(Call(call)) from None
        try:
            for copy in self._outputs:
                copy()
            for changed, hand_over in self._device_outputs:
                if changed:
                    hand_over()
        except Exception as error:
            raise ControllerRaised(self.controllers[0].name, 'control', None, error) from error
        return go_on

    def abandon(self) -> None:
        """Leave the controllers to the thread that they keep: nobody else calls them any more.

        In the thread that has taken the robot over.
        """
        self.is_abandoned = True

    def stop_abandoned(self) -> None:
        """Stop and unconfigure abandoned controllers; in the thread that they have kept."""
        self._stop()
        self._unconfigure()

    def pause(self) -> None:
        """Tell the controllers that the loop has halted."""
        for managed in reversed(self.controllers):
            self._report(managed.pause())

    def resume(self) -> None:
        """Tell the controllers that the loop goes on; one that refuses is reported."""
        for managed in self.controllers:
            self._report(managed.resume())

    # --- after the loop -----------------------------------------------------------------------

    def stop(self) -> None:
        """Stop every controller that was started, whatever the others do.

        Abandoned ones are stopped when they return, see `stop_abandoned`.
        """
        if not self.is_abandoned:
            self._stop()

    def _stop(self) -> None:
        # Asked for later, when what tells of devices is gone.
        self.idle_reason = self.find_idle_reason()
        for managed in self.controllers:
            if managed.started:
                managed.started = False
                self._report(managed.stop())
                self._warn_of_slips(managed)
            managed.disconnect()
        self._inputs, self._outputs, self._controls, self._ios = [], [], [], []
        self._announcements, self._device_outputs = [], []

    def unconfigure(self) -> None:
        """Undo configure for every controller that is configured; not for abandoned ones."""
        if not self.is_abandoned:
            self._unconfigure()

    def _unconfigure(self) -> None:
        for managed in self._all:
            if managed.configured:
                self._report(managed.unconfigure())

    def end(self) -> None:
        """Stop and unconfigure the controllers; in a tick of simulated robots alone."""
        self.stop()
        self.unconfigure()
        collect_garbage()

    def end_beside(self) -> None:
        """End controllers that have lost the robot, or never had it, where nobody waits for it."""
        threading.Thread(target=self.end, name='end of controllers', daemon=True).start()

    # --- messages -----------------------------------------------------------------------------

    def _keep(self, phase: Callable[[ManagedController], list[ControllerFailed]]) -> None:
        for managed in list(self.controllers):
            try:
                self._report(phase(managed))
            except ControllerFailed as error:
                self._report([error])
                self.controllers.remove(managed)

    def _report(self, errors: Sequence[CnoidControlError]) -> None:
        for error in errors:
            self.errors.append(error)
            print(f'error: {error}', file=self.os)
            self._print_traceback(error)

    def _print_traceback(self, error: CnoidControlError) -> None:
        if isinstance(error, ControllerRaised) and error.traceback:
            for line in error.traceback.splitlines():
                print(f'error: {line}', file=self.os)

    def warn(self, text: str) -> None:
        """Say, and remember, what is probably not meant."""
        self.warnings.append(text)
        print(f'warning: {text}', file=self.os)

    def _warn_of_slips(self, managed: ManagedController) -> None:
        """Name attributes that a controller has given its body, which look like one that it has.

        When it has ended: nothing that it writes in a tick is slower for that.
        """
        for member in managed.with_children():
            if member.io is None:
                continue
            body = member.io.body
            pairs: list[tuple[str, Any, Any]] = [('body', body, self.body)]
            words = [f'link {link.name!r}' for link in body.links]
            pairs += zip(words, body.links, self.body.links, strict=False)
            for word, own, robots in pairs:
                public = [name for name in dir(robots) if not name.startswith('_')]
                # What `strict` puts in the place of a method has the method's name.
                for name in sorted(vars(own).keys() - vars(robots).keys() - set(public)):
                    near = difflib.get_close_matches(name, public, 1)
                    if near and not name.startswith('_'):
                        self.warn(
                            f'controller {member.name!r} has set {name!r} of {word}, which '
                            f'nothing reads; is {near[0]!r} meant?'
                        )

    def _demand_controllers(self) -> None:
        if not self.controllers:
            raise NoControllerLeft(self.errors)

    def _warn_of_double_outputs(self) -> None:
        writer_of: dict[str, str] = {}
        for managed in self.controllers:
            for member in managed.with_children():
                for name in sorted(member.io.outputs if member.io else ()):
                    if self.body.link(name).actuation_mode == StateFlag.LINK_EXT_WRENCH:
                        continue
                    if name in writer_of:
                        self.warn(
                            f'link {name!r} is commanded by {writer_of[name]!r} and by '
                            f'{member.name!r}; the latter wins'
                        )
                    writer_of[name] = member.name


def _no_control(managed: ManagedController) -> str:
    """That a controller has no control() where it needs one; empty where all is well."""
    kind = type(managed.controller)
    if managed.children or kind.control is not SimpleController.control:
        return ''
    own = [name for name in vars(kind) if callable(getattr(kind, name))]
    near = difflib.get_close_matches('control', own, 1)
    hint = f'; is {near[0]}() meant to be control()?' if near else ''
    return f'controller {managed.name!r}: {kind.__name__} has no control(){hint}'
