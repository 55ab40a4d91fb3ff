"""Frames from a loop in this process."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from cnoid_control.hardware.hardware import IORequest
from cnoid_control.plugin import ControllerIO
from cnoid_control.runtime.loop import ControlLoop, TickRecorder
from cnoid_control.viewer.frame import ENDED, ESTOP, PAUSED, READY, RUNNING, SAFE_STATE, Frame
from cnoid_control.viewer.ring import Ring

# Wall-clock time between two frames [s].
PERIOD = 1.0 / 30.0
# Largest share of the loop's CPU time that frames may take where the loop does not wait anyway.
SHARE = 0.01


class FrameTap:
    """Notes the ticks of a loop as a recorder does, and writes a frame about 30 times a second.

    A tick between two frames costs three readings of the clock. What else records the run is
    handed everything on.

    Attributes:
        revision: number of the description, for the frames.
    """

    def __init__(self, loop: ControlLoop, ring: Ring, other: TickRecorder | None = None) -> None:
        """Take a loop that has not begun.

        Args:
            loop: the loop.
            ring: where frames are written to.
            other: what else records the run.
        """
        self.revision = 0
        self._loop = loop
        self._ring = ring
        self._other = other
        self._hardware = loop.hardware
        self._body = loop.hardware.body
        self._contacts = getattr(loop.hardware, 'contact_forces', None)
        self._things = getattr(loop.hardware, 'things', None)
        self._devices: list[Any] = []
        self._is_due = True
        self._next = 0.0
        self._read_at = self._last = time.perf_counter()
        self._compute = self._longest = self._period = 0.0
        self._ticks = 0
        # CPU time of this thread at the last frame, and what that one took [s].
        self._cpu_time = self._cost = 0.0
        self._written = (0.0, 0.0)
        self._wanted = np.zeros(0)
        self._log: dict[str, np.ndarray] = {}
        self._logged = loop.host
        self._counts = {kind: count.copy() for kind, count in loop.limiter.counts.items()}

    # --- the loop -----------------------------------------------------------------------------

    def open(self, request: IORequest, ios: list[ControllerIO]) -> None:
        """Note what is measured."""
        self._devices = [device for device in self._body.devices if device.name in request.devices]
        if self._other is not None:
            self._other.open(request, ios)
        # Before the first tick there is something to see already.
        self.write()

    def note_inputs(self, time_: float) -> None:
        """The hardware has read the state of a tick."""
        now = time.perf_counter()
        period = now - self._read_at
        if period > self._period:
            self._period = period
        self._read_at = now
        if self._other is not None:
            self._other.note_inputs(time_)

    def note_event(self, topic: str, text: str) -> None:
        """Something happened to the robot before the next tick."""
        if self._other is not None:
            self._other.note_event(topic, text)

    def note_outputs(self) -> None:
        """The controllers have commanded."""
        is_due = self._read_at >= self._next
        if is_due:
            self._wanted = self._body.q_target.copy()
        if self._other is not None:
            # It takes the values of each tick away.
            self._take_log()
            self._other.note_outputs()
        elif is_due:
            self._take_log()

    def _take_log(self) -> None:
        host = self._loop.host
        if host is not self._logged:
            self._logged, self._log = host, {}
        for io in host.ios():
            for name, value in io.log_fields.items():
                self._log[f'{io.controller_name}/{name}'] = np.atleast_1d(value)

    def note_sent(self) -> None:
        """The commands are those that go to the robot."""
        now = time.perf_counter()
        spent = now - self._read_at
        self._compute += spent
        if spent > self._longest:
            self._longest = spent
        self._ticks += 1
        if self._other is not None:
            self._other.note_sent()
        if self._read_at >= self._next:
            self._next = now + PERIOD
            if self._loop.speed < math.inf:
                self.write(now)
            elif self._is_affordable():
                self.write(now)
                self._cost = time.thread_time() - self._cpu_time

    def _is_affordable(self) -> bool:
        """Whether a frame as the last one costs a run that waits for nothing little enough.

        On a busy computer there are fewer ticks between two frames.
        """
        cpu_time = time.thread_time()
        if cpu_time - self._cpu_time < self._cost / SHARE:
            return False
        self._cpu_time = cpu_time
        return True

    def close(self) -> None:
        """The run has ended."""
        self.write()
        if self._other is not None:
            self._other.close()

    # --- frames -------------------------------------------------------------------------------

    def write(self, now: float | None = None) -> None:
        """Write a frame of the present moment; in the thread that owns the robot."""
        now = time.perf_counter() if now is None else now
        self._ring.write(self._frame(now).to_bytes())
        self._last = now
        self._compute = self._longest = self._period = 0.0
        self._ticks = 0

    def _frame(self, now: float) -> Frame:
        loop, body = self._loop, self._body
        state, reason = run_state(loop)
        transition = loop.transition
        host = loop.host if transition is None or transition.is_waiting else transition.new
        ticks = max(1, self._ticks)
        elapsed = max(1e-9, now - self._last)
        simulated = self._hardware.time - self._written[0]
        self._written = (self._hardware.time, now)
        return Frame(
            time=float(self._hardware.time),
            tick=loop.tick,
            state=state,
            reason=reason,
            controller=', '.join(managed.name for managed in host.controllers),
            revision=self.revision,
            speed=max(0.0, simulated / elapsed),
            q=body.q,
            dq=body.dq,
            u=body.u,
            q_target=body.q_target,
            dq_target=body.dq_target,
            q_wanted=self._wanted,
            root=body.root_q,
            root_motion=body.root_motion.reshape(-1),
            limited=self._limited(),
            contacts=self._contacts() if self._contacts is not None else np.zeros((0, 7)),
            things=self._things() if self._things is not None else {},
            devices={
                device.name: {
                    name: getattr(device, name)
                    for name in (*device.measured_fields, *device.data_fields)
                }
                for device in self._devices
            },
            log=self._log,
            compute=np.array([self._compute / ticks, self._longest]),
            period=np.array([elapsed / ticks, self._period]),
        )

    def _limited(self) -> dict[str, list[str]]:
        """Joints whose limits have acted since the last frame, by the kind of the limit."""
        acting: dict[str, list[str]] = {}
        for kind, counts in self._loop.limiter.counts.items():
            joints = np.flatnonzero(counts != self._counts[kind])
            if joints.size:
                acting[kind] = [self._body.joints[i].joint_name for i in joints]
                self._counts[kind][:] = counts
        return acting


def run_state(loop: ControlLoop) -> tuple[str, str]:
    """State of a loop, and the reason for it."""
    held = loop.safe_state
    if loop.has_ended:
        return ENDED, loop.outcome().reason
    if held.is_estop:
        return ESTOP, held.reason
    if held.is_engaged:
        return (PAUSED if held.is_pause else SAFE_STATE), held.reason
    if loop.is_paused:
        return (PAUSED if loop.tick else READY), ''
    return RUNNING, ''
