"""Faults injected into an embedded run."""

from __future__ import annotations

import dataclasses
import math
import resource
from collections.abc import Callable
from dataclasses import dataclass

from cnoid_control.body import Body
from cnoid_control.faults.table import MAX_PERIODS, FaultResult
from cnoid_control.faults.testbed import EmbeddedTestbed
from cnoid_control.runtime.build import make_controllers
from cnoid_control.runtime.exceptions import SwapFailed
from cnoid_control.runtime.hot_swap import ENDED, HotSwap, SwapState

Inject = Callable[[EmbeddedTestbed], None]


@dataclass(frozen=True)
class EmbeddedFault:
    """A fault and the outcome that is required.

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
    threshold: Callable[[EmbeddedTestbed], float] = lambda testbed: 0.0
    hangs: bool = False
    is_replaced: bool = False
    duration: float = 0.8


def run_embedded(fault: EmbeddedFault) -> FaultResult:
    """Inject a fault into a fresh testbed."""
    testbed = EmbeddedTestbed()
    try:
        ticks = testbed.loop.tick
        controller = testbed.controller
        begin = testbed.robot.robot_time
        fault.inject(testbed)
        testbed.run(fault.duration)
        injected = controller.injected if fault.hangs else begin
        return _judge(fault, testbed, injected, testbed.loop.tick - ticks)
    finally:
        testbed.close()


def _judge(
    fault: EmbeddedFault, testbed: EmbeddedTestbed, injected: float, ticks: int
) -> FaultResult:
    safe = testbed.loop.safe_state
    wrong = []
    reaction = periods = None
    if fault.because:
        if safe.is_engaged:
            # The robot's clock counts ticks, whatever the machine is busy with.
            clock = 0 if fault.hangs else 1
            moment = injected if fault.is_replaced else testbed.entered[clock]
            answered = testbed.first_write_after(moment, clock)
            reaction = max(0.0, answered - injected - fault.threshold(testbed))
            periods = max(1, math.ceil(reaction / testbed.config.time_step))
            if periods > MAX_PERIODS:
                wrong.append(f'later than {MAX_PERIODS} control periods')
            outcome = f'safe state: {safe.reason}'
            if fault.is_replaced:
                outcome = f'the command of the tick was replaced; then {outcome}'
            if fault.because not in safe.reason:
                wrong.append('that is another reason than the fault that was injected')
        else:
            wrong.append('the safe state was not entered')
            outcome = 'the controller went on'
    else:
        outcome = 'the controller went on'
        if safe.is_engaged:
            wrong.append(f'the safe state was entered: {safe.reason}')
    if testbed.robot.bad_commands:
        wrong.append(f'{testbed.robot.bad_commands} bad commands were sent')
    if fault.stands:
        outcome += '; SR1 stands' if testbed.robot.stands else ''
        if not testbed.robot.stands:
            wrong.append('SR1 fell')
    else:
        outcome += '; efforts fade to zero'
    if not ticks:
        wrong.append('no command was sent')
    if testbed.recorder.error:
        outcome += (
            f'; {testbed.recorder.error.replace(str(testbed.log_path), testbed.log_path.name)}'
        )
    outcome = '; '.join([outcome, *testbed.notes])
    return FaultResult(
        fault.name,
        'embedded',
        None if reaction is None else 1e3 * reaction,
        not wrong,
        '; '.join([outcome, *wrong]),
        periods,
        threshold_ms=1e3 * fault.threshold(testbed),
    )


# --- how they are injected --------------------------------------------------------------------


def _corrupt(damage: Callable[[Body], bool], messages: float = math.inf) -> Inject:
    def inject(testbed: EmbeddedTestbed) -> None:
        left = messages

        def corrupt(body: Body) -> bool:
            nonlocal left
            left -= 1
            return damage(body) if left >= 0 else True

        testbed.robot.corrupt = corrupt

    return inject


def _set_value(value: float) -> Callable[[Body], bool]:
    def corrupt(body: Body) -> bool:
        body.q[3] = value
        return True

    return corrupt


def _slow_down(testbed: EmbeddedTestbed) -> None:
    """Let two joint states per second arrive instead of a thousand."""
    count = 0

    def corrupt(body: Body) -> bool:
        nonlocal count
        count += 1
        return count % 500 == 0

    testbed.robot.corrupt = corrupt


def _shift_time(seconds: float) -> Inject:
    def inject(testbed: EmbeddedTestbed) -> None:
        def corrupt(body: Body) -> bool:
            testbed.robot.time += seconds
            return True

        testbed.robot.corrupt = corrupt

    return inject


def _silence(*devices: str) -> Inject:
    return lambda testbed: testbed.robot.muted.update(devices)


def _break(fault: str) -> Inject:
    def inject(testbed: EmbeddedTestbed) -> None:
        controller = testbed.controller
        controller.options = dataclasses.replace(controller.options, fault=fault)

    return inject


def _fill_disk(testbed: EmbeddedTestbed) -> None:
    """Let no file grow any more, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (testbed.log_path.stat().st_size, hard))
    testbed.undo.append(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard)))


def _parameter_storm(testbed: EmbeddedTestbed) -> None:
    for i in range(1000):
        changed = dataclasses.replace(testbed.controller.options, gain=1.0 + 0.1 * math.sin(i))
        testbed.controller.update_parameters(testbed.controller.options, changed)
        testbed.run(testbed.config.time_step)


def _swap_storm(testbed: EmbeddedTestbed) -> None:
    """Fifty swaps as fast as they are taken; two of three are to controllers that fail."""
    swap = HotSwap(testbed.loop, duration=0.02)
    failures = ('', 'initialize', 'control')
    taken: list[bool] = []
    for i in range(50):
        options = dict(testbed.config.values['faulty_controller'], fail=failures[i % 3])
        config = dataclasses.replace(testbed.config, options={'faulty_controller': options})
        try:
            transition = swap.begin(make_controllers(config))
            transition.wait_for(ENDED, 5.0)
            taken.append(transition.state is SwapState.DONE)
        except SwapFailed:
            taken.append(False)
    testbed.notes.append(
        f'{sum(taken)} controllers took over, {len(taken) - sum(taken)} were refused'
    )


def _state_age(testbed: EmbeddedTestbed) -> float:
    loop = testbed.loop
    return loop.watchdog.parameters.state_limit(loop.hardware.time_step)


def _device_age(testbed: EmbeddedTestbed) -> float:
    loop = testbed.loop
    return loop.watchdog.parameters.device_limit('', loop.hardware.time_step)


def _control_time(testbed: EmbeddedTestbed) -> float:
    return testbed.loop.monitor.limit


HANGS = 'time limit'

EMBEDDED_FAULTS = (
    EmbeddedFault(
        'joint_states stop', _corrupt(lambda body: False), 'no joint states', False, _state_age
    ),
    EmbeddedFault('joint_states slow down', _slow_down, 'no joint states', False, _state_age),
    EmbeddedFault('joint_states jump in time', _shift_time(10.0), 'jumped'),
    EmbeddedFault('joint_states with NaN', _corrupt(_set_value(math.nan), 10)),
    EmbeddedFault('joint_states with Inf', _corrupt(_set_value(math.inf), 10)),
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
