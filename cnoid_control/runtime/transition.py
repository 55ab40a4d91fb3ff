"""Two sets of controllers side by side, until the new one has taken over from the old one."""

from __future__ import annotations

import threading

import numpy as np

from cnoid_control.body import StateFlag
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.hardware import Hardware, IORequest
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import ControllerFailed, ImplausibleCommand
from cnoid_control.runtime.safety.commands import Commands
from cnoid_control.runtime.safety.hold import Hold
from cnoid_control.runtime.safety.limit_rules import LARGEST
from cnoid_control.runtime.safety.limits import CommandLimiter
from cnoid_control.runtime.safety.safe_state import smooth

CHANNEL_OF_FLAG = {
    StateFlag.JOINT_DISPLACEMENT: 'q_target',
    StateFlag.JOINT_VELOCITY: 'dq_target',
    StateFlag.JOINT_EFFORT: 'u',
}


class Transition:
    """Drives the robot in the place of a host while one host gives way to another.

    Both hosts are called every tick, the old one first. Joints that both command through the same
    channel get a command that moves from the old one's to the new one's. Joints whose channel
    changes are switched at once, and get a command that moves from holding the measured posture
    to the new one's. Joints that only the old one commands keep their position command and lose
    velocity and effort. When the new one fails, in its first tick or later, the old one has the
    robot in that same tick.

    Attributes:
        old, new: the hosts.
        error: why the new one was given up; None as long as it was not.
        has_begun: whether the new one has had a good tick.
        begun: set with the new one's first good tick, or when it was given up.
        ended: set when only one of the two is left.
        winner: the one that is left; None before.
        cleared: set when the other one is stopped and unconfigured.
        superseded: whether it was given up for a third host, which has the robot now.
    """

    def __init__(
        self,
        old: ControllerHost,
        new: ControllerHost,
        hardware: Hardware,
        limiter: CommandLimiter | None,
        hold: Hold,
        duration: float,
    ) -> None:
        """Prepare everything, so that the first tick costs little.

        Args:
            old: the host that has the robot.
            new: a host that is started and has never had it.
            hardware: the robot.
            limiter: the limiter of the loop, if any.
            hold: holds joints that change their channel.
            duration: time of the whole [s].
        """
        self.old, self.new = old, new
        self.error: CnoidControlError | None = None
        self.begun = threading.Event()
        self.ended = threading.Event()
        self.cleared = threading.Event()
        self.winner: ControllerHost | None = None
        self.superseded = False
        self._hardware = hardware
        self._limiter = limiter
        self._hold = hold
        self._ticks = max(1, round(duration / hardware.time_step))
        self._tick = 0
        self.has_begun = False
        self._old_error: ControllerFailed | None = None
        self._withdrawn: CnoidControlError | None = None
        self._commands = Commands.of(hardware.body)
        self._from_old = self._commands.copy()
        self._base = self._commands.copy()
        self._old_request = old.request()
        self._request = _join(self._old_request, new.request())
        self._reopens = not _covers(self._old_request, self._request)
        self._prepared = False
        self._find_joints()

    def _find_joints(self) -> None:
        """Joints that the new one commands, both through one channel, only the old one."""
        body, old, new = self._hardware.body, self._old_request.outputs, self.new.request().outputs
        # Commands of the new one, the joints that it commands, and what can be meant for them.
        self._commanded: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        self._shared: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for flag, channel in CHANNEL_OF_FLAG.items():
            after = np.array([bool(new.get(j.name, 0) & flag) for j in body.joints], dtype=bool)
            before = np.array([bool(old.get(j.name, 0) & flag) for j in body.joints], dtype=bool)
            base, old_values = getattr(self._base, channel), getattr(self._from_old, channel)
            lower, upper = np.full((2, len(after)), [[-LARGEST], [LARGEST]])
            if self._limiter is not None:
                lower, upper = self._limiter.blend_range(channel)
            self._commanded.append((getattr(self._commands, channel), after, lower, upper))
            self._shared.append((base, old_values, after & before))
        lost = [joint.name in old and joint.name not in new for joint in body.joints]
        self._lost = np.array(lost, dtype=bool)

    def prepare(self) -> None:
        """Have the robot find what the new host needs; in the thread that asks, before a tick.

        Raises:
            HardwareError: it is not there.
        """
        prepare = getattr(self._hardware, 'prepare', None)
        if self._reopens and prepare is not None:
            prepare(self._request)
            self._prepared = True

    def control(self, tick: int, time: float) -> bool:
        """Call both, and mix their commands.

        Raises:
            CnoidControlError: the new one has failed after the old one did.
        """
        go_on = self._control_old(tick, time)
        self._from_old.take(self._commands)
        try:
            new_goes_on = self._control_new(tick, time)
        except CnoidControlError as error:
            self._commands.take(self._from_old)
            self.give_up(error)
            if self._old_error is not None:
                raise
            return go_on
        if self._tick < self._ticks:
            return True
        self._end(self.new)
        return new_goes_on

    def _control_old(self, tick: int, time: float) -> bool:
        if self._old_error is not None:
            self._commands.take(self._from_old)
            return True
        try:
            return self.old.control(tick, time)
        except ControllerFailed as error:
            # Its last commands are blended out instead.
            self._old_error = error
            self._commands.take(self._from_old)
            return True

    def _control_new(self, tick: int, time: float) -> bool:
        if self._withdrawn is not None and not self.has_begun:
            raise self._withdrawn
        self._commands.dq_target[self._lost] = 0.0
        self._commands.u[self._lost] = 0.0
        go_on = self.new.control(tick, time)
        # Before they are mixed: what cannot be meant is not to have its way little by little.
        for values, mask, lower, upper in self._commanded:
            if not ((values >= lower) & (values <= upper))[mask].all():
                raise ImplausibleCommand(self.new.controllers[0].name, tick)
        first = not self.has_begun
        if first:
            self.has_begun = True
            self.new.set_modes()
            self._hold.capture()
        self._tick += 1
        self._blend()
        if first:
            # The robot may act at once on what is commanded now: it is the mixed command.
            self._open(self._request)
            self.begun.set()
        return go_on

    def _blend(self) -> None:
        self._hold.write(self._base)
        for base, old, mask in self._shared:
            np.copyto(base, old, where=mask)
        self._base.q_target[self._lost] = self._from_old.q_target[self._lost]
        self._base.dq_target[self._lost] = self._from_old.dq_target[self._lost]
        self._base.u[self._lost] = self._from_old.u[self._lost]
        self._commands.blend(self._base, 1.0 - smooth(self._tick / self._ticks))

    def _open(self, request: IORequest) -> None:
        if self._reopens:
            self._hardware.open(request)
        if self._limiter is not None:
            self._limiter.change_modes()

    def give_up(self, error: CnoidControlError, reopen: bool = True) -> None:
        """Leave the robot to the old host; to be called in the loop's thread only.

        Args:
            error: why.
            reopen: whether the robot is to be made ready for the old host again; not where others
                take it at once.
        """
        if self.winner is not None:
            return
        self.error = error
        self.superseded = not reopen
        if reopen and self.has_begun:
            self.old.set_modes()
            self._open(self._old_request)
        elif reopen and self._prepared:
            self._hardware.open(self._old_request)
        self._end(self.old)

    def withdraw(self, error: CnoidControlError) -> None:
        """Have the new host given up with the next tick; from any thread."""
        self._withdrawn = error

    def _end(self, winner: ControllerHost) -> None:
        self.winner = winner
        self.begun.set()
        self.ended.set()


def _join(first: IORequest, second: IORequest) -> IORequest:
    """What either reads, and what either commands, as the second one wants it."""
    inputs = dict(first.inputs)
    for name, flags in second.inputs.items():
        inputs[name] = inputs.get(name, StateFlag.NONE) | flags
    return IORequest(
        inputs=inputs,
        outputs={**first.outputs, **second.outputs},
        devices=first.devices | second.devices,
        no_delay=(first.no_delay - set(second.outputs)) | second.no_delay,
    )


def _covers(first: IORequest, second: IORequest) -> bool:
    """Whether a robot that was opened for the first request serves the second one as well."""
    return (
        first.outputs == second.outputs
        and first.no_delay == second.no_delay
        and first.devices >= second.devices
        and all(
            flags & first.inputs.get(name, StateFlag.NONE) == flags
            for name, flags in second.inputs.items()
        )
    )
