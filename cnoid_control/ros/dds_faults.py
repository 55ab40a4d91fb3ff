"""The faults that can happen between processes, injected into SR1 standing through DDS."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.ros.dds_rig import DEVICE_AGE, STATE_AGE, DdsRig, RigFailed
from cnoid_control.runtime.fault_rig import FAULTY_CONTROLLER
from cnoid_control.runtime.fault_table import FaultResult
from cnoid_control.runtime.watchdog import WatchdogParameters

CONTROL_TIME = WatchdogParameters().control_time
SUBSCRIBER_TIME = WatchdogParameters().subscriber_time
# Time in which the dead-man must have acted [s].
DEADMAN_LIMIT = 0.05
# Time for controller_manager to answer, on a machine that is busy with other things [s].
DEACTIVATION_TIMEOUT = 10.0
HANGS = 'has not come back'


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
    duration: float = 2.0
    closed_stdout: bool = False
    checks_wire: bool = True


def run_dds(fault: DdsFault) -> FaultResult:
    """Inject a fault into a fresh rig."""
    rig = DdsRig(deadman=fault.expect == 'deadman', closed_stdout=fault.closed_stdout)
    try:
        if rig.is_disturbed:
            return FaultResult(
                fault.name, 'dds', None, False, 'the robot was stopped before the fault'
            )
        return _inject(fault, rig)
    finally:
        rig.close()


def _inject(fault: DdsFault, rig: DdsRig) -> FaultResult:
    rig.wire.forget()
    count = rig.wire.count
    injected = fault.inject(rig)
    time.sleep(fault.duration)
    wrong: list[str] = []
    reaction = None
    outcome = 'the controller went on'
    entered, reason = rig.when('node', 'safe state')
    if fault.expect == 'safe':
        outcome = reason or 'the controller went on'
        if entered:
            reaction = 1e3 * (entered - injected - fault.threshold)
            if fault.because not in reason:
                wrong.append('that is not what was injected')
        else:
            wrong.append('the safe state was not entered')
    elif fault.expect == 'goes on' and entered:
        wrong.append(f'entered the {reason}')
    elif fault.expect == 'ends':
        outcome = f'the node ended with status {rig.control.poll()}, after the safe command'
        if rig.control.poll() != 0 or not rig.wire.zeros:
            wrong.append('not so')
        reaction = 1e3 * (rig.wire.zeros - injected) if rig.wire.zeros else None
    elif fault.expect == 'deadman':
        with contextlib.suppress(RigFailed):
            rig.wait_for(lambda: bool(rig.when('deadman', 'deactivated')[0]), DEACTIVATION_TIMEOUT)
        outcome = 'the dead-man sent the safe command and deactivated the controller'
        if not rig.wire.zeros or not rig.when('deadman', 'deactivated')[0]:
            wrong.append('not so')
        reaction = 1e3 * (rig.wire.zeros - injected) if rig.wire.zeros else None
        if reaction is not None and reaction > 1e3 * DEADMAN_LIMIT:
            wrong.append(f'later than {1e3 * DEADMAN_LIMIT:g} ms')
    if fault.expect in ('safe', 'goes on') and rig.control.poll() is not None:
        wrong.append(f'the node ended with status {rig.control.poll()}')
    if rig.wire.bad:
        wrong.append(f'{rig.wire.bad} bad commands on the wire')
    if fault.checks_wire and rig.wire.count == count:
        wrong.append('no command was sent')
    if fault.stands:
        outcome += '; SR1 stands' if rig.stands else ''
        if not rig.stands:
            wrong.append('SR1 fell')
    if reaction is not None:
        reaction = max(0.0, reaction)
    return FaultResult(
        fault.name, 'dds', reaction, not wrong, '; '.join([outcome, *rig.notes, *wrong])
    )


# --- how they are injected --------------------------------------------------------------------


def _spoil(kind: str) -> Callable[[DdsRig], float]:
    def inject(rig: DdsRig) -> float:
        rig.spoil(kind)
        rig.wait_for(lambda: rig.injected('robot') > 0.0)
        return rig.injected('robot')

    return inject


def _deactivate(*controllers: str) -> Callable[[DdsRig], float]:
    def inject(rig: DdsRig) -> float:
        now = time.time()
        rig.deactivate(*controllers)
        # The switch itself takes its time: it has happened when the manager says so.
        return rig.when('robot', 'switched controllers: +[] -')[0] or now

    return inject


def _break(fault: str) -> Callable[[DdsRig], float]:
    def inject(rig: DdsRig) -> float:
        result = rig.set_parameter('faulty_controller.fault', fault)
        if not result.successful:
            raise CnoidControlError(result.reason)
        rig.wait_for(lambda: rig.injected('node') > 0.0)
        return rig.injected('node')

    return inject


def _signal(number: signal.Signals) -> Callable[[DdsRig], float]:
    def inject(rig: DdsRig) -> float:
        now = time.time()
        os.kill(rig.control.pid, number)
        return now

    return inject


def _second_publisher(rig: DdsRig) -> float:
    from sensor_msgs.msg import JointState

    publisher = rig.node.create_publisher(JointState, 'joint_states', 1)
    now = time.time()
    publisher.publish(JointState(name=['LLEG_HIP_P'], position=[1.0]))
    return now


def _unsubscribe(rig: DdsRig) -> float:
    # The one who checks the wire is a subscriber too.
    rig.wire.close()
    return _spoil('unsubscribe')(rig)


def _kill_robot(rig: DdsRig) -> float:
    from sensor_msgs.msg import JointState

    states: list[JointState] = []
    now = time.time()
    rig.robot.kill()
    rig.robot.wait()
    time.sleep(1.0)
    rig.node.create_subscription(JointState, 'joint_states', states.append, 1)
    rig.start_robot()
    rig.wait_for(lambda: bool(states))
    rig.notes.append('the robot came back; the safe state stays until it is reset')
    return now


def _nothing(rig: DdsRig) -> float:
    return time.time()


def _parameter_storm(rig: DdsRig) -> float:
    now = time.time()
    refused = 0
    for i in range(1000):
        # Every fourth value is out of range.
        value = 5.0 if i % 4 == 3 else 1.0 + 0.1 * (i % 3)
        refused += not rig.set_parameter('faulty_controller.gain', value).successful
    rig.notes.append(f'1000 sets, {refused} refused')
    return now


def _swap_storm(rig: DdsRig) -> float:
    now = time.time()
    names = [FAULTY_CONTROLLER, 'sr1_minimum', 'no_such_controller', 'cnoid_control.none:None']
    taken = refused = 0
    for i in range(20):
        successful = rig.set_parameter('controller', names[(i + 1) % len(names)]).successful
        taken, refused = taken + successful, refused + (not successful)
    rig.notes.append(f'{taken} swaps, {refused} refused')
    return now


DDS_FAULTS = (
    DdsFault(
        'joint_states stop',
        _deactivate('joint_state_broadcaster'),
        'no joint states',
        stands=False,
        threshold=STATE_AGE,
    ),
    DdsFault(
        'joint_states slow down',
        _spoil('slow'),
        'no joint states',
        stands=False,
        threshold=STATE_AGE,
    ),
    DdsFault('joint_states jump in time', _spoil('jump'), 'jumped'),
    DdsFault('joint_states reordered', _spoil('reorder'), expect='goes on'),
    DdsFault('joint_states with a joint missing', _spoil('missing'), expect='goes on'),
    DdsFault('joint_states with NaN', _spoil('nan'), expect='goes on'),
    DdsFault('joint_states with Inf', _spoil('inf'), expect='goes on'),
    DdsFault('joint_states from two publishers', _second_publisher, '2 publishers', threshold=0.1),
    DdsFault('joint_states truncated', _spoil('truncate'), expect='goes on'),
    DdsFault('joint_states flood (10 kHz)', _spoil('flood'), expect='goes on'),
    DdsFault('IMU stops', _deactivate('imu_sensor_broadcaster'), 'WaistIMU', threshold=DEVICE_AGE),
    DdsFault(
        'force sensors stop',
        _deactivate('left_ankle_broadcaster', 'right_ankle_broadcaster'),
        'AnkleForceSensor',
        threshold=DEVICE_AGE,
    ),
    DdsFault('controller raises', _break('raise'), 'told to raise'),
    DdsFault('controller hangs for 50 ms', _break('hang_50_ms'), HANGS, threshold=CONTROL_TIME),
    DdsFault('controller hangs for ever', _break('hang_for_ever'), HANGS, threshold=CONTROL_TIME),
    DdsFault('controller loops for ever', _break('loop_for_ever'), HANGS, threshold=CONTROL_TIME),
    DdsFault('controller returns NaN', _break('nan'), 'cannot be meant'),
    DdsFault('controller writes 10^9', _break('huge'), 'cannot be meant'),
    DdsFault(
        'command subscriber vanishes',
        _unsubscribe,
        'no subscription',
        threshold=SUBSCRIBER_TIME,
        checks_wire=False,
    ),
    DdsFault(
        'forward controller deactivated',
        _deactivate('effort_controller'),
        'deactivated by someone else',
        stands=False,
    ),
    DdsFault('node gets SIGINT', _signal(signal.SIGINT), '', 'ends', False, duration=4.0),
    DdsFault('node gets SIGTERM', _signal(signal.SIGTERM), '', 'ends', False, duration=4.0),
    DdsFault('node gets SIGSTOP', _signal(signal.SIGSTOP), '', 'deadman', False),
    DdsFault('node gets SIGKILL', _signal(signal.SIGKILL), '', 'deadman', False),
    DdsFault(
        'simulator and controller_manager killed and restarted',
        _kill_robot,
        'no joint states',
        stands=False,
        threshold=STATE_AGE,
    ),
    DdsFault('log disk full', _nothing, expect='goes on', closed_stdout=True),
    DdsFault('clock set back', _spoil('back'), 'jumped by -'),
    DdsFault('parameter storm (1000 sets)', _parameter_storm, expect='goes on'),
    DdsFault('hot-swap storm (20 swaps)', _swap_storm, expect='goes on'),
)
