"""Joints commanded with gains on ROS: through five interfaces, or by PD that is computed here."""

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from fake_hardware import two_joint_body
from robot_rig import DT, ManagerNode, effort_request
from std_msgs.msg import Float64MultiArray

from cnoid_control.body import StateFlag
from cnoid_control.parameters import ParameterError
from cnoid_control.ros.exceptions import MissingInterfaces, RobotError
from cnoid_control.ros.message_types import joint_command_type
from cnoid_control.ros.robot.computed_pid import FADE_TIME, ComputedPid
from cnoid_control.runtime.safety.joint_limits import model_limits

PID = StateFlag.JOINT_PID
INTERFACES = ('position', 'velocity', 'effort', 'damping', 'stiffness')
ARRAYS = ('q_target', 'dq_target', 'u', 'kd', 'kp')
FIVE = {f'{name}_controller': {'interface': name} for name in INTERFACES}


def listen(rig, hardware, names=INTERFACES):
    """Messages of each controller, once all are heard."""
    messages = {
        name: rig.listen(Float64MultiArray, f'{name}_controller/commands') for name in names
    }
    rig.wait(lambda: all(one.reader_count for one in hardware.command_publishers))
    return messages


def command(body, **values):
    """Write commands of all joints."""
    for name, value in values.items():
        getattr(body, name)[:] = value


def test_five_forward_controllers_get_their_parts(rig):
    """Position first and stiffness last; at the end no stiffness is left, and the damping is."""
    hardware = rig.hardware(commands=FIVE)
    rig.open(hardware, effort_request(hardware.body, mode=PID))
    assert [one.interface for one in hardware.command_publishers] == list(INTERFACES)
    messages = listen(rig, hardware)
    rig.publish()
    hardware.read()
    sent = {name: [10.0 * place + 1.0, 10.0 * place] for place, name in enumerate(ARRAYS)}
    command(hardware.body, **sent)
    hardware.write()
    rig.wait(lambda: all(messages.values()))
    assert {name: list(one[-1].data) for name, one in messages.items()} == dict(
        zip(INTERFACES, sent.values(), strict=True)
    )
    for one in messages.values():
        one.clear()
    hardware.send_safe_command()
    rig.wait(lambda: all(messages.values()))
    last = {name: list(one[-1].data) for name, one in messages.items()}
    assert last['damping'] == sent['kd']
    assert last['position'] == pytest.approx([0.3, -0.2])
    assert last['velocity'] == last['effort'] == last['stiffness'] == [0.0, 0.0]
    # A run that ends in the middle of a tick: the limiter has not seen the damping.
    hardware._limits().kd_max[:] = [20.0, np.inf]
    hardware.send_safe_command()
    rig.wait(lambda: messages['damping'][-1].data[0] == 20.0)
    assert messages['damping'][-1].data[1] == sent['kd'][1]


def test_an_integral_gain_that_goes_nowhere_is_named(rig):
    """No interface has it; computed here it acts."""
    warnings = []
    hardware = rig.hardware(commands=FIVE)
    hardware._warn = warnings.append
    rig.open(hardware, effort_request(hardware.body, mode=PID))
    rig.publish()
    hardware.read()
    hardware.write()
    assert warnings == []
    hardware.body.ki[1] = 3.0
    hardware.write()
    (text,) = warnings
    assert 'ki of elbow goes nowhere' in text
    assert 'joint_pid: effort' in text


@pytest.mark.parametrize(
    'options',
    [
        {},
        {'joint_pid': 'effort', 'commands': FIVE},
        {'commands': {'effort_controller': {'interface': 'effort'}}},
    ],
    ids=['nothing is known of gains', 'gains are not wanted', 'no gains are configured'],
)
def test_else_pd_is_computed_here(rig, options):
    """The efforts are those of the formula, within the limits; at the end they are zero."""
    hardware = rig.hardware(**options)
    rig.open(hardware, effort_request(hardware.body, mode=PID), velocity=(0.0, 0.0))
    assert [one.interface for one in hardware.command_publishers] == ['effort']
    efforts = listen(rig, hardware, ['effort'])['effort']
    rig.publish(position=(0.3, -0.2), velocity=(0.5, -1.0))
    hardware.read()
    body = hardware.body
    command(body, q_target=[0.5, -0.2], dq_target=[0.0, 1.0], u=[1.0, 2.0], kp=100.0, kd=4.0)
    hardware.write()
    rig.wait(lambda: efforts)
    expected = [100.0 * 0.2 + 4.0 * -0.5 + 1.0, 4.0 * 2.0 + 2.0]
    assert list(efforts[-1].data) == pytest.approx(expected)
    # What the controllers command is left as it is.
    assert body.u.tolist() == [1.0, 2.0]
    efforts.clear()
    command(body, kp=1e6)
    hardware.write()
    rig.wait(lambda: efforts)
    assert list(efforts[-1].data) == pytest.approx([200.0, 10.0])
    efforts.clear()
    hardware.send_safe_command()
    rig.wait(lambda: efforts)
    assert list(efforts[-1].data) == [0.0, 0.0]


def test_damping_that_comes_too_late_is_named(rig):
    """The arm has an inertia of some 0.5 kg m^2: at 500 Hz 1000 N m s/rad make it vibrate."""
    warnings = []
    hardware = rig.hardware(joint_pid='effort')
    hardware._warn = warnings.append
    rig.open(hardware, effort_request(hardware.body, mode=PID))
    rig.publish()
    hardware.read()
    command(hardware.body, kd=10.0)
    hardware.write()
    assert warnings == []
    hardware.use(hardware.resolved)
    command(hardware.body, kd=[1000.0, 10.0])
    for _ in range(3):
        hardware.write()
    (text,) = warnings
    assert text.startswith('PD that is computed at 500 Hz is too late for the damping of shoulder')
    assert 'elbow' not in text


def test_gains_that_are_demanded_and_not_there_are_refused_by_name(rig):
    """Nobody computes what the configuration wants of the robot."""
    hardware = rig.hardware(joint_pid='interfaces')
    with pytest.raises(RobotError, match='stiffness and damping interfaces for shoulder, elbow'):
        rig.open(hardware, effort_request(hardware.body, mode=PID))
    rig.silence()
    wrong = {'s': {'interface': 'stiffness', 'type': 'joint_state'}}
    with pytest.raises(ParameterError, match=r'commands\.s\.type.*joint_state.*no stiffness'):
        rig.hardware(commands=wrong)


@pytest.mark.parametrize('with_gains', [True, False])
def test_the_manager_says_whether_there_are_gains(rig, with_gains):
    """By the interfaces that the hardware exports; all five controllers are activated at once."""
    joints = ('shoulder', 'elbow')
    names = INTERFACES if with_gains else INTERFACES[:3]
    manager = ManagerNode(
        rig, {f'{name}_controller': ('inactive', joints, name) for name in names}
    )
    hardware = rig.hardware(controller_manager='controller_manager')
    rig.open(hardware, effort_request(hardware.body, mode=PID))
    (request,) = manager.requests
    wanted = INTERFACES if with_gains else ['effort']
    assert set(request.activate_controllers) == {f'{name}_controller' for name in wanted}


def test_computed_pid_integrates_and_fades():
    """The integral keeps to the effort limits; what is computed for an old state fades."""
    body = two_joint_body()
    body.u_lower[:], body.u_upper[:] = -10.0, 10.0
    limits = model_limits(body)
    pid = ComputedPid(body, lambda: limits)
    pid.use(np.array([True, False]))
    command(body, q_target=0.5, ki=8.0, u=1.0, kp=0.0, kd=0.0)
    for _ in range(100):
        pid.update(DT)
    # The second joint is commanded by effort.
    assert pid.efforts == pytest.approx([1.0 + 8.0 * 0.5 * 100 * DT, 1.0])
    pid.update(0.0, stale=FADE_TIME / 4)
    assert pid.efforts == pytest.approx([0.75 * 1.8, 1.0])
    pid.update(0.0, stale=2.0 * FADE_TIME)
    assert pid.efforts.tolist() == [0.0, 1.0]
    for _ in range(5000):
        pid.update(DT)
    assert pid.efforts[0] == 10.0
    body.q_target[:] = -0.5
    for _ in range(250):
        pid.update(DT)
    # Ten of it were wound up, and no more: the effort of 1 was on top of it.
    assert pid.efforts[0] == pytest.approx(10.0 - 2.0 + 1.0)
    pid.use(np.array([False, False]))
    pid.use(np.array([True, False]))
    pid.update(0.0)
    assert pid.efforts[0] == pytest.approx(1.0)


def test_computed_pid_tells_what_it_has_limited():
    """Efforts and integrals that are clamped are told once per state, for its own joints alone."""
    body = two_joint_body()
    body.u_lower[:], body.u_upper[:] = -10.0, 10.0
    limits, told = model_limits(body), []
    pid = ComputedPid(body, lambda: limits, lambda *it: told.append((it[0], [*it[1]])))
    pid.use(np.array([True, False]))
    command(body, q_target=0.5, ki=0.0, u=0.0, kp=30.0, kd=0.0)
    pid.update(0.0)
    pid.update(DT)
    assert told == [('effort', [0])]
    told.clear()
    command(body, ki=1e5, kp=0.0, u=-9.0)
    pid.update(DT)
    assert told == [('integral', [0])]


def test_joint_command_messages_are_used_or_named(rig):
    """Each command controller may take them; where they are not installed, that is said."""
    commands = {name: {**one, 'type': 'joint_command'} for name, one in FIVE.items()}
    hardware = rig.hardware(commands=commands)
    request = effort_request(hardware.body, mode=PID)
    try:
        kind = joint_command_type()
    except MissingInterfaces:
        with pytest.raises(MissingInterfaces, match='control_msgs/msg/JointCommand'):
            rig.open(hardware, request)
        return
    rig.open(hardware, request)
    messages = rig.listen(kind, 'stiffness_controller/commands')
    rig.wait(lambda: hardware.command_publishers[-1].reader_count)
    command(hardware.body, kp=[30.0, 20.0])
    hardware.write()
    rig.wait(lambda: messages)
    assert messages[-1].interface_name == 'stiffness'
    assert list(messages[-1].joint_names) == ['shoulder', 'elbow']
    assert list(messages[-1].values) == [30.0, 20.0]


@pytest.mark.filterwarnings('ignore:overflow', 'ignore:invalid value')
def test_efforts_that_are_computed_are_finite():
    """Gains and targets that the limiter passes, one by one, may be too large together."""
    body = two_joint_body()
    pid = ComputedPid(body, lambda: model_limits(body))
    pid.use(np.ones(2, dtype=bool))
    command(body, q=0.0, dq=0.0, u=0.0, ki=0.0)
    command(body, kp=[1e300, 2.0], q_target=[1e10, 0.5], kd=1e300, dq_target=[-1e10, 0.0])
    pid.update(DT)
    assert pid.efforts == pytest.approx([0.0, 1.0])
    command(body, ki=[1e300, 0.0])
    pid.update(DT)
    command(body, q_target=[-1e10, 0.5])
    pid.update(DT)
    command(body, kp=0.0, kd=0.0, ki=1.0, q_target=0.0)
    pid.update(DT)
    assert np.isfinite(pid.efforts).all()
