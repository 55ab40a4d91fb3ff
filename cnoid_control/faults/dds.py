"""Faults injected into a system of ROS processes."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.faults.dds_testbed import DEVICE_TOPICS, DdsRig, RigFailed
from cnoid_control.faults.faulty_controller import CALLS_PER_LINE
from cnoid_control.faults.surroundings import (
    busy_cores,
    foreign_nodes,
    memory_pressure,
    second_node,
)
from cnoid_control.faults.table import MAX_PERIODS, FaultResult
from cnoid_control.faults.testbed import FAULTY_CONTROLLER
from cnoid_control.faults.wire import ACTIVITY, STATES
from cnoid_control.ros.robot.state_rate import SPAN
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.runtime.safety.watchdog import WatchdogParameters

# Time in which the heartbeat monitor must have acted [s].
HEARTBEAT_LIMIT = 0.05
# Time for controller_manager to answer, on a machine that is busy with other things [s].
DEACTIVATION_TIMEOUT = 10.0
# Time in which everything that was sent has been looked at [s].
OBSERVATION_TIME = 0.1


@dataclass(frozen=True)
class DdsFault:
    """A fault and the expected reaction.

    Attributes:
        name: name in the table.
        inject: lets it happen and returns when, by the wall clock [s].
        because: part of the reason that the safe state must have; empty where it must not be
            entered.
        expect: 'goes on', 'safe', 'either' of them, 'ends' (the node ends cleanly) or 'heartbeat'.
        stands: whether SR1 must stay on its feet.
        threshold: time after which the fault is detectable [s].
        told_by: topic whose first message after the injection tells the fault; empty where the
            injection itself is when it can be told.
        missed: 'joint_states' or a device: what the node waits for in vain. The threshold counts
            from the last message that came.
        is_replaced: whether the command of the very tick must be replaced: the first one after
            the injection is the answer then, and the safe state follows when the next are bad too.
        duration: time to wait after the fault [s].
        closed_stdout: whether the node writes its output to a device that is full.
        checks_wire: whether commands must go on to come.
        changes: parameters that are not as shipped, by dotted name.
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
    changes: Mapping[str, Any] = field(default_factory=dict)

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
        given = {**fault.changes, **(changes or {})}
        rig = DdsRig(fault.expect == 'heartbeat', fault.closed_stdout, device, given)
    except RigFailed as error:
        return FaultResult(fault.name, 'dds', None, False, ' '.join(str(error).split()))
    try:
        if not rig.is_disturbed:
            return _inject(fault, rig)
        outcome = f'the robot was stopped before the fault: {rig.disturbance}'
    except CnoidControlError as error:
        outcome = f'it could not be injected: {error}'
        if rig.disturbance:
            outcome += f'; {rig.disturbance}'
    finally:
        rig.close()
    return FaultResult(fault.name, 'dds', None, False, outcome)


def _inject(fault: DdsFault, rig: DdsRig) -> FaultResult:
    rig.wire.forget()
    count = rig.wire.commands.count
    injected = fault.inject(rig)
    time.sleep(fault.duration)
    if fault.expect == 'heartbeat':
        with contextlib.suppress(RigFailed):
            rig.wait_for(
                lambda: bool(rig.when('heartbeat', 'deactivated')[0]), DEACTIVATION_TIMEOUT
            )
    time.sleep(OBSERVATION_TIME)
    outcome, wrong = _what_happened(fault, rig)
    reaction, periods = _reaction(fault, rig, injected)
    if periods is not None and periods > MAX_PERIODS:
        wrong.append(f'later than {MAX_PERIODS} control periods')
    if fault.expect == 'heartbeat' and reaction is not None and reaction > HEARTBEAT_LIMIT:
        wrong.append(f'later than {1e3 * HEARTBEAT_LIMIT:g} ms')
    if fault.expect in ('safe', 'goes on', 'either') and rig.control.poll() is not None:
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
        threshold_ms=1e3 * fault.threshold,
    )


def _what_happened(fault: DdsFault, rig: DdsRig) -> tuple[str, list[str]]:
    """What came of a fault, and what of that is wrong."""
    entered, reason = rig.when('node', 'safe state')
    if fault.expect == 'safe' or (fault.expect == 'either' and entered):
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
    if fault.expect == 'heartbeat':
        outcome = 'the heartbeat monitor sent the safe command and deactivated the controller'
        if rig.wire.commands.zeros and rig.when('heartbeat', 'deactivated')[0]:
            return outcome, []
        sent = 'sent' if rig.wire.commands.zeros else 'not sent'
        said = ' / '.join(rig.log('heartbeat').splitlines()[-3:])
        return outcome, [f'not so: it was {sent}; it says: {said}']
    return 'the controller went on', [f'entered the {reason}'] if entered else []


def _reaction(fault: DdsFault, rig: DdsRig, injected: float) -> tuple[float | None, int | None]:
    """Time from when the fault could be told to the answer [s], and in periods of the robot."""
    wire = rig.wire
    if fault.expect in ('goes on', 'either'):
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
    return reaction, None if fault.expect == 'heartbeat' else wire.periods(told, answered)


SHIPPED = WatchdogParameters()
PERIOD = 1e-3
# Time in which the rate of the states is measured anew, where it is half of the agreed one: the
# states of the old rate among those that it is measured by must be the fewer [s].
RATE_TIME = 3.0 * SPAN
# Calls of control() that take nearly the time limit, and take-overs that are enough, too.
CALLS_AT_THE_LIMIT, MOST_RESETS = 3000, 10
# Time for which the node is suspended, and time after its reset in which a stop would be late [s].
SUSPENSION = 0.1
AFTER_A_RESET = 1.0
HANGS = 'time limit'
# Time in which a controller_manager that is back has all its states sent [s].
SETTLING_TIME = 0.5


# --- how they are injected --------------------------------------------------------------------


def _corrupt(kind: str) -> Callable[[DdsRig], float]:
    def inject(rig: DdsRig) -> float:
        rig.corrupt(kind)
        rig.wait_for(lambda: rig.injected('robot') > 0.0)
        return rig.injected('robot')

    return inject


def _deactivate(*controllers: str) -> Callable[[DdsRig], float]:
    def inject(rig: DdsRig) -> float:
        now = time.time()
        rig.deactivate(*controllers)
        return now

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
    """Another robot begins to send states, of all joints, at the same rate."""
    from sensor_msgs.msg import JointState

    config = load_config('sr1_pd')
    names = make_robot(config.parameters.robot, config.folder).joint_names
    publisher = rig.node.create_publisher(JointState, STATES, 1)
    # The node and the one who looks on.
    rig.wait_for(lambda: publisher.get_subscription_count() >= 2)
    second = 0.0
    for i in range(200):
        message = JointState(name=names, position=[0.5] * len(names))
        message.header.stamp.sec = 1000 + i
        second = time.time() if i == 1 else second
        publisher.publish(message)
        time.sleep(rig.time_step)
    # One message might be of a robot that has started again.
    return second


def _unsubscribe(rig: DdsRig) -> float:
    # The one who checks the wire is a subscriber too.
    rig.wire.commands.close()
    return _corrupt('unsubscribe')(rig)


def _restart_manager(rig: DdsRig) -> float:
    rig.corrupt('restart_manager')
    rig.wait_for(lambda: 'controller_manager is back' in rig.log('robot'))
    time.sleep(SETTLING_TIME)
    injected = rig.injected('robot')
    active = rig.active_controllers()
    if 'joint_state_broadcaster' not in active or 'effort_controller' in active:
        raise CnoidControlError(f'the manager came back with {active}')
    answer = rig.trigger('reset')
    if not answer.success or 'effort_controller' not in rig.active_controllers():
        raise CnoidControlError(f'no reset: {answer.message}')
    rig.notes.append('it came back without a command controller; ~/reset activated that again')
    return injected


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


def _stay_at_the_limit(rig: DdsRig) -> float:
    """Let control() take nearly its time limit, again and again; a reset follows a take-over."""
    injected = _break('at_the_limit')(rig)
    resets = 0

    def calls() -> int:
        return CALLS_PER_LINE * rig.log('node').count('calls at the limit')

    def is_over() -> bool:
        return calls() >= CALLS_AT_THE_LIMIT

    def is_stopped() -> bool:
        return rig.log('node').count('safe state: ') > resets

    while not is_over() and resets < MOST_RESETS:
        rig.wait_for(lambda: is_over() or is_stopped())
        if is_stopped():
            resets += 1
            answer = rig.trigger('reset')
            if not answer.success:
                raise CnoidControlError(f'no reset: {answer.message}')
    rig.notes.append(f'{calls()} calls, {resets} take-overs')
    return injected


def _reload_controller(rig: DdsRig) -> float:
    """Have the command controller loaded anew with its joints in another order."""
    rig.corrupt('reload_controller')
    rig.wait_for(lambda: rig.is_disturbed)
    answer = rig.trigger('reset')
    if answer.success or 'now has joints' not in answer.message:
        raise CnoidControlError(f'the reset was not refused: {answer.message}')
    rig.notes.append('~/reset is refused, with both orders of the joints')
    return rig.injected('robot')


def _suspend(rig: DdsRig) -> float:
    """Suspend the node for a while: the stop of the monitor comes, and must not come again."""
    now = time.time()
    os.kill(rig.control.pid, signal.SIGSTOP)
    time.sleep(SUSPENSION)
    os.kill(rig.control.pid, signal.SIGCONT)
    rig.wait_for(lambda: bool(rig.when('heartbeat', 'deactivated')[0]), DEACTIVATION_TIMEOUT)
    rig.wait_for(lambda: bool(rig.when('node', 'safe state')[0]))
    answer = rig.trigger('reset')
    if not answer.success:
        raise CnoidControlError(f'no reset: {answer.message}')
    # The monitor has repeated its stop for half a second.
    time.sleep(AFTER_A_RESET)
    stops = rig.log('node').count('safe state: ')
    if stops != 1 or 'effort_controller' not in rig.active_controllers():
        raise CnoidControlError('a late stop has cancelled newer commands')
    rig.notes.append('after ~/reset the node commanded on: no late stop cancelled that')
    return now


DDS_FAULTS = (
    DdsFault(
        'joint_states stop',
        _deactivate('joint_state_broadcaster'),
        'no joint states',
        stands=False,
        threshold=SHIPPED.state_limit(PERIOD),
        missed=STATES,
    ),
    DdsFault(
        'joint_states slow down',
        _corrupt('slow'),
        'no joint states',
        stands=False,
        threshold=SHIPPED.state_limit(PERIOD),
        missed=STATES,
    ),
    DdsFault('joint_states jump in time', _corrupt('jump'), 'jumped', told_by=STATES),
    DdsFault('joint_states reordered', _corrupt('reorder'), expect='goes on'),
    DdsFault('joint_states with a joint missing', _corrupt('missing'), expect='goes on'),
    DdsFault('joint_states with NaN', _corrupt('nan'), expect='goes on'),
    DdsFault('joint_states with Inf', _corrupt('inf'), expect='goes on'),
    DdsFault(
        'joint_states from two publishers',
        _second_publisher,
        '2 publishers',
        told_by=STATES,
    ),
    DdsFault('joint_states truncated', _corrupt('truncate'), expect='goes on'),
    DdsFault('joint_states flood (10 kHz)', _corrupt('flood'), expect='goes on'),
    DdsFault(
        'IMU stops',
        _deactivate('imu_sensor_broadcaster'),
        'WaistIMU',
        threshold=SHIPPED.device_limit('', PERIOD),
        missed='WaistIMU',
    ),
    DdsFault(
        'force sensors stop',
        _deactivate('LeftAnkleForceSensor_broadcaster', 'RightAnkleForceSensor_broadcaster'),
        'AnkleForceSensor',
        threshold=SHIPPED.device_limit('', PERIOD),
        missed='LeftAnkleForceSensor',
    ),
    DdsFault('controller raises', _break('raise'), 'told to raise'),
    DdsFault(
        'controller hangs for 50 ms',
        _break('hang_50_ms'),
        HANGS,
        threshold=SHIPPED.control_limit(False, PERIOD),
    ),
    DdsFault(
        'controller hangs for ever',
        _break('hang_for_ever'),
        HANGS,
        threshold=SHIPPED.control_limit(False, PERIOD),
    ),
    DdsFault(
        'controller loops for ever',
        _break('loop_for_ever'),
        HANGS,
        threshold=SHIPPED.control_limit(False, PERIOD),
    ),
    DdsFault('controller returns NaN', _break('nan'), 'implausible', is_replaced=True),
    DdsFault('controller writes 10^9', _break('huge'), 'implausible', is_replaced=True),
    DdsFault(
        'command subscriber vanishes',
        _unsubscribe,
        'no subscription',
        stands=False,
        threshold=SHIPPED.subscriber_timeout,
        checks_wire=False,
    ),
    DdsFault(
        'forward controller deactivated',
        _deactivate('effort_controller'),
        'deactivated by someone else',
        stands=False,
        told_by=ACTIVITY,
    ),
    DdsFault('node gets SIGINT', _signal(signal.SIGINT), '', 'ends', False, duration=4.0),
    DdsFault('node gets SIGTERM', _signal(signal.SIGTERM), '', 'ends', False, duration=4.0),
    DdsFault('node gets SIGSTOP', _signal(signal.SIGSTOP), '', 'heartbeat', False),
    DdsFault('node gets SIGKILL', _signal(signal.SIGKILL), '', 'heartbeat', False),
    DdsFault(
        'controller_manager restarted',
        _restart_manager,
        'no joint states',
        stands=False,
        threshold=SHIPPED.state_limit(PERIOD),
        missed=STATES,
    ),
    DdsFault(
        'simulator killed and restarted',
        _kill_robot,
        'no joint states',
        stands=False,
        threshold=SHIPPED.state_limit(PERIOD),
        missed=STATES,
    ),
    DdsFault(
        'joint_states at half the agreed rate',
        _corrupt('half'),
        'instead of the agreed 1000 Hz',
        threshold=RATE_TIME,
    ),
    DdsFault(
        "command controller's joints change",
        _reload_controller,
        'deactivated by someone else',
        stands=False,
        told_by=ACTIVITY,
    ),
    DdsFault(
        'inference stalls for 100 ms',
        _break('stall_100_ms'),
        HANGS,
        threshold=SHIPPED.control_limit(False, PERIOD),
    ),
    DdsFault('controller ends with no successor', _break('end'), 'have finished'),
    DdsFault(
        'control() takes just its limit (3000 times)',
        _stay_at_the_limit,
        HANGS,
        expect='either',
        duration=0.1,
        changes={'watchdog.control_timeout': 0.002},
    ),
    DdsFault('node suspended for 100 ms', _suspend, '', 'heartbeat', False, checks_wire=False),
    DdsFault('two nodes for one robot', second_node, expect='goes on', duration=0.5),
    DdsFault('200 foreign nodes join and leave', foreign_nodes, expect='goes on', duration=0.5),
    DdsFault('memory pressure', memory_pressure, expect='goes on', duration=0.5),
    DdsFault('all cores taken by others', busy_cores, expect='goes on', duration=0.5),
    DdsFault('log disk full', _nothing, expect='goes on', closed_stdout=True),
    DdsFault('clock set back', _corrupt('back'), 'jumped by -', told_by=STATES),
    DdsFault('parameter storm (1000 sets)', _parameter_storm, expect='goes on'),
    DdsFault('hot-swap storm (20 swaps)', _swap_storm, expect='goes on'),
)
