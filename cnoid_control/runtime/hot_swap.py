"""Hot swap: other controllers take over a robot that is running."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from enum import Enum

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.body.channels import COMMAND_CHANNELS, STIFFNESS
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.hardware import Hardware, IORequest
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import (
    ControllerFailed,
    LoopStalled,
    SwapFailed,
    SwapInProgress,
    implausible_command,
)
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.safety.commands import Commands
from cnoid_control.runtime.safety.hold import Hold
from cnoid_control.runtime.safety.limits import CommandLimiter
from cnoid_control.runtime.safety.safe_state import SafeStateParameters, smooth

# Calls controllers once, outputs included, for the time of a state [s].
Compute = Callable[[ControllerHost, float], bool]


class SwapState(Enum):
    """How far a hot swap has come.

    PREPARING: the new controllers are brought up; the old ones have the robot.
    WAITING: the new ones are ready for their first tick.
    BLENDING: both are called, and their commands are blended.
    DONE: the new ones have the robot alone.
    ABORTED: the old ones have the robot alone; the new ones are given up.
    """

    PREPARING = 'preparing'
    WAITING = 'waiting'
    BLENDING = 'blending'
    DONE = 'done'
    ABORTED = 'aborted'


NEXT_STATES = {
    SwapState.PREPARING: (SwapState.WAITING, SwapState.ABORTED),
    SwapState.WAITING: (SwapState.BLENDING, SwapState.ABORTED),
    SwapState.BLENDING: (SwapState.DONE, SwapState.ABORTED),
    SwapState.DONE: (),
    SwapState.ABORTED: (),
}
ENDED = (SwapState.DONE, SwapState.ABORTED)
BEGUN = (SwapState.BLENDING, *ENDED)


class Transition:
    """Blends commands from the outgoing to the incoming controllers during a hot swap.

    Both hosts are called every tick, the old one first. Joints that both command through the same
    channel get a command that moves from the old one's to the new one's. Joints whose channel
    changes are switched at once, and get a command that moves from holding the measured posture
    to the new one's; between a PID actuator and an effort it moves from the effort that the old
    one had. Joints that only the old one commands keep their position command and their gains,
    and lose velocity and effort. When the new one fails, in its first tick or later, the old one
    has the robot in that same tick.

    Attributes:
        old, new: the hosts.
        error: why the swap was aborted; None as long as it was not.
        clean_up: the thread that stops the host that has lost, once there is one.
    """

    def __init__(
        self,
        old: ControllerHost,
        new: ControllerHost,
        hardware: Hardware,
        limiter: CommandLimiter,
        hold: Hold,
        duration: float,
        observed: Iterable[str] = (),
    ) -> None:
        """Begin in the state PREPARING.

        Args:
            old: the host that has the robot.
            new: a host that is started and has never had it.
            hardware: the robot.
            limiter: the limiter of the loop.
            hold: holds joints that change their channel.
            duration: time of the whole [s].
            observed: devices that are measured though no controller reads them.
        """
        self.old, self.new = old, new
        self.error: CnoidControlError | None = None
        self.clean_up = threading.Thread()
        self._state = SwapState.PREPARING
        self._changed = threading.Condition()
        self._hardware = hardware
        self._limiter = limiter
        self._hold = hold
        self._ticks = max(1, round(duration / hardware.time_step))
        self._tick = 0
        self._old_error: ControllerFailed | None = None
        self._cancelled: CnoidControlError | None = None
        self._is_replaced = False
        self._commands = Commands.of(hardware.body)
        self._from_old = self._commands.copy()
        self._base = self._commands.copy()
        self._old_request = old.request()
        self._old_request.devices |= set(observed)
        self._request = _join(self._old_request, new.request())
        self._reopens = not _covers(self._old_request, self._request)
        self._prepared = False
        self._has_switched = False
        self._find_joints()

    def _find_joints(self) -> None:
        """Joints that the new one commands, both through one channel, only the old one."""
        body, old, new = self._hardware.body, self._old_request.outputs, self.new.request().outputs
        # Commands of the new one, the joints that it commands, and what is plausible for them.
        self._commanded: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        self._shared: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        modes_before, modes_after = (
            [modes.get(joint.name, StateFlag.NONE) for joint in body.joints]
            for modes in (old, new)
        )

        def mask(found: Iterable[bool]) -> np.ndarray:
            return np.fromiter(found, dtype=bool, count=body.num_joints)

        had_gains = mask(STIFFNESS.serves(mode) for mode in modes_before)
        have_gains = mask(STIFFNESS.serves(mode) for mode in modes_after)
        by_effort = StateFlag.JOINT_EFFORT
        # Joints whose effort was commanded, or made by gains, and is the other way round now.
        self._to_gains = have_gains & mask(mode == by_effort for mode in modes_before)
        self._to_effort = had_gains & mask(mode == by_effort for mode in modes_after)
        for channel in COMMAND_CHANNELS:
            name = channel.command
            after = mask(channel.serves(mode) for mode in modes_after)
            before = mask(channel.serves(mode) for mode in modes_before)
            # A position that gains pull to is another thing than one that is reached.
            before &= had_gains == have_gains
            base, old_values = getattr(self._base, name), getattr(self._from_old, name)
            lower, upper = self._limiter.blend_range(channel)
            self._commanded.append((getattr(self._commands, name), after, lower, upper))
            self._shared.append((base, old_values, after & before))
        lost = [joint.name in old and joint.name not in new for joint in body.joints]
        self._lost = np.array(lost, dtype=bool)

    # --- states -------------------------------------------------------------------------------

    @property
    def state(self) -> SwapState:
        """How far the swap has come."""
        return self._state

    @property
    def is_waiting(self) -> bool:
        """Whether the new controllers wait for their first tick."""
        return self._state is SwapState.WAITING

    @property
    def winner(self) -> ControllerHost | None:
        """The host that has the robot alone; None while two of them are in play."""
        return {SwapState.DONE: self.new, SwapState.ABORTED: self.old}.get(self._state)

    @property
    def is_replaced(self) -> bool:
        """Whether it was aborted because a third host has the robot now."""
        return self._is_replaced

    def wait_for(self, states: Sequence[SwapState], timeout: float | None = None) -> bool:
        """Wait until the swap is in one of these states; from any thread.

        Args:
            states: the states.
            timeout: longest wait [s]; for ever where None.

        Returns:
            Whether it is.
        """
        with self._changed:
            return self._changed.wait_for(lambda: self._state in states, timeout)

    def _become(self, state: SwapState) -> None:
        with self._changed:
            if state not in NEXT_STATES[self._state]:
                raise RuntimeError(f'a hot swap cannot become {state} after {self._state}')
            self._state = state
            self._changed.notify_all()

    # --- before the first tick ----------------------------------------------------------------

    def prepare(self) -> None:
        """Have the robot find what the new host needs; not in the loop's thread.

        Raises:
            HardwareError: it is not there.
        """
        if self._reopens:
            self._prepared = self._hardware.prepare(self._request)
        self._become(SwapState.WAITING)

    def cancel(self, error: CnoidControlError) -> None:
        """Have the swap aborted with the next tick, unless it has begun; from any thread."""
        self._cancelled = error

    # --- the loop -----------------------------------------------------------------------------

    def control(self, compute: Compute, tick: int, time: float) -> bool:
        """Call both hosts, and blend their commands; in the loop's thread.

        Args:
            compute: calls a host.
            tick: number of the tick, for messages.
            time: time of the state in the body [s].

        Returns:
            Whether the controllers have more to do.

        Raises:
            CnoidControlError: the new one has failed after the old one did.
        """
        go_on = self._control_old(compute, time)
        self._from_old.take(self._commands)
        try:
            new_goes_on = self._control_new(compute, tick, time)
        except CnoidControlError as error:
            self._commands.take(self._from_old)
            self.abort(error)
            if self._old_error is not None:
                raise
            return go_on
        if self._tick < self._ticks:
            return True
        self._become(SwapState.DONE)
        return new_goes_on

    def _control_old(self, compute: Compute, time: float) -> bool:
        if self._old_error is not None:
            self._commands.take(self._from_old)
            return True
        try:
            return compute(self.old, time)
        except ControllerFailed as error:
            # Its last commands are blended out instead.
            self._old_error = error
            self._commands.take(self._from_old)
            return True

    def _control_new(self, compute: Compute, tick: int, time: float) -> bool:
        is_first = self._state is SwapState.WAITING
        if self._cancelled is not None and is_first:
            raise self._cancelled
        if is_first:
            # The scale may have changed while they were brought up.
            self._limiter.require_scalable(self.new.request().outputs)
        self._commands.dq_target[self._lost] = 0.0
        self._commands.u[self._lost] = 0.0
        go_on = compute(self.new, time)
        # Before they are blended: an implausible command must not act little by little.
        for values, mask, lower, upper in self._commanded:
            if not ((values >= lower) & (values <= upper))[mask].all():
                names = [managed.name for managed in self.new.controllers]
                raise implausible_command(names, tick, self._limiter.first_implausible())
        if is_first:
            self._has_switched = True
            self.new.set_modes()
            self._hold.capture()
        self._tick += 1
        self._blend()
        if is_first:
            # The robot may act at once on what is commanded now: it is the blended command.
            self._open(self._request)
            self._become(SwapState.BLENDING)
        return go_on

    def _blend(self) -> None:
        self._hold.write(self._base)
        for target, source, mask in self._shared:
            np.copyto(target, source, where=mask)
        base, old = self._base, self._from_old
        base.values[:, self._lost] = old.values[:, self._lost]
        if self._to_gains.any():
            base.u[self._to_gains] = old.u[self._to_gains]
            for gain in (base.kp, base.ki, base.kd):
                gain[self._to_gains] = 0.0
        if self._to_effort.any():
            body, limits = self._hardware.body, self._limiter.limits
            effort = np.clip(old.pid_effort(body.q, body.dq), limits.u_lower, limits.u_upper)
            base.u[self._to_effort] = effort[self._to_effort]
        self._commands.blend(self._base, 1.0 - smooth(self._tick / self._ticks))

    def _open(self, request: IORequest) -> None:
        if self._reopens:
            self._hardware.open(request)
        self._limiter.change_modes()

    def abort(self, error: CnoidControlError, reopen: bool = True) -> None:
        """Leave the robot to the old host; in the thread that owns the robot.

        Args:
            error: why.
            reopen: whether the robot is to be made ready for the old host again; not where others
                get it at once.
        """
        if self._state in ENDED:
            return
        self.error = error
        self._is_replaced = not reopen
        try:
            if reopen and self._has_switched:
                self.old.set_modes()
                self._open(self._old_request)
            elif reopen and self._prepared:
                self._hardware.open(self._old_request)
        finally:
            self._become(SwapState.ABORTED)


class HotSwap:
    """Brings new controllers up beside the running ones and lets them take over.

    Loading, configure(), initialize() and start() run in the thread that asks, so that the loop
    does not wait for them; stop() and unconfigure() of the one that goes run in a thread of their
    own, after the last tick in which it was called. Whatever the new one does wrong, the old one
    has the robot in every tick.

    Attributes:
        duration: blend time [s].
        on_hosts_changed: told the hosts that may have the robot.
        on_abort: told why, in any thread, when the new controllers lose the robot again.
        on_done: told the swap, in any thread, when the new controllers have the robot alone.
    """

    def __init__(
        self,
        loop: ControlLoop,
        duration: float = 0.3,
        holding: SafeStateParameters | None = None,
        on_hosts_changed: Callable[..., None] = lambda *hosts: None,
        on_abort: Callable[[CnoidControlError], None] = lambda error: None,
    ) -> None:
        """Attach to a loop.

        Args:
            loop: the loop, running or about to run.
            duration: blend time [s].
            holding: how joints are held whose command channel changes.
            on_hosts_changed: told the hosts that may have the robot, when a swap begins and when
                it ends.
            on_abort: told why, in any thread, when new controllers do not keep the robot.
        """
        self.duration = duration
        self.on_hosts_changed = on_hosts_changed
        self.on_abort = on_abort
        self.on_done: Callable[[Transition], None] = lambda transition: None
        self._loop = loop
        self._holding = holding or SafeStateParameters()
        self._lock = threading.Lock()

    def begin(
        self,
        controllers: Sequence[ManagedController],
        duration: float | None = None,
        precondition: Callable[[ControllerHost], None] = lambda new: None,
    ) -> Transition:
        """Bring controllers up and have them take over from the next tick on.

        Args:
            controllers: the new ones; nothing was called on them yet.
            duration: blend time [s]; the usual one where None.
            precondition: called with their host when they are ready; raises where they may not
                take over any more.

        Returns:
            The transition, in the state WAITING.

        Raises:
            SwapInProgress: another swap has not ended yet.
            SwapFailed: a phase before the first tick failed; nothing has changed.
        """
        loop = self._loop
        name = controllers[0].name if controllers else ''
        with self._lock:
            if loop.transition is not None:
                raise SwapInProgress(name)
            old = loop.host
            new = self.bring_up(controllers)
            given = self._holding
            hold = Hold(
                loop.hardware.body,
                loop.hardware.time_step,
                given.kp,
                given.kd,
                given.frequency,
            )
            transition = Transition(
                old,
                new,
                loop.hardware,
                loop.limiter,
                hold,
                self.duration if duration is None else duration,
                loop.observed,
            )
            transition.clean_up = threading.Thread(
                target=self._clean_up, args=(transition,), name='hot swap', daemon=True
            )
            try:
                precondition(new)
                transition.prepare()
                self.on_hosts_changed(old, new)
                loop.offer(transition)
            except CnoidControlError as error:
                self.on_hosts_changed(loop.host)
                new.end()
                raise SwapFailed(name, error) from error
            transition.clean_up.start()
        return transition

    def swap(
        self,
        controllers: Sequence[ManagedController],
        duration: float | None = None,
        timeout: float = 5.0,
        precondition: Callable[[ControllerHost], None] = lambda new: None,
    ) -> Transition:
        """Begin a swap and wait for the new ones' first good tick; not from the loop's thread.

        Args:
            controllers: the new ones; nothing was called on them yet.
            duration: blend time [s]; the usual one where None.
            timeout: longest wait for the first tick [s].
            precondition: called with their host when they are ready; raises where they may not
                take over any more.

        Returns:
            The transition, as `begin` does.

        Raises:
            SwapFailed: they could not take over; the old ones go on.
        """
        transition = self.begin(controllers, duration, precondition)
        name = controllers[0].name
        if not transition.wait_for(BEGUN, timeout):
            transition.cancel(LoopStalled(timeout))
            if not transition.wait_for(BEGUN, timeout):
                raise SwapFailed(name, LoopStalled(2.0 * timeout))
        if transition.error is not None:
            raise SwapFailed(name, transition.error) from transition.error
        return transition

    def bring_up(self, controllers: Sequence[ManagedController]) -> ControllerHost:
        """Host of controllers that are started from the measured state; not in a loop's tick.

        Raises:
            SwapFailed: one of them failed; all are stopped.
        """
        loop, name = self._loop, controllers[0].name if controllers else ''
        host = ControllerHost(
            controllers, loop.hardware.body, loop.hardware.time_step, loop.host.os
        )
        try:
            host.configure()
            request = host.initialize(standby=True)
            loop.limiter.require_scalable(request.outputs)
            host.start()
            if len(host.controllers) < len(controllers):
                raise host.errors[-1]
        except CnoidControlError as error:
            host.end()
            raise SwapFailed(name, error) from error
        return host

    def _clean_up(self, transition: Transition) -> None:
        """Stop the host that lost, once it is called no more."""
        transition.wait_for(ENDED)
        winner, loser = transition.old, transition.new
        if transition.state is SwapState.DONE:
            winner, loser = loser, winner
        if not transition.is_replaced:
            self.on_hosts_changed(winner)
        if transition.error is not None:
            self.on_abort(transition.error)
        else:
            self.on_done(transition)
        loser.end()


def _join(first: IORequest, second: IORequest) -> IORequest:
    """What either reads, and what either commands, as the second one wants it."""
    inputs = dict(first.inputs)
    for name, flags in second.inputs.items():
        inputs[name] = inputs.get(name, StateFlag.NONE) | flags
    return IORequest(
        inputs=inputs,
        outputs={**first.outputs, **second.outputs},
        devices=first.devices | second.devices,
        device_outputs=first.device_outputs | second.device_outputs,
        no_delay=(first.no_delay - set(second.outputs)) | second.no_delay,
    )


def _covers(first: IORequest, second: IORequest) -> bool:
    """Whether a robot that was opened for the first request serves the second one as well."""
    return (
        first.outputs == second.outputs
        and first.no_delay == second.no_delay
        and first.devices >= second.devices
        and first.device_outputs >= second.device_outputs
        and all(
            flags & first.inputs.get(name, StateFlag.NONE) == flags
            for name, flags in second.inputs.items()
        )
    )
