"""The faults that can happen between processes, injected into SR1 standing through DDS."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.ros.dds_fault import DdsFault
from cnoid_control.ros.dds_rig import DdsRig
from cnoid_control.ros.wire_observer import ACTIVITY, STATES
from cnoid_control.runtime.assembly import make_robot
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.fault_rig import FAULTY_CONTROLLER
from cnoid_control.runtime.watchdog import WatchdogParameters

SHIPPED = WatchdogParameters()
HANGS = 'has not come back'
# Time in which a controller_manager that is back has all its states sent [s].
SETTLING_TIME = 0.5


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
    return _spoil('unsubscribe')(rig)


def _restart_manager(rig: DdsRig) -> float:
    rig.spoil('restart_manager')
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


DDS_FAULTS = (
    DdsFault(
        'joint_states stop',
        _deactivate('joint_state_broadcaster'),
        'no joint states',
        stands=False,
        threshold=SHIPPED.state_age,
        missed=STATES,
    ),
    DdsFault(
        'joint_states slow down',
        _spoil('slow'),
        'no joint states',
        stands=False,
        threshold=SHIPPED.state_age,
        missed=STATES,
    ),
    DdsFault('joint_states jump in time', _spoil('jump'), 'jumped', told_by=STATES),
    DdsFault('joint_states reordered', _spoil('reorder'), expect='goes on'),
    DdsFault('joint_states with a joint missing', _spoil('missing'), expect='goes on'),
    DdsFault('joint_states with NaN', _spoil('nan'), expect='goes on'),
    DdsFault('joint_states with Inf', _spoil('inf'), expect='goes on'),
    DdsFault(
        'joint_states from two publishers',
        _second_publisher,
        '2 publishers',
        told_by=STATES,
    ),
    DdsFault('joint_states truncated', _spoil('truncate'), expect='goes on'),
    DdsFault('joint_states flood (10 kHz)', _spoil('flood'), expect='goes on'),
    DdsFault(
        'IMU stops',
        _deactivate('imu_sensor_broadcaster'),
        'WaistIMU',
        threshold=SHIPPED.device_age,
        missed='WaistIMU',
    ),
    DdsFault(
        'force sensors stop',
        _deactivate('left_ankle_broadcaster', 'right_ankle_broadcaster'),
        'AnkleForceSensor',
        threshold=SHIPPED.device_age,
        missed='LeftAnkleForceSensor',
    ),
    DdsFault('controller raises', _break('raise'), 'told to raise'),
    DdsFault(
        'controller hangs for 50 ms', _break('hang_50_ms'), HANGS, threshold=SHIPPED.control_time
    ),
    DdsFault(
        'controller hangs for ever',
        _break('hang_for_ever'),
        HANGS,
        threshold=SHIPPED.control_time,
    ),
    DdsFault(
        'controller loops for ever',
        _break('loop_for_ever'),
        HANGS,
        threshold=SHIPPED.control_time,
    ),
    DdsFault('controller returns NaN', _break('nan'), 'cannot be meant', is_replaced=True),
    DdsFault('controller writes 10^9', _break('huge'), 'cannot be meant', is_replaced=True),
    DdsFault(
        'command subscriber vanishes',
        _unsubscribe,
        'no subscription',
        stands=False,
        threshold=SHIPPED.subscriber_time,
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
    DdsFault('node gets SIGSTOP', _signal(signal.SIGSTOP), '', 'deadman', False),
    DdsFault('node gets SIGKILL', _signal(signal.SIGKILL), '', 'deadman', False),
    DdsFault(
        'controller_manager restarted',
        _restart_manager,
        'no joint states',
        stands=False,
        threshold=SHIPPED.state_age,
        missed=STATES,
    ),
    DdsFault(
        'simulator killed and restarted',
        _kill_robot,
        'no joint states',
        stands=False,
        threshold=SHIPPED.state_age,
        missed=STATES,
    ),
    DdsFault('log disk full', _nothing, expect='goes on', closed_stdout=True),
    DdsFault('clock set back', _spoil('back'), 'jumped by -', told_by=STATES),
    DdsFault('parameter storm (1000 sets)', _parameter_storm, expect='goes on'),
    DdsFault('hot-swap storm (20 swaps)', _swap_storm, expect='goes on'),
)
