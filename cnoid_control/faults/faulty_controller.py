"""A controller that fails on demand."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from cnoid_control.controllers.sr1.minimum import DGAIN, PGAIN
from cnoid_control.parameters import parameter
from cnoid_control.plugin import ControllerIO, SimpleController, StateFlag

FAULTS = (
    *('none', 'raise', 'hang_50_ms', 'hang_for_ever', 'loop_for_ever', 'nan', 'huge'),
    *('stall_100_ms', 'end', 'at_the_limit'),
)
# Size of the matrices that a stalled inference multiplies: some milliseconds of native code.
STALL_SIZE = 300
# Calls between two lines that count them.
CALLS_PER_LINE = 250
# Shares of the time limit that control() takes, one after the other: it returns just in time.
LIMIT_SHARE = (0.7, 0.75, 0.8, 0.85, 0.9)


@dataclass
class FaultyControllerParameters:
    """Options of FaultyController."""

    fault: str = parameter('none', 'what goes wrong in the next tick', choices=FAULTS)
    gain: float = parameter(1.0, 'factor of the gains', minimum=0.5, maximum=2.0)
    devices: list[str] = parameter([], 'devices that are read')
    limit: float = parameter(0.002, 'time limit of control()', unit='s', minimum=0.0)
    fail: str = parameter(
        '', 'phase that fails', choices=('', 'configure', 'initialize', 'start', 'control')
    )


class FaultyController(SimpleController):
    """Holds the posture by joint torques until `fault` is set.

    Attributes:
        injected: when the fault began, monotonic clock [s]; 0 before.
        is_released: whether what lasts for ever is to end after all.
    """

    Parameters = FaultyControllerParameters

    def configure(self, config: Any) -> bool:
        """Fail where that is asked for."""
        self.options = config.parameters
        return self._pass('configure')

    def initialize(self, io: ControllerIO) -> bool:
        """Command torques, read angles and devices, and remember the posture."""
        self.options = io.parameters
        self.injected = 0.0
        self.calls = 0
        self.begun = 0.0
        self.is_released = False
        self.os = io.os
        self.body, self.dt = io.body, io.time_step
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
        for device in self.body.devices:
            if device.name in self.options.devices:
                io.enable_input(device)
        self.q_ref = self.body.q.copy()
        self.q_old = self.q_ref.copy()
        # It never changes: an observer of the commands tells by it that another one commands.
        self.body.q_target[:] = self.q_ref
        return self._pass('initialize')

    def start(self) -> bool:
        """Fail where that is asked for."""
        return self._pass('start')

    def _pass(self, phase: str) -> bool:
        if self.options.fail == phase:
            raise RuntimeError(f'told to fail in {phase}')
        return True

    def control(self) -> bool:
        """One tick of PD control, or a fault."""
        self.begun = time.monotonic()
        self._pass('control')
        q = self.body.q
        dq = (q - self.q_old) / self.dt
        self.body.u[:] = self.options.gain * ((self.q_ref - q) * PGAIN - dq * DGAIN)
        self.q_old[:] = q
        if self.options.fault != 'none':
            self._break(self.options.fault)
        return self.options.fault != 'end'

    def _break(self, fault: str) -> None:
        if not self.injected:
            self.injected = time.monotonic()
            print(f'injected {fault} at {time.time_ns()}', file=self.os)
        if fault == 'raise':
            raise RuntimeError('told to raise')
        if fault == 'hang_50_ms':
            self.options = FaultyControllerParameters(devices=self.options.devices)
            time.sleep(0.05)
        if fault == 'stall_100_ms':
            self._stall(0.1)
        if fault == 'at_the_limit':
            self._spin()
        while fault == 'loop_for_ever' and not self.is_released:
            pass
        while fault == 'hang_for_ever' and not self.is_released:
            time.sleep(0.1)
        if fault in ('nan', 'huge'):
            self.body.u[:] = np.nan if fault == 'nan' else 1e9

    def _stall(self, duration: float) -> None:
        """Compute for a duration [s] as an inference does: in native code, without a pause."""
        self.options = FaultyControllerParameters(devices=self.options.devices)
        matrix = np.ones((STALL_SIZE, STALL_SIZE))
        end = time.monotonic() + duration
        while time.monotonic() < end:
            matrix = matrix @ matrix
            matrix /= matrix.max()

    def _spin(self) -> None:
        """Return just before the time limit, each time a little nearer to it; counted."""
        self.calls += 1
        left = self.options.limit * LIMIT_SHARE[self.calls % len(LIMIT_SHARE)]
        end = self.begun + left
        while time.monotonic() < end:
            pass
        if self.calls % CALLS_PER_LINE == 0:
            print(f'{self.calls} calls at the limit', file=self.os)

    def update_parameters(
        self, old: FaultyControllerParameters, new: FaultyControllerParameters
    ) -> None:
        """Take over what is to go wrong."""
        self.options = new
