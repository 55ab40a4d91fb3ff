"""Faults of Gazebo itself, injected while SR1 stands in it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.faults.gazebo_testbed import CLOCK, GazeboRig
from cnoid_control.faults.table import FaultResult

GAZEBO = 'gazebo'
# Time in which the end of the clock must have been answered, once it is too long ago [s].
REACTION_LIMIT = 0.5
PAUSE, HANG = 10.0, 6.0
# Time in which a launch must have ended, or a Gazebo with SR1 must be back [s].
END_TIMEOUT, RETURN_TIMEOUT = 20.0, 180.0
# Simulated time for which SR1 is looked at afterwards [s].
AFTERWARDS = 1.0
NO_CLOCK = 'no clock of the simulator'
COMMANDER = 'effort_controller'


@dataclass(frozen=True)
class GazeboFault:
    """A fault of Gazebo, and what must come of it.

    Attributes:
        name: name in the table.
        inject: lets it happen, waits for what must follow and says what is wrong; empty for well.
        respawn: whether a Gazebo that was killed is started again.
        is_answered: whether the safe state must have been entered because of the clock.
    """

    name: str
    inject: Callable[[GazeboRig], str]
    respawn: bool = False
    is_answered: bool = False


def run_gazebo(fault: GazeboFault) -> FaultResult:
    """Inject a fault into a fresh Gazebo."""
    rig: GazeboRig | None = None
    try:
        rig = GazeboRig(f'respawn:={str(fault.respawn).lower()}')
        rig.wire.forget()
        return _result(fault, rig, fault.inject(rig))
    except CnoidControlError as error:
        outcome = ' '.join(str(error).split())
        return FaultResult(fault.name, GAZEBO, None, False, outcome)
    finally:
        if rig is not None:
            rig.close()


def _result(fault: GazeboFault, rig: GazeboRig, problem: str) -> FaultResult:
    wrong = [problem] if problem else []
    entered, reason = rig.when('safe state')
    reaction = None
    if fault.is_answered:
        if NO_CLOCK not in reason:
            wrong.append(f'the safe state was not entered for that: {reason or "never"}')
        else:
            last = rig.wire.topics[CLOCK].last_before(entered)
            reaction = max(0.0, entered - last - rig.clock_limit)
            if reaction > REACTION_LIMIT:
                wrong.append(f'later than {1e3 * REACTION_LIMIT:g} ms')
    elif entered:
        wrong.append(f'entered the {reason}')
    if rig.wire.commands.bad:
        wrong.append(f'{rig.wire.commands.bad} bad commands on the wire')
    first = reason if fault.is_answered else ''
    return FaultResult(
        fault.name,
        GAZEBO,
        None if reaction is None else 1e3 * reaction,
        not wrong,
        '; '.join([*([first] if first else []), *rig.notes, *wrong]),
        threshold_ms=1e3 * rig.clock_limit,
    )


def _stands_on(rig: GazeboRig) -> str:
    """What is wrong with SR1 after some more simulated time; empty where it stands."""
    since, count = rig.sim_time, rig.wire.commands.count
    rig.wait_for(lambda: rig.sim_time > since + AFTERWARDS, RETURN_TIMEOUT)
    if rig.wire.commands.count == count:
        return 'no command was sent'
    if not rig.stands:
        return f'SR1 does not stand (tilt {rig.tilt:.1f} degrees)'
    rig.notes.append('SR1 stands')
    return ''


def _pause(rig: GazeboRig) -> str:
    rig.control('pause: true')
    time.sleep(PAUSE)
    rig.control('pause: false')
    rig.notes.append(f'the controller went on after {PAUSE:g} s')
    return _stands_on(rig)


def _hang(rig: GazeboRig) -> str:
    rig.signal_gazebo(signal.SIGSTOP)
    time.sleep(HANG)
    since = rig.sim_time
    rig.signal_gazebo(signal.SIGCONT)
    rig.wait_for(lambda: rig.sim_time > since + AFTERWARDS, RETURN_TIMEOUT)
    rig.notes.append('the safe state held SR1 until it was reset')
    return _reset(rig)


def _kill(rig: GazeboRig) -> str:
    killed = rig.signal_gazebo(signal.SIGKILL)
    rig.wait_for(lambda: rig.launch.poll() is not None, END_TIMEOUT)
    took = time.time() - killed
    rig.notes.append(f'the launch ended {took:.1f} s later, nothing is left behind')
    if not rig.has_ended:
        return 'not so'
    if 'Traceback' in rig.log:
        return 'with a traceback'
    return ''


def _kill_and_restart(rig: GazeboRig) -> str:
    rig.signal_gazebo(signal.SIGKILL)
    rig.wait_for(lambda: bool(rig.when(NO_CLOCK)[0]), RETURN_TIMEOUT)
    before = rig.sim_time
    # It has a new clock, and a manager with the controllers that the spawners have loaded.
    rig.wait_for(lambda: rig.gazebo_starts > 1 and rig.sim_time < before, RETURN_TIMEOUT)
    rig.wait_for(lambda: COMMANDER in _controllers(rig), RETURN_TIMEOUT)
    rig.notes.append('Gazebo came back with SR1; the safe state stays until it is reset')
    return _reset(rig)


def _controllers(rig: GazeboRig) -> dict[str, str]:
    try:
        return rig.observer.controllers()
    except CnoidControlError:
        return {}


def _reset(rig: GazeboRig) -> str:
    answer = rig.observer.trigger('reset')
    if not answer.success:
        return f'~/reset is refused: {answer.message}'
    rig.notes.append('after ~/reset the controller runs')
    return _stands_on(rig)


GAZEBO_FAULTS = (
    GazeboFault(f'Gazebo paused for {PAUSE:g} s', _pause),
    GazeboFault(f'Gazebo hangs for {HANG:g} s', _hang, is_answered=True),
    GazeboFault('Gazebo killed', _kill),
    GazeboFault('Gazebo killed and restarted', _kill_and_restart, respawn=True, is_answered=True),
)
