"""The simulated robot as a node, asked through DDS."""

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from controller_manager_msgs.msg import ControllerManagerActivity, NamedLifecycleState
from controller_manager_msgs.srv import ListControllers
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import State
from mujoco_rig import POSTURE, Rig, write_arm
from nav_msgs.msg import Odometry
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from cnoid_control.body import JointType, StateFlag
from cnoid_control.body.formats.load import load_body
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.parameters import MujocoParameters
from cnoid_control.ros.sim.loop import Phase

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
DT = 0.002


@pytest.fixture
def arm(tmp_path):
    """Return a configuration file of a robot of two joints."""
    return write_arm(tmp_path)


@pytest.fixture
def make_rig(ros_context, ros_node, spin_until, arm):
    """Return a function that starts the robot with parameters."""
    rigs = []

    def make(config=arm, **parameters):
        rigs.append(Rig(ros_context, ros_node, spin_until, config, **parameters))
        return rigs[-1]

    yield make
    for rig in rigs:
        assert rig.close() == ''


def pd(q, dq):
    """Return efforts that hold the posture."""
    return (np.array(POSTURE) - q) * 300.0 - np.asarray(dq) * 20.0


def reference_run(arm, ticks):
    """Return the states of the same robot under the same control, in this process."""
    body = load_body(arm.parent / 'arm.urdf', JointType.FIXED)
    body.q[:] = POSTURE
    body.initialize_state()
    hardware = MujocoHardware(body, MujocoParameters(floor=False), DT)
    flags = StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY
    names = [joint.name for joint in body.joints]
    hardware.open(
        IORequest(
            inputs=dict.fromkeys(names, flags),
            outputs=dict.fromkeys(names, StateFlag.JOINT_EFFORT),
        )
    )
    states = []
    for _ in range(ticks):
        hardware.read()
        states.append(body.q.copy())
        body.u[:] = pd(body.q, body.dq)
        hardware.write()
    return np.array(states)


def test_lockstep_gives_the_same_bits_as_in_process(make_rig, arm, spin_until):
    """In lock-step every state is answered, and the motion is that of a loop in one process."""
    rig = make_rig(pacing='lockstep', real_time_factor=0.0)
    send = rig.command_controllers()
    states = {}

    def on_state(message):
        stamp = round((message.header.stamp.sec + message.header.stamp.nanosec * 1e-9) / DT)
        if stamp not in states:
            states[stamp] = list(message.position)
            send(pd(np.array(message.position), message.velocity))

    rig.node.create_subscription(JointState, 'joint_states', on_state, QoSProfile(depth=10))
    assert spin_until(lambda: 1 in states)
    ticks = rig.loop.ticks
    assert rig.switch(['effort_controller']).ok
    assert rig.loop.ticks == ticks == 1
    states.clear()
    assert spin_until(lambda: len(states) >= 300)
    assert sorted(states)[:300] == list(range(1, 301))
    np.testing.assert_array_equal([states[i] for i in range(1, 301)], reference_run(arm, 300))
    assert rig.loop.pacing.timeouts == 0


def test_time_stands_still_until_commands_come(make_rig, spin_until):
    """In lock-step the first state is shown again and again with its stamp, and no other one."""
    rig = make_rig(pacing='lockstep')
    states = rig.listen(JointState, 'joint_states')
    assert spin_until(lambda: len(states) >= 4)
    assert {(s.header.stamp.sec, s.header.stamp.nanosec) for s in states} == {(0, 2_000_000)}
    assert list(states[0].name) == ['shoulder', 'elbow']
    np.testing.assert_allclose(states[0].position, POSTURE)
    assert rig.loop.phase is Phase.WAITING


def test_it_serves_what_ros2_control_serves(make_rig, spin_until):
    """Controllers are listed with types and states, and their nodes tell their joints."""
    rig = make_rig(pacing='lockstep')
    answer = rig.call(ListControllers, 'controller_manager/list_controllers')
    states = {controller.name: controller for controller in answer.controller}
    assert states['joint_state_broadcaster'].state == 'active'
    effort = states['effort_controller']
    assert (effort.state, effort.type) == (
        'inactive',
        'forward_command_controller/ForwardCommandController',
    )
    assert effort.required_command_interfaces == ['shoulder/effort', 'elbow/effort']
    values = rig.call(
        GetParameters, 'effort_controller/get_parameters', names=['joints', 'interface_name']
    ).values
    assert values[0].string_array_value == ['shoulder', 'elbow']
    assert values[1].string_value == 'effort'
    activity = rig.listen(ControllerManagerActivity, 'controller_manager/activity', LATCHED)
    assert rig.switch(['effort_controller']).ok
    assert spin_until(
        lambda: (
            activity
            and any(
                named.name == 'effort_controller' and named.state.id == State.PRIMARY_STATE_ACTIVE
                for named in activity[-1].controllers
            )
        )
    )
    refused = rig.switch(['position_controller'])
    assert not refused.ok
    assert 'effort_controller' in refused.message
    description = rig.listen(String, 'robot_description', LATCHED)
    assert spin_until(lambda: description)
    assert 'name="arm"' in description[0].data


def test_a_free_running_robot_is_held_until_commands_are_good(make_rig, spin_until):
    """It holds its posture while commands are missing or not finite, and lets go afterwards."""
    rig = make_rig(pacing='free', hold_time=0.1, realtime_priority=0)
    states = rig.listen(JointState, 'joint_states')
    send = rig.command_controllers()
    assert rig.switch(['effort_controller']).ok
    assert spin_until(lambda: rig.loop.ticks > 50)
    send([np.nan, 0.0])
    assert spin_until(lambda: rig.robot._inputs['effort_controller'].refused > 0)
    assert rig.loop.phase is Phase.HOLDING
    assert spin_until(lambda: rig.loop.ticks > 200)
    np.testing.assert_allclose(states[-1].position, POSTURE, atol=0.02)

    def command():
        send([0.0, 0.0])
        return rig.loop.phase is Phase.RUNNING

    assert spin_until(command)
    # Without torque the arm falls.
    assert spin_until(lambda: abs(states[-1].position[0] - POSTURE[0]) > 0.2)


def test_bad_commands_do_no_harm(make_rig, spin_until):
    """A command that is not finite is ignored; one of the wrong size ends its controller."""
    rig = make_rig(pacing='free', hold_time=0.0, realtime_priority=0)
    send = rig.command_controllers()
    assert rig.switch(['effort_controller']).ok

    def command():
        send([3.0, 1.0])
        return rig.loop.phase is Phase.RUNNING

    assert spin_until(command)
    source = rig.robot._inputs['effort_controller']
    refused = source.refused
    send([np.inf, 1.0])
    assert spin_until(lambda: source.refused > refused)
    np.testing.assert_array_equal(source.values, [3.0, 1.0])
    send([1.0, 2.0, 3.0])
    assert spin_until(lambda: not rig.robot.controllers['effort_controller'].active)
    np.testing.assert_allclose(rig.robot.body.joint_arrays['u'], [3.0, 1.0], atol=1e-9)


def test_modes_change_without_a_jump(make_rig, spin_until):
    """After a switch the old command acts until the new controller's first one arrives."""
    rig = make_rig(pacing='free', hold_time=0.0, realtime_priority=0)
    states = rig.listen(JointState, 'joint_states')
    position = rig.command_controllers('position_controller/commands')
    velocity = rig.command_controllers('velocity_controller/commands')
    assert rig.switch(['position_controller']).ok

    def hold():
        position(POSTURE)
        return rig.loop.phase is Phase.RUNNING

    assert spin_until(hold)
    assert rig.switch(['velocity_controller'], ['position_controller']).ok
    ticks = rig.loop.ticks
    assert spin_until(lambda: rig.loop.ticks > ticks + 100)
    np.testing.assert_allclose(states[-1].position, POSTURE, atol=0.02)

    def turn():
        velocity([0.0, 0.5])
        return states[-1].position[1] > POSTURE[1] + 0.2

    assert spin_until(turn)
    assert states[-1].position[0] == pytest.approx(POSTURE[0], abs=0.02)


def test_reset_and_push(make_rig, spin_until):
    """A push moves the robot, a reset brings it back to its start; time goes on."""
    rig = make_rig(pacing='free', hold_time=0.0, realtime_priority=0, **{'push.link': 'lower'})
    states = rig.listen(JointState, 'joint_states')
    # At first the arm settles in its servos.
    assert spin_until(lambda: rig.loop.ticks > 200)
    effort, count = states[-1].effort[0], len(states)
    assert rig.call(Trigger, 'cnoid_control_mujoco/push').success
    assert spin_until(lambda: any(abs(state.effort[0] - effort) > 5.0 for state in states[count:]))
    before = rig.loop.ticks
    assert rig.call(Trigger, 'cnoid_control_mujoco/reset').success
    assert spin_until(lambda: rig.loop.ticks > before + 5)
    count = len(states)
    assert spin_until(lambda: len(states) > count + 3)
    np.testing.assert_allclose(states[-1].position, POSTURE, atol=0.01)
    stamps = [s.header.stamp.sec * 10**9 + s.header.stamp.nanosec for s in states]
    assert stamps == sorted(stamps)


def test_behind_a_manager_the_robot_is_held_until_commands_are_new(make_rig):
    """Whatever the pacing: a manager's cycles go on. What is for the other node is no mistake."""
    rig = make_rig(pacing='lockstep', interface='topic', autostart=True)
    assert rig.loop.phase is Phase.HOLDING


def test_a_real_controller_manager_may_sit_between(make_rig, ros_node, spin_until):
    """On the JointState topics, the active controller tells which array is the command."""
    rig = make_rig(pacing='free', hold_time=0.0, realtime_priority=0, interface='topic')
    states = rig.listen(JointState, 'robot_joint_states')
    activity = ros_node.create_publisher(
        ControllerManagerActivity, 'controller_manager/activity', LATCHED
    )
    commands = ros_node.create_publisher(JointState, 'robot_joint_commands', 1)
    assert spin_until(commands.get_subscription_count)
    topics = dict(ros_node.get_topic_names_and_types())
    # Those are the broadcaster's, and robot_state_publisher's with the hardware in it.
    assert not {'/joint_states', '/robot_description'} & set(topics)
    activity.publish(
        ControllerManagerActivity(
            controllers=[
                NamedLifecycleState(
                    name='position_controller', state=State(id=State.PRIMARY_STATE_ACTIVE)
                )
            ]
        )
    )
    target = [0.6, 0.1]

    def command():
        # As JointStateTopicSystem does: names in another order, all arrays, NaN where none is.
        commands.publish(
            JointState(
                name=['elbow', 'shoulder'],
                position=target[::-1],
                velocity=[np.nan, np.nan],
                effort=[99.0, 99.0],
            )
        )
        return bool(states) and np.allclose(states[-1].position, target, atol=0.01)

    assert spin_until(command)


def test_sensors_and_the_true_pose_are_published(make_rig, root, spin_until):
    """SR1's IMU, forces, root pose, tf and clock come with stamps of simulated time."""
    rig = make_rig(root / 'config' / 'sr1_pd.yaml', pacing='free', realtime_priority=0)
    imu = rig.listen(Imu, 'imu_sensor_broadcaster/imu')
    force = rig.listen(WrenchStamped, 'LeftAnkleForceSensor_broadcaster/wrench')
    odometry = rig.listen(Odometry, 'cnoid_control_mujoco/root')
    clock = rig.listen(Clock, '/clock')
    tf = rig.listen(TFMessage, '/tf')
    # The servos hold it: it stands on its feet after a moment.
    assert spin_until(lambda: rig.loop.ticks > 400 and all((imu, force, odometry, clock, tf)), 60)
    count = len(imu), len(force), len(odometry), len(tf)
    assert spin_until(
        lambda: all(len(m) > n for m, n in zip((imu, force, odometry, tf), count, strict=True))
    )
    assert imu[-1].linear_acceleration.z == pytest.approx(9.8, abs=0.5)
    assert abs(imu[-1].orientation.w) == pytest.approx(1.0, abs=1e-3)
    assert force[-1].wrench.force.z == pytest.approx(622.0, abs=60.0)
    pose = odometry[-1].pose.pose
    assert pose.position.z == pytest.approx(0.708, abs=0.005)
    assert odometry[-1].child_frame_id == tf[-1].transforms[0].child_frame_id == 'WAIST'
    assert tf[-1].transforms[0].transform.translation.z == pytest.approx(0.708, abs=0.005)
    seconds = clock[-1].clock.sec + clock[-1].clock.nanosec * 1e-9
    assert 0.1 < seconds <= rig.loop.ticks * 0.001


def test_parameters_are_described_and_checked(make_rig):
    """Parameters tell what they are for; bad values are refused with the reason."""
    rig = make_rig(pacing='lockstep')
    described = rig.call(
        DescribeParameters,
        'cnoid_control_mujoco/describe_parameters',
        names=['pacing', 'real_time_factor'],
    ).descriptors
    assert 'lockstep' in described[0].description
    assert described[0].read_only
    assert described[1].floating_point_range[0].from_value == 0.0

    def change(name, value):
        parameters = [Parameter(name, value=value).to_parameter_msg()]
        return rig.call(
            SetParameters, 'cnoid_control_mujoco/set_parameters', parameters=parameters
        ).results[0]

    assert change('real_time_factor', 2.0).successful
    assert rig.loop.pacing.factor == 2.0
    assert not change('real_time_factor', -1.0).successful
    refused = change('push.force', [1.0, 2.0])
    assert not refused.successful
    assert 'push.force' in refused.reason
    assert not change('pacing', 'free').successful


def test_two_robots_in_two_namespaces(make_rig, spin_until):
    """Robots in different namespaces have topics, services and nodes of their own."""
    left = make_rig(pacing='lockstep', clock_rate=0.0, namespace='left')
    make_rig(pacing='lockstep', clock_rate=0.0, namespace='right')
    states = left.listen(JointState, 'right/joint_states')
    assert spin_until(lambda: states)
    topics = dict(left.node.get_topic_names_and_types())
    assert {'/left/joint_states', '/right/joint_states'} <= set(topics)
    assert '/clock' not in topics
    answer = left.call(ListControllers, 'left/controller_manager/list_controllers')
    assert len(answer.controller) == 6
    values = left.call(GetParameters, 'right/effort_controller/get_parameters', names=['joints'])
    assert values.values[0].string_array_value == ['shoulder', 'elbow']
