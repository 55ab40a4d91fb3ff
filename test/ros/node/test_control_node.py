"""The node in a process of its own, on a robot that is simulated in another one."""

import signal

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from controller_manager_msgs.srv import ListControllers
from lifecycle_msgs.msg import Transition
from node_rig import CONTROLLERS, NodeRig, write_config
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

POSTURE = [0.3, -0.2]


@pytest.fixture
def rig(ros_node, spin_until, start_process, tmp_path):
    """Return a rig with the robot of two joints; nothing is started."""
    return NodeRig(ros_node, spin_until, start_process, write_config(tmp_path))


def listen(rig, kind, topic):
    """Collect the messages of a topic."""
    messages = []
    rig.node.create_subscription(kind, topic, messages.append, 100)
    return messages


def wait_for_message(rig, messages, condition, timeout=30.0):
    """Wait until the newest message fulfils a condition."""
    assert rig.spin_until(lambda: messages and condition(messages[-1]), timeout), (
        messages[-1:],
        rig.log,
    )


def position(message):
    """Return the positions of a joint state."""
    return np.array(message.position)


def active_controllers(rig):
    """Return the names of the active controllers of controller_manager."""
    client = rig.node.create_client(ListControllers, 'controller_manager/list_controllers')
    assert rig.spin_until(client.service_is_ready)
    for _ in range(5):
        # An answer is lost where the server does not know its receiver yet.
        future = client.call_async(ListControllers.Request())
        if rig.spin_until(future.done):
            break
    return [one.name for one in future.result().controller if one.state == 'active']


def test_a_day_of_the_node(rig):
    """It starts by itself, holds, obeys parameters and services, swaps, and ends safely."""
    rig.start_robot()
    rig.start_node()
    rig.wait_for_state('active')
    assert 'effort_controller' in active_controllers(rig)
    states = listen(rig, JointState, 'joint_states')
    commands = listen(rig, JointState, 'cnoid_control/joint_commands')
    sent = listen(rig, Float64MultiArray, 'effort_controller/commands')
    wait_for_message(rig, states, lambda m: np.allclose(position(m), POSTURE, atol=0.1))
    wait_for_message(rig, commands, lambda m: list(m.name) == ['shoulder', 'elbow'])

    # Parameters explain themselves, are checked, and act while it runs.
    kp = rig.describe('hold.kp')
    assert kp.description == 'stiffness [N m/rad]'
    assert kp.floating_point_range[0].to_value == 1000.0
    assert rig.describe('hold.mode').additional_constraints == "one of: 'effort', 'position'"
    assert rig.get('hold.kp') == 300.0
    assert rig.set(hold__kp=13.0) == (False, 'ValueError: 13 is unlucky')
    assert rig.get('hold.kp') == 300.0
    success, reason = rig.set(hold__kp=2000.0)
    assert not success
    assert '1000' in reason
    success, reason = rig.set(hold__mode='sideways')
    assert not success
    assert "'sideways' is not allowed" in reason
    success, reason = rig.set(rate=100.0)
    assert not success
    assert 'rate: fixed while the node is configured' in reason
    assert rig.set(hold__kp=250.0) == (True, '')

    # Messages reach the controller's mailboxes.
    offset = rig.node.create_publisher(Float64, 'cnoid_control/offset', 10)
    assert rig.spin_until(offset.get_subscription_count)
    offset.publish(Float64(data=0.2))
    moved = np.array(POSTURE) + 0.2
    wait_for_message(rig, states, lambda m: np.allclose(position(m), moved, atol=0.1))
    assert rig.trigger('home') == (True, '')
    wait_for_message(rig, states, lambda m: np.allclose(position(m), POSTURE, atol=0.1))

    # Services hold and let go.
    assert rig.trigger('resume') == (False, 'there is no pause: it runs')
    assert rig.trigger('pause') == (True, 'paused')
    assert rig.trigger('pause')[0] is False
    assert rig.trigger('resume') == (True, 'running')
    assert rig.trigger('stop') == (True, 'stopped by ~/stop')
    assert rig.trigger('resume') == (False, 'there is no pause: stopped by ~/stop')
    assert rig.trigger('estop') == (True, 'emergency stop by ~/estop')
    wait_for_message(rig, sent, lambda m: list(m.data) == [0.0, 0.0])
    assert rig.trigger('reset') == (True, 'running')
    wait_for_message(rig, sent, lambda m: list(m.data) != [0.0, 0.0])

    # Another controller takes over; one that cannot does not.
    assert rig.set(controller=f'{CONTROLLERS}:Other') == (True, '')
    assert rig.get('controller').endswith('Other')
    assert rig.get('other.kp') == 300.0
    success, reason = rig.set(controller='nonsense')
    assert not success
    assert "unknown controller 'nonsense'" in reason
    rig.wait_for_swap()
    success, reason = rig.set(controller=f'{CONTROLLERS}:Broken')
    assert not success
    assert 'no will to begin' in reason
    assert rig.get('controller').endswith('Other')
    assert rig.state() == 'active'

    # What went well has left a line; what somebody asked for is no error.
    rig.wait_for_log("controller: 'other' has taken over from 'hold'")
    lines = rig.log.splitlines()
    for words in ('~/reset: running', '~/pause: paused', 'safe state: paused'):
        assert any(words in line and '[INFO]' in line for line in lines), rig.log
    stops = [line for line in lines if 'safe state: stopped by ~/stop' in line]
    assert len(stops) == 1
    assert '[WARN]' in stops[0]
    # The controller that cannot begin is the only error.
    errors = [line for line in lines if '[ERROR]' in line and 'no will to begin' not in line]
    # Where it was raised comes with it, indented.
    errors = [line for line in errors if ']:   ' not in line]
    assert not errors

    # It ends with a safe command and gives the controllers back.
    rig.process.send_signal(signal.SIGINT)
    assert rig.process.wait(timeout=20) == 0, rig.log
    wait_for_message(rig, sent, lambda m: list(m.data) == [0.0, 0.0])
    assert 'effort_controller' not in active_controllers(rig)
    assert 'Traceback' not in rig.log, rig.log


def test_the_mode_changes_with_the_controller(rig):
    """A swap to position commands switches the forward controllers, and back; on /clock, too."""
    rig.start_robot()
    rig.start_node('-p', 'use_sim_time:=true')
    rig.wait_for_state('active')
    states = listen(rig, JointState, 'joint_states')
    assert rig.set(controller=f'{CONTROLLERS}:ByPosition') == (True, '')
    assert 'position_controller' in active_controllers(rig)
    assert 'effort_controller' not in active_controllers(rig)
    rig.wait_for_swap()
    assert rig.set(controller=f'{CONTROLLERS}:Hold') == (True, '')
    assert 'effort_controller' in active_controllers(rig)
    assert 'position_controller' not in active_controllers(rig)
    worst = max(abs(position(message) - POSTURE).max() for message in states)
    # Without commands the arm would fall by more than a radian.
    assert worst < 0.4, rig.log


def test_no_command_jumps_in_many_swaps(rig):
    """However often controllers change, one command follows the other smoothly."""
    rig.start_robot()
    rig.start_node('-p', 'swap_blend_time:=0.1')
    rig.wait_for_state('active')
    shown = listen(rig, JointState, 'cnoid_control/joint_commands')
    wait_for_message(rig, shown, lambda m: True)
    for name in ['Other', 'Hold'] * 5:
        assert rig.set(controller=f'{CONTROLLERS}:{name}') == (True, '')
        rig.wait_for_swap(0.15)
    stamps = np.array([m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in shown])
    # A listener that is late misses messages; the next one counts then.
    following = np.diff(stamps) <= 4_000_000
    assert following.sum() > 200
    efforts = np.array([message.effort for message in shown])
    steps = np.abs(np.diff(efforts, axis=0))[following].max(axis=1)
    assert steps.max() < 5.0, (steps.argmax(), len(steps), np.sort(steps)[-8:], rig.log)
    assert 'safe state' not in rig.log


def test_the_life_cycle_is_led_from_outside(rig):
    """Without autostart each transition is asked for; what is not possible is refused."""
    rig.start_robot()
    rig.start_node('-p', 'autostart:=false')
    assert rig.state() == 'unconfigured'
    assert not rig.change_state(Transition.TRANSITION_ACTIVATE)
    assert rig.trigger('stop') == (False, 'the node is not configured')
    assert rig.change_state(Transition.TRANSITION_CONFIGURE)
    assert rig.trigger('stop') == (False, 'the node is not active')
    for _ in range(2):
        assert rig.change_state(Transition.TRANSITION_ACTIVATE), rig.log
        assert 'effort_controller' in active_controllers(rig)
        assert rig.change_state(Transition.TRANSITION_DEACTIVATE)
        assert 'effort_controller' not in active_controllers(rig)
    assert rig.change_state(Transition.TRANSITION_CLEANUP)
    # Nothing runs that it could act on: what is accepted says when it will.
    later = (True, 'it acts when the node is configured')
    assert rig.set(rate=125.0) == later
    assert rig.set(controller='nonsense')[0] is False
    assert rig.set(controller='pd') == later
    assert rig.change_state(Transition.TRANSITION_CONFIGURE)
    assert rig.set(controller='sr1_minimum')[0] is False
    assert rig.change_state(Transition.TRANSITION_INACTIVE_SHUTDOWN)
    assert rig.state() == 'finalized'
    rig.process.send_signal(signal.SIGTERM)
    assert rig.process.wait(timeout=20) == 0


def test_it_can_be_ended_while_it_waits_for_the_robot(rig):
    """Without a robot the node waits, and a signal ends it cleanly."""
    rig.start_node()
    rig.wait_for_log('real-time')
    rig.process.send_signal(signal.SIGINT)
    assert rig.process.wait(timeout=20) == 0
    assert 'Traceback' not in rig.log


@pytest.mark.parametrize(('what', 'status'), [('context', 3), ('loop', 1)])
def test_whatever_breaks_the_robot_is_left_safe(rig, start_process, root, what, status):
    """A lost context and a broken loop end with a safe command and a status that tells."""
    rig.start_robot()
    sent = listen(rig, Float64MultiArray, 'effort_controller/commands')
    words = ['--ros-args', '--params-file', str(rig.config)]
    process = start_process('losing_node', what, *words, PYTHONPATH=f'{root}:{root}/test/support')
    assert rig.spin_until(lambda: process.poll() is not None, timeout=60)
    log = process.log_path.read_text()
    assert process.returncode == status, log
    assert rig.spin_until(lambda: sent and list(sent[-1].data) == [0.0, 0.0]), log
    assert 'effort_controller' not in active_controllers(rig), log


def test_a_signal_leaves_the_robot_safe_whatever_the_executor_does(
    rig, start_process, root, tmp_path
):
    """The last command is the loop's own: it does not wait for callbacks to come back."""
    rig.start_robot()
    sent = listen(rig, Float64MultiArray, 'effort_controller/commands')
    free = tmp_path / 'free'
    words = ['--ros-args', '--params-file', str(rig.config)]
    process = start_process(
        'losing_node', str(free), *words, PYTHONPATH=f'{root}:{root}/test/support'
    )
    log = process.log_path
    assert rig.spin_until(lambda: 'is busy' in log.read_text(), timeout=60), log.read_text()
    wait = len(sent)
    assert rig.spin_until(lambda: len(sent) > wait and list(sent[-1].data) != [0.0, 0.0])
    process.send_signal(signal.SIGINT)
    assert rig.spin_until(lambda: list(sent[-1].data) == [0.0, 0.0]), log.read_text()
    assert process.poll() is None
    free.touch()
    assert rig.spin_until(lambda: process.poll() is not None, timeout=60)
    assert process.returncode == 0, log.read_text()
    assert 'effort_controller' not in active_controllers(rig), log.read_text()


def test_two_robots_in_two_namespaces(ros_node, spin_until, start_process, tmp_path):
    """Each node finds its own robot, and stopping one leaves the other alone."""
    rigs = [
        NodeRig(ros_node, spin_until, start_process, write_config(tmp_path), namespace)
        for namespace in ('/left', '/right')
    ]
    for rig in rigs:
        rig.start_robot()
        rig.start_node()
    sent = [
        listen(rig, Float64MultiArray, f'{rig.namespace}/effort_controller/commands')
        for rig in rigs
    ]
    for rig in rigs:
        rig.wait_for_state('active')
    assert rigs[0].trigger('estop') == (True, 'emergency stop by ~/estop')
    assert spin_until(lambda: sent[0] and list(sent[0][-1].data) == [0.0, 0.0])
    count = len(sent[1])
    assert spin_until(lambda: len(sent[1]) > count + 20)
    assert list(sent[1][-1].data) != [0.0, 0.0]


def test_a_controller_that_has_no_more_to_do_is_no_error(rig):
    """The robot is held, and the log says so at the level of good news."""
    rig.start_robot()
    rig.start_node()
    rig.wait_for_state('active')
    assert rig.set(controller=f'{CONTROLLERS}:Ending') == (True, '')
    rig.wait_for_log('safe state: the controllers have finished')
    assert '[ERROR]' not in rig.log
    assert '[INFO]' in next(line for line in rig.log.splitlines() if 'have finished' in line)
    assert rig.trigger('reset') == (True, 'running')


def test_a_failed_start_says_what_to_call_next(rig):
    """Without a robot the node stays, and the calls that it names start it once there is one."""
    rig.start_node('-p', 'hardware.ros2_control.startup_timeout:=1.0')
    rig.wait_for_log(
        'not started: when that is mended, call: ros2 lifecycle set /cnoid_control configure, '
        'then ros2 lifecycle set /cnoid_control activate'
    )
    assert 'no complete joint state' in rig.log
    rig.start_robot()
    # A busy machine is no fault here.
    assert rig.set(hardware__ros2_control__startup_timeout=30.0)[0]
    assert rig.change_state(Transition.TRANSITION_CONFIGURE), rig.log
    assert rig.change_state(Transition.TRANSITION_ACTIVATE), rig.log
    assert rig.state() == 'active'
