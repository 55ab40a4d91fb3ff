"""Position with a velocity target on ROS, and accelerations by difference."""

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from mujoco_rig import POSTURE, Rig, write_arm
from robot_rig import DT, effort_request
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from cnoid_control.body import StateFlag
from cnoid_control.hardware.exceptions import HardwareError, UnsupportedChannel

POSITION, VELOCITY = StateFlag.JOINT_DISPLACEMENT, StateFlag.JOINT_VELOCITY
FOLLOWING = POSITION | VELOCITY


def test_two_forward_controllers_get_position_and_velocity(rig):
    """Each of them gets its part of the command."""
    hardware = rig.hardware()
    q, dq = (
        rig.listen(Float64MultiArray, f'{name}_controller/commands')
        for name in ('position', 'velocity')
    )
    rig.open(hardware, effort_request(hardware.body, mode=FOLLOWING))
    rig.wait(lambda: all(one.reader_count for one in hardware.command_publishers))
    rig.publish()
    hardware.read()
    hardware.body.q_target[:] = [0.25, 0.5]
    hardware.body.dq_target[:] = [-1.0, 2.0]
    hardware.write()
    rig.wait(lambda: q and dq)
    assert list(q[-1].data) == [0.25, 0.5]
    assert list(dq[-1].data) == [-1.0, 2.0]


def test_a_joint_without_both_interfaces_is_refused_by_name(rig):
    """One controller is not enough; neither are joints that nobody asked the second one for."""
    body = rig.body()
    lacking = rig.hardware(body, commands={'position_controller': {'interface': 'position'}})
    with pytest.raises(HardwareError, match='velocity interface for shoulder, elbow'):
        rig.open(lacking, effort_request(body, mode=FOLLOWING))
    rig.silence()
    mixed = rig.hardware()
    request = effort_request(mixed.body, mode=FOLLOWING)
    request.outputs['lower'] = POSITION
    with pytest.raises(HardwareError, match=r'elbow.*position_controller and by velocity_contr'):
        rig.open(mixed, request)


@pytest.mark.parametrize(
    'mode',
    [
        StateFlag.LINK_POSITION,
        POSITION | StateFlag.JOINT_EFFORT,
        StateFlag.JOINT_PID | StateFlag.LINK_EXT_WRENCH,
    ],
)
def test_what_no_interface_carries_is_refused_by_name(rig, mode):
    """Wrenches and poses are no commands of ros2_control."""
    hardware = rig.hardware()
    known = 'JOINT_DISPLACEMENT . JOINT_VELOCITY'
    with pytest.raises(UnsupportedChannel, match=f"for link '(upper|lower)'; .*{known}"):
        rig.open(hardware, effort_request(hardware.body, mode=mode))


@pytest.mark.parametrize(
    'interfaces', [('position', 'velocity', 'effort'), ('position', 'velocity')]
)
def test_all_state_high_gain_uses_what_is_there(rig, interfaces):
    """Position and velocity, the effort where one is taken; a wrench goes nowhere and is named."""
    warnings = []
    commands = {f'{name}_controller': {'interface': name} for name in interfaces}
    hardware = rig.hardware(commands=commands)
    hardware._warn = warnings.append
    mode = StateFlag.ALL_STATE_HIGH_GAIN
    rig.open(hardware, effort_request(hardware.body, mode=mode))
    assert [one.interface for one in hardware.command_publishers] == list(interfaces)
    rig.publish()
    hardware.read()
    hardware.write()
    assert warnings == []
    hardware.body.link('lower').F_ext[2] = 1.0
    hardware.write()
    assert warnings == ['F_ext of lower goes nowhere: a robot takes no wrench']
    request = effort_request(hardware.body, mode=mode)
    request.outputs['base'] = mode
    with pytest.raises(UnsupportedChannel, match=r"ALL_STATE_HIGH_GAIN for link 'base'"):
        hardware.command_controllers.resolve(request)


def test_accelerations_are_filtered_differences(rig):
    """A constant acceleration is found; a step of it arrives as the filter's formula says."""
    cutoff = 20.0
    hardware = rig.hardware(acceleration_cutoff=cutoff)
    request = effort_request(hardware.body, inputs=StateFlag.JOINT_ACCELERATION)
    request.inputs['lower'] |= StateFlag.LINK_ACCELERATION
    rig.open(hardware, request, velocity=(0.0, 0.0))
    share = DT / (DT + 1.0 / (2.0 * np.pi * cutoff))
    wanted, expected = np.array([2.0, -1.0]), []
    seen = []
    for tick in range(60):
        time = tick * DT
        rig.publish(np.array(POSTURE) + wanted * time**2 / 2, wanted * time)
        hardware.read()
        seen.append(hardware.body.ddq.copy())
        expected.append(wanted * (1.0 - (1.0 - share) ** tick))
    np.testing.assert_allclose(seen, expected, atol=1e-6)
    # The hand is 0.4 m from the shoulder: what turns about it accelerates its origin.
    link, body = hardware.body.link('lower'), hardware.body.clone()
    body.ddq[:] = seen[-1]
    body.calc_forward_kinematics(velocity=True, acceleration=True)
    np.testing.assert_allclose(link.dv, body.link('lower').dv, atol=1e-9)
    assert np.linalg.norm(link.dv) > 0.5


def test_three_controllers_add_an_effort(ros_context, ros_node, spin_until, tmp_path):
    """With an effort besides, the servo settles where its stiffness balances gravity and u."""
    config = write_arm(tmp_path)
    config.write_text(
        config.read_text().replace(
            'floor: false',
            'floor: false, gravity: 0.0, servo_stiffness: 100.0, servo_damping: 20.0',
        )
    )
    rig = Rig(ros_context, ros_node, spin_until, config, pacing='lockstep', real_time_factor=0.0)
    try:
        states = rig.listen(JointState, 'joint_states')
        names = ('position', 'velocity', 'effort')
        send = [rig.command_controllers(f'{name}_controller/commands') for name in names]
        assert rig.switch([f'{name}_controller' for name in names]).ok
        for _ in range(600):
            assert spin_until(lambda: states)
            state = states[-1]
            states.clear()
            for one, values in zip(send, (POSTURE, [0.0, 0.0], [0.0, 5.0]), strict=True):
                one(values)
        np.testing.assert_allclose(state.position, np.add(POSTURE, [0.0, 0.05]), atol=2e-3)
    finally:
        assert rig.close() == ''


def test_the_simulated_robot_follows_both(ros_context, ros_node, spin_until, tmp_path):
    """With both controllers active the velocity target removes the servo's lag."""
    config = write_arm(tmp_path)
    config.write_text(
        config.read_text().replace(
            'floor: false', 'floor: false, servo_stiffness: 300.0, servo_damping: 30.0'
        )
    )
    rig = Rig(ros_context, ros_node, spin_until, config, pacing='lockstep', real_time_factor=0.0)
    try:
        states = rig.listen(JointState, 'joint_states')
        send_q = rig.command_controllers('position_controller/commands')
        send_dq = rig.command_controllers('velocity_controller/commands')
        assert rig.switch(['position_controller', 'velocity_controller']).ok
        lag = []
        for tick in range(300):
            assert spin_until(lambda: states)
            state = states[-1]
            states.clear()
            time = tick * DT
            lag.append(state.position[1] - POSTURE[1] - 0.8 * (time - 2 * DT))
            send_q([POSTURE[0], POSTURE[1] + 0.8 * time])
            send_dq([0.0, 0.8])
        # A servo without the velocity target lags by kd / kp * dq = 0.08.
        assert abs(lag[-1]) < 0.03
    finally:
        assert rig.close() == ''
