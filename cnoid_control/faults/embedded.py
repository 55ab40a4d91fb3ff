"""Faults injected into an embedded run."""

from __future__ import annotations

import dataclasses
import math
import resource
from collections.abc import Callable
from dataclasses import dataclass

from cnoid_control.body import Body
from cnoid_control.faults.table import MAX_PERIODS, FaultResult
from cnoid_control.faults.testbed import EmbeddedRig
from cnoid_control.runtime.build import make_controllers
from cnoid_control.runtime.exceptions import SwapFailed
from cnoid_control.runtime.hot_swap import ENDED, HotSwap, SwapState

Inject = Callable[[EmbeddedRig], None]


@dataclass(frozen=True)
class EmbeddedFault:
    """A fault and what must come of it.

    Attributes:
        name: name in the table.
        inject: lets it happen; called while the robot stands.
        because: words of the reason for which the safe state must be entered; where empty, the
            controller must go on.
        stands: whether SR1 must stay on its feet.
        threshold: time after which the fault becomes detectable [s], on the robot's clock; on
            the wall clock where `hangs`.
        hangs: whether the controller does not return: the robot's time stands still then.
        is_replaced: whether the command of the very tick must be replaced: the first one after
            the injection is the answer then, and the safe state follows when the next are bad too.
        duration: time to run after the fault [s].
    """

    name: str
    inject: Inject
    because: str = ''
    stands: bool = True
    threshold: Callable[[EmbeddedRig], float] = lambda rig: 0.0
    hangs: bool = False
    is_replaced: bool = False
    duration: float = 0.8


def run_embedded(fault: EmbeddedFault) -> FaultResult:
    """Inject a fault into a fresh rig."""
    rig = EmbeddedRig()
    try:
        ticks = rig.loop.tick
        controller = rig.controller
        begin = rig.robot.robot_time
        fault.inject(rig)
        rig.run(fault.duration)
        injected = controller.injected if fault.hangs else begin
        return _judge(fault, rig, injected, rig.loop.tick - ticks)
    finally:
        rig.close()


def _judge(fault: EmbeddedFault, rig: EmbeddedRig, injected: float, ticks: int) -> FaultResult:
    safe = rig.loop.safe_state
    wrong = []
    reaction = periods = None
    if fault.because:
        if safe.is_engaged:
            # The robot's clock counts ticks, whatever the machine is busy with.
            clock = 0 if fault.hangs else 1
            moment = injected if fault.is_replaced else rig.entered[clock]
            answered = rig.first_write_after(moment, clock)
            reaction = max(0.0, answered - injected - fault.threshold(rig))
            periods = max(1, math.ceil(reaction / rig.config.time_step))
            if periods > MAX_PERIODS:
                wrong.append(f'later than {MAX_PERIODS} control periods')
            outcome = f'safe state: {safe.reason}'
            if fault.is_replaced:
                outcome = f'the command of the tick was replaced; then {outcome}'
            if fault.because not in safe.reason:
                wrong.append('that is not what was injected')
        else:
            wrong.append('the safe state was not entered')
            outcome = 'the controller went on'
    else:
        outcome = 'the controller went on'
        if safe.is_engaged:
            wrong.append(f'the safe state was entered: {safe.reason}')
    if rig.robot.bad_commands:
        wrong.append(f'{rig.robot.bad_commands} bad commands were sent')
    if fault.stands:
        outcome += '; SR1 stands' if rig.robot.stands else ''
        if not rig.robot.stands:
            wrong.append('SR1 fell')
    else:
        outcome += '; efforts fade to zero'
    if not ticks:
        wrong.append('no command was sent')
    if rig.recorder.error:
        outcome += f'; {rig.recorder.error.replace(str(rig.log_path), rig.log_path.name)}'
    outcome = '; '.join([outcome, *rig.notes])
    return FaultResult(
        fault.name,
        'embedded',
        None if reaction is None else 1e3 * reaction,
        not wrong,
        '; '.join([outcome, *wrong]),
        periods,
    )


# --- how they are injected --------------------------------------------------------------------


def _spoil(spoiler: Callable[[Body], bool], messages: float = math.inf) -> Inject:
    def inject(rig: EmbeddedRig) -> None:
        left = messages

        def corrupt(body: Body) -> bool:
            nonlocal left
            left -= 1
            return spoiler(body) if left >= 0 else True

        rig.robot.corrupt = corrupt

    return inject


def _set_value(value: float) -> Callable[[Body], bool]:
    def corrupt(body: Body) -> bool:
        body.q[3] = value
        return True

    return corrupt


def _slow_down(rig: EmbeddedRig) -> None:
    """Two states a second instead of a thousand."""
    count = 0

    def corrupt(body: Body) -> bool:
        nonlocal count
        count += 1
        return count % 500 == 0

    rig.robot.corrupt = corrupt


def _shift_time(seconds: float) -> Inject:
    def inject(rig: EmbeddedRig) -> None:
        def corrupt(body: Body) -> bool:
            rig.robot.time += seconds
            return True

        rig.robot.corrupt = corrupt

    return inject


def _silence(*devices: str) -> Inject:
    return lambda rig: rig.robot.muted.update(devices)


def _break(fault: str) -> Inject:
    def inject(rig: EmbeddedRig) -> None:
        controller = rig.controller
        controller.options = dataclasses.replace(controller.options, fault=fault)

    return inject


def _fill_disk(rig: EmbeddedRig) -> None:
    """Let no file grow any more, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (rig.log_path.stat().st_size, hard))
    rig.undo.append(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard)))


def _parameter_storm(rig: EmbeddedRig) -> None:
    for i in range(1000):
        changed = dataclasses.replace(rig.controller.options, gain=1.0 + 0.1 * math.sin(i))
        rig.controller.update_parameters(rig.controller.options, changed)
        rig.run(rig.config.time_step)


def _swap_storm(rig: EmbeddedRig) -> None:
    """Fifty swaps as fast as they are taken; two of three are to controllers that fail."""
    swap = HotSwap(rig.loop, duration=0.02)
    failures = ('', 'initialize', 'control')
    taken: list[bool] = []

    def storm() -> None:
        for i in range(50):
            options = dict(rig.config.values['faulty_controller'], fail=failures[i % 3])
            config = dataclasses.replace(rig.config, options={'faulty_controller': options})
            try:
                transition = swap.begin(make_controllers(config))
                transition.wait_for(ENDED, 5.0)
                taken.append(transition.state is SwapState.DONE)
            except SwapFailed:
                taken.append(False)

    storm()
    rig.notes.append(f'{sum(taken)} controllers took over, {len(taken) - sum(taken)} were refused')


def _state_age(rig: EmbeddedRig) -> float:
    return rig.loop.watchdog.parameters.state_age


def _device_age(rig: EmbeddedRig) -> float:
    return rig.loop.watchdog.parameters.device_age


def _control_time(rig: EmbeddedRig) -> float:
    return rig.loop.monitor.limit


HANGS = 'time limit'

EMBEDDED_FAULTS = (
    EmbeddedFault(
        'joint_states stop', _spoil(lambda body: False), 'no joint states', False, _state_age
    ),
    EmbeddedFault('joint_states slow down', _slow_down, 'no joint states', False, _state_age),
    EmbeddedFault('joint_states jump in time', _shift_time(10.0), 'jumped'),
    EmbeddedFault('joint_states with NaN', _spoil(_set_value(math.nan), 10)),
    EmbeddedFault('joint_states with Inf', _spoil(_set_value(math.inf), 10)),
    EmbeddedFault('IMU stops', _silence('WaistIMU'), 'WaistIMU', True, _device_age),
    EmbeddedFault(
        'force sensors stop',
        _silence('LeftAnkleForceSensor', 'RightAnkleForceSensor'),
        'AnkleForceSensor',
        True,
        _device_age,
    ),
    EmbeddedFault('controller raises', _break('raise'), 'told to raise'),
    EmbeddedFault(
        'controller hangs for 50 ms', _break('hang_50_ms'), HANGS, True, _control_time, hangs=True
    ),
    EmbeddedFault(
        'controller loops for ever',
        _break('loop_for_ever'),
        HANGS,
        True,
        _control_time,
        hangs=True,
    ),
    EmbeddedFault('controller returns NaN', _break('nan'), 'implausible', is_replaced=True),
    EmbeddedFault('controller writes 10^9', _break('huge'), 'implausible', is_replaced=True),
    EmbeddedFault('log disk full', _fill_disk),
    EmbeddedFault('clock set back', _shift_time(-10.0), 'jumped by -'),
    EmbeddedFault('parameter storm (1000 sets)', _parameter_storm),
    EmbeddedFault('hot-swap storm (50 swaps)', _swap_storm),
)
