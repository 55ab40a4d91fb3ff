"""One fault between processes: what it is, how it is run, and whether it was survived."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.ros.dds_rig import DEVICE_TOPICS, DdsRig, RigFailed
from cnoid_control.runtime.fault_table import MAX_PERIODS, FaultResult

# Time in which the dead-man must have acted [s].
DEADMAN_LIMIT = 0.05
# Time for controller_manager to answer, on a machine that is busy with other things [s].
DEACTIVATION_TIMEOUT = 10.0
# Time in which everything that was sent has been looked at [s].
SETTLING_TIME = 0.1


@dataclass(frozen=True)
class DdsFault:
    """A fault and what must come of it.

    Attributes:
        name: name in the table.
        inject: lets it happen and returns when, by the clock on the wall [s].
        because: words of the reason for which the safe state must be entered; empty where it
            must not be.
        expect: 'goes on', 'safe', 'ends' (the node ends in order) or 'deadman'.
        stands: whether SR1 must stay on its feet.
        threshold: time after which the fault can be told at all [s].
        told_by: topic whose first message after the injection tells the fault; empty where the
            injection itself is when it can be told.
        missed: 'joint_states' or a device: what the node waits for in vain. The threshold counts
            from the last message that came.
        is_replaced: whether the command of the very tick must be replaced: the first one after
            the injection is the answer then, and the safe state follows when the next are bad too.
        duration: time to wait after the fault [s].
        closed_stdout: whether the node writes its output to a device that is full.
        checks_wire: whether commands must go on to come.
    """

    name: str
    inject: Callable[[DdsRig], float]
    because: str = ''
    expect: str = 'safe'
    stands: bool = True
    threshold: float = 0.0
    told_by: str = ''
    missed: str = ''
    is_replaced: bool = False
    duration: float = 2.0
    closed_stdout: bool = False
    checks_wire: bool = True

    @property
    def missed_topic(self) -> str:
        """Topic of what is missed; empty for none."""
        return DEVICE_TOPICS.get(self.missed, self.missed)


def run_dds(fault: DdsFault, changes: Mapping[str, Any] | None = None) -> FaultResult:
    """Inject a fault into a fresh rig.

    Args:
        fault: the fault.
        changes: parameters that are not as shipped, by dotted name.
    """
    device = fault.missed if fault.missed in DEVICE_TOPICS else ''
    try:
        rig = DdsRig(fault.expect == 'deadman', fault.closed_stdout, device, changes)
    except RigFailed as error:
        return FaultResult(fault.name, 'dds', None, False, ' '.join(str(error).split()))
    try:
        if not rig.is_disturbed:
            return _inject(fault, rig)
        outcome = f'the robot was stopped before the fault: {rig.disturbance}'
    except CnoidControlError as error:
        outcome = f'it could not be injected: {rig.disturbance or error}'
    finally:
        rig.close()
    return FaultResult(fault.name, 'dds', None, False, outcome)


def _inject(fault: DdsFault, rig: DdsRig) -> FaultResult:
    rig.wire.forget()
    count = rig.wire.commands.count
    injected = fault.inject(rig)
    time.sleep(fault.duration)
    if fault.expect == 'deadman':
        with contextlib.suppress(RigFailed):
            rig.wait_for(lambda: bool(rig.when('deadman', 'deactivated')[0]), DEACTIVATION_TIMEOUT)
    time.sleep(SETTLING_TIME)
    outcome, wrong = _what_happened(fault, rig)
    reaction, periods = _reaction(fault, rig, injected)
    if periods is not None and periods > MAX_PERIODS:
        wrong.append(f'later than {MAX_PERIODS} control periods')
    if fault.expect == 'deadman' and reaction is not None and reaction > DEADMAN_LIMIT:
        wrong.append(f'later than {1e3 * DEADMAN_LIMIT:g} ms')
    if fault.expect in ('safe', 'goes on') and rig.control.poll() is not None:
        wrong.append(f'the node ended with status {rig.control.poll()}')
    if rig.wire.commands.bad:
        wrong.append(f'{rig.wire.commands.bad} bad commands on the wire')
    if fault.checks_wire and rig.wire.commands.count == count:
        wrong.append('no command was sent')
    if fault.stands:
        outcome += '; SR1 stands' if rig.stands else ''
        if not rig.stands:
            wrong.append('SR1 fell')
    return FaultResult(
        fault.name,
        'dds',
        None if reaction is None else 1e3 * reaction,
        not wrong,
        '; '.join([outcome, *rig.notes, *wrong]),
        periods,
    )


def _what_happened(fault: DdsFault, rig: DdsRig) -> tuple[str, list[str]]:
    """What came of a fault, and what of that is wrong."""
    entered, reason = rig.when('node', 'safe state')
    if fault.expect == 'safe':
        if not entered:
            return 'the controller went on', ['the safe state was not entered']
        if fault.because not in reason:
            return reason, ['that is not what was injected']
        if fault.is_replaced:
            reason = f'the command of the tick was replaced; then {reason}'
        return reason, []
    if fault.expect == 'ends':
        status = rig.control.poll()
        is_so = status == 0 and bool(rig.wire.commands.zeros)
        outcome = f'the node ended with status {status}, after the safe command'
        return outcome, [] if is_so else ['not so']
    if fault.expect == 'deadman':
        outcome = 'the dead-man sent the safe command and deactivated the controller'
        if rig.wire.commands.zeros and rig.when('deadman', 'deactivated')[0]:
            return outcome, []
        sent = 'sent' if rig.wire.commands.zeros else 'not sent'
        said = ' / '.join(rig.log('deadman').splitlines()[-3:])
        return outcome, [f'not so: it was {sent}; it says: {said}']
    return 'the controller went on', [f'entered the {reason}'] if entered else []


def _reaction(fault: DdsFault, rig: DdsRig, injected: float) -> tuple[float | None, int | None]:
    """Time from when the fault could be told to the answer [s], and in periods of the robot."""
    wire = rig.wire
    if fault.expect == 'goes on':
        return None, None
    if fault.expect != 'safe':
        answered = wire.commands.zeros
    elif fault.is_replaced:
        answered = wire.commands.first_after(injected)
    else:
        answered = wire.takeover.changed
    if not answered or math.isinf(answered):
        return None, None
    told = injected
    if fault.missed:
        told = wire.topics[fault.missed_topic].last_before(answered)
    elif fault.told_by:
        told = wire.topics[fault.told_by].first_after(injected)
    if not math.isfinite(told):
        raise RigFailed('nothing that tells the fault was seen')
    told += fault.threshold
    reaction = max(0.0, answered - told)
    return reaction, None if fault.expect == 'deadman' else wire.periods(told, answered)
