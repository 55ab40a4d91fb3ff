"""Hardware on real topics: what is read, what is refused, what is sent, and in which order."""

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from robot_rig import DT, QOS, ManagerNode, effort_request
from sensor_msgs.msg import Image, Imu, JointState, LaserScan
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from cnoid_control.body import JointType, StateFlag
from cnoid_control.body.channels import BY_INTERFACE
from cnoid_control.body.devices import (
    AccelerationSensor,
    Camera,
    ForceSensor,
    RangeSensor,
    RateGyroSensor,
)
from cnoid_control.hardware.exceptions import HardwareError, UnsupportedChannel
from cnoid_control.ros.exceptions import (
    MissingChannel,
    RobotError,
    UnusableController,
    WrongTopicType,
)
from cnoid_control.ros.robot import hardware as robot_hardware
from cnoid_control.ros.robot.joint_states import publishing_nodes
from cnoid_control.runtime.safety.watchdog import Watchdog, WatchdogParameters

POSITION, VELOCITY = StateFlag.JOINT_DISPLACEMENT, StateFlag.JOINT_VELOCITY


# --- joint states -----------------------------------------------------------------------------


@pytest.mark.parametrize('public', [False, True])
def test_joints_are_found_by_name(rig, public):
    """Another order and other joints do not matter; dt is that of the stamps."""
    hardware = rig.hardware(public_calls=public)
    rig.open(hardware)
    names = ('finger', 'elbow', 'shoulder')
    rig.publish((9.0, 0.5, 0.25), (8.0, -1.0, 2.0), names=names, dt=0.004)
    assert hardware.read()
    assert hardware.is_fresh
    np.testing.assert_array_equal(hardware.body.q, [0.25, 0.5])
    rig.publish((9.0, 0.6, 0.35), (8.0, -2.0, 3.0), names=names, dt=0.005)
    assert hardware.read()
    np.testing.assert_array_equal(hardware.body.q, [0.35, 0.6])
    assert hardware.dt == pytest.approx(0.005)
    assert hardware.time == pytest.approx(0.005)


def test_velocities_come_from_the_message_or_by_difference(rig):
    """Where the message has none, or one is not a number, positions and stamps give them."""
    hardware = rig.hardware()
    rig.open(hardware, velocity=(0.0, 0.0))
    rig.publish((0.3, -0.2), (1.0, 2.0))
    hardware.read()
    np.testing.assert_array_equal(hardware.body.dq, [1.0, 2.0])
    rig.publish((0.31, -0.2), (1.0, math.nan), dt=0.01)
    hardware.read()
    np.testing.assert_allclose(hardware.body.dq, [1.0, 0.0], atol=1e-9)
    by_difference = rig.hardware(velocity='difference')
    rig.open(by_difference, velocity=(5.0, 5.0))
    rig.publish((0.3, -0.2), (7.0, 7.0))
    by_difference.read()
    rig.publish((0.32, -0.21), (7.0, 7.0), dt=0.01)
    by_difference.read()
    np.testing.assert_allclose(by_difference.body.dq, [2.0, -1.0])


def test_without_a_fresh_state_the_loop_comes_back(rig):
    """A read without a state ends after the time-out, and is not fresh; a repeated one neither."""
    hardware = rig.hardware(state_timeout=0.03)
    rig.open(hardware)
    assert hardware.read()
    assert not hardware.is_fresh
    assert hardware.state_age > 0.03
    rig.publish()
    assert hardware.read()
    assert hardware.is_fresh
    rig.publish(dt=0.0)
    assert hardware.read()
    assert not hardware.is_fresh
    assert hardware.source.counts['repeated'] == 1


def test_decimation_passes_states_over(rig):
    """With a decimation of 3 every third fresh state is a tick."""
    rig.listen(Float64MultiArray, 'effort_controller/commands')
    hardware = rig.hardware(decimation=3, lock_step=True)
    rig.open(hardware)
    rig.repeat(lambda: rig.publish(dt=DT / 3))
    for _ in range(3):
        assert hardware.read()
    assert hardware.dt == pytest.approx(DT)


def test_a_timer_ticks_without_states(rig):
    """A steady timer gives a tick each period, fresh where a state has come."""
    hardware = rig.hardware(trigger='timer')
    rig.open(hardware)
    begin = time.monotonic()
    for _ in range(20):
        assert hardware.read()
        assert not hardware.is_fresh
    assert time.monotonic() - begin >= 19 * DT
    rig.publish((0.4, 0.0))
    rig.wait(lambda: hardware.read() and hardware.is_fresh)
    assert hardware.body.q[0] == 0.4


def test_missing_joint_states_say_what_was_waited_for(rig):
    """The error names the topic, the time and what came instead."""
    hardware = rig.hardware(startup_timeout=0.2, joint_states='elsewhere')
    with pytest.raises(RobotError, match=r"'/elsewhere'.* 0.2 s: nobody publishes it"):
        hardware.connect()


def test_a_missing_joint_is_named_where_it_is_needed(rig):
    """A joint that no message has stops only controllers that need it."""
    hardware = rig.hardware()
    request = effort_request(hardware.body)
    with pytest.raises(RobotError, match='no position of elbow'):
        rig.open(hardware, request, position=(0.3,), names=('shoulder',))
    rig.silence()
    for part in (request.inputs, request.outputs):
        del part['lower']
    rig.open(hardware, request, position=(0.3,), names=('shoulder',))
    rig.publish((0.5,), names=('shoulder',))
    hardware.read()
    np.testing.assert_array_equal(hardware.body.q, [0.5, 0.0])


def test_positions_that_are_no_numbers_are_named(rig):
    """NaN is an unknown position."""
    hardware = rig.hardware()
    with pytest.raises(RobotError, match='no position of elbow'):
        rig.open(hardware, position=(0.3, math.nan))


def test_channels_that_are_not_there_are_named(rig):
    """A controller that reads velocities or efforts that nobody measures does not start."""
    hardware = rig.hardware(velocity='message')
    body = hardware.body
    with pytest.raises(MissingChannel, match='velocity of shoulder, elbow is read'):
        rig.open(hardware, effort_request(body, inputs=POSITION | VELOCITY))
    rig.silence()
    with pytest.raises(MissingChannel, match='effort of shoulder, elbow is read'):
        hardware.open(effort_request(body, inputs=POSITION | StateFlag.JOINT_EFFORT))
    with pytest.raises(UnsupportedChannel, match='LINK_EXT_WRENCH'):
        hardware.open(effort_request(body, inputs=StateFlag.LINK_EXT_WRENCH))


def test_measured_efforts_are_read_where_asked_for(rig):
    """They stand in `u` when the controllers are called."""
    hardware = rig.hardware()
    request = effort_request(hardware.body, inputs=POSITION | StateFlag.JOINT_EFFORT)
    rig.open(hardware, request, effort=(0.0, 0.0))
    rig.publish(effort=(1.5, 2.5))
    hardware.read()
    np.testing.assert_array_equal(hardware.body.u, [1.5, 2.5])


def test_two_publishers_are_refused(rig):
    """States from two nodes are no state; both are named."""
    rig.node.create_publisher(JointState, 'joint_states', QOS)
    hardware = rig.hardware()
    rig.repeat(rig.publish)
    with pytest.raises(RobotError, match='/cnoid_control, /robot'):
        hardware.connect()


def test_a_dead_broadcaster_beside_the_new_one_is_waited_for(rig):
    """After a manager was killed, the middleware shows its broadcaster for a while longer."""
    dead = Node('robot', context=rig.context, enable_rosout=False)
    dead.create_publisher(JointState, 'joint_states', QOS)
    hardware = rig.hardware()
    rig.wait(lambda: publishing_nodes(hardware.node, hardware.topic) == ['/robot', '/robot'])
    rig.repeat(rig.publish)
    forget = threading.Timer(0.5, dead.destroy_node)
    forget.start()
    hardware.connect()
    forget.join()
    assert len(publishing_nodes(hardware.node, hardware.topic)) == 1


def test_another_type_on_the_topic_is_refused(rig):
    """A topic that carries something else is named with what it carries."""
    rig.robot.create_publisher(String, 'text', QOS)
    hardware = rig.hardware(joint_states='text')
    with pytest.raises(WrongTopicType, match='std_msgs/msg/String'):
        hardware.connect()


# --- devices ----------------------------------------------------------------------------------


def test_devices_are_fed_by_their_topics(rig):
    """Two devices of one topic, one of another, one by its default topic, each with its age."""
    devices = [
        RateGyroSensor('GYRO'),
        AccelerationSensor('ACC'),
        ForceSensor('WRIST'),
        RangeSensor('LASER'),
        Camera('EYE'),
    ]
    hardware = rig.hardware(
        rig.body(devices), {'GYRO': 'imu/data', 'ACC': 'imu/data', 'LASER': 'front/scan'}
    )
    imu = rig.robot.create_publisher(Imu, 'imu/data', QOS)
    wrench = rig.robot.create_publisher(WrenchStamped, 'WRIST_broadcaster/wrench', QOS)
    scan = rig.robot.create_publisher(LaserScan, 'front/scan', QOS)
    eye = rig.robot.create_publisher(Image, 'EYE/image', QOS)

    def publish():
        rig.publish()
        message = Imu()
        message.angular_velocity.y, message.linear_acceleration.z = 0.5, 9.8
        imu.publish(message)
        force = WrenchStamped()
        force.wrench.force.z, force.wrench.torque.x = 3.0, 0.25
        wrench.publish(force)
        scan.publish(LaserScan(ranges=[1.0, 9.0, math.inf], range_max=8.0))
        eye.publish(Image(height=1, width=2, encoding='mono8', step=2, data=[5, 6]))

    names = {device.name for device in devices}
    rig.repeat(publish)
    hardware.connect()
    hardware.open(effort_request(hardware.body, devices=names))
    changed = []
    for device in hardware.body.devices:
        device.state_changed.connect(lambda device: changed.append(device.name))
    rig.wait(lambda: hardware.read() and set(changed) == names)
    by_name = {device.name: device for device in hardware.body.devices}
    np.testing.assert_array_equal(by_name['GYRO'].w, [0.0, 0.5, 0.0])
    np.testing.assert_array_equal(by_name['ACC'].dv, [0.0, 0.0, 9.8])
    np.testing.assert_array_equal(by_name['WRIST'].F, [0.0, 0.0, 3.0, 0.25, 0.0, 0.0])
    np.testing.assert_array_equal(by_name['LASER'].range_data, [1.0, np.inf, np.inf])
    np.testing.assert_array_equal(by_name['EYE'].image, [[5, 6]])
    assert set(hardware.device_ages) == names
    assert all(age < 5.0 for age in hardware.device_ages.values())


def test_a_silent_device_is_named(rig):
    """A device that is read and does not come stops the start, with its topic."""
    hardware = rig.hardware(rig.body([ForceSensor('WRIST')]), startup_timeout=0.5)
    request = effort_request(hardware.body, devices={'WRIST'})
    match = "device WRIST is read, but topic '/WRIST_broadcaster/wrench' has not sent anything"
    with pytest.raises(MissingChannel, match=match):
        rig.open(hardware, request)


def test_a_device_topic_of_another_type_is_refused(rig):
    """It is named with what it carries and what it should."""
    rig.robot.create_publisher(String, 'WRIST_broadcaster/wrench', QOS)
    hardware = rig.hardware(rig.body([ForceSensor('WRIST')]))
    request = effort_request(hardware.body, devices={'WRIST'})
    match = 'carries std_msgs/msg/String; choose from: geometry_msgs/msg/WrenchStamped'
    with pytest.raises(WrongTopicType, match=match):
        rig.open(hardware, request)


@pytest.mark.parametrize(('every', 'trips'), [(1, 0), (2, 1), (5, 1)])
def test_in_lock_step_odometry_comes_with_every_state(rig, monkeypatch, every, trips):
    """One that is slower stops the robot, by its name; it would be waited for in every tick."""
    monkeypatch.setattr(robot_hardware, 'SAME_STAMP_TIMEOUT', 0.2 if every == 1 else 0.02)
    rig.listen(Float64MultiArray, 'effort_controller/commands')
    body = rig.body(root=JointType.FREE)
    hardware = rig.hardware(body, lock_step=True, odometry='odom')
    publisher = rig.robot.create_publisher(Odometry, 'odom', QOS)

    def odometry():
        message = Odometry()
        message.header.stamp.sec = int(rig.stamp)
        message.header.stamp.nanosec = round((rig.stamp - int(rig.stamp)) * 1e9)
        message.pose.pose.orientation.w = 1.0
        publisher.publish(message)

    rig.repeat(lambda: (rig.publish(), odometry()))
    hardware.connect()
    request = effort_request(hardware.body)
    root = hardware.body.root_link.name
    request.inputs[root] = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST
    hardware.open(request)
    rig.silence()
    time.sleep(0.05)
    hardware.read()
    told = []
    hardware.watchdog = Watchdog(WatchdogParameters(), told.append)
    for tick in range(12):
        rig.publish()
        if tick % every == 0:
            odometry()
        assert hardware.read()
    found = [trip for trip in told if trip.watch == 'device_rate']
    assert len(found) == trips
    if trips:
        assert found[0].action == 'safe'
        assert "'/odom' has no message for every joint state" in found[0].message


def test_in_lock_step_devices_have_the_stamp_of_the_state(rig):
    """A state waits for the device's message of the same stamp, even when that comes later."""
    rig.listen(Float64MultiArray, 'effort_controller/commands')
    hardware = rig.hardware(rig.body([ForceSensor('WRIST')]), lock_step=True)
    publisher = rig.robot.create_publisher(WrenchStamped, 'WRIST_broadcaster/wrench', QOS)

    def wrench():
        message = WrenchStamped()
        message.header.stamp.sec = int(rig.stamp)
        message.header.stamp.nanosec = round((rig.stamp - int(rig.stamp)) * 1e9)
        message.wrench.force.x = rig.stamp
        publisher.publish(message)

    rig.repeat(lambda: (rig.publish(), wrench()))
    hardware.connect()
    hardware.open(effort_request(hardware.body, devices={'WRIST'}))
    rig.silence()
    time.sleep(0.05)
    hardware.read()
    sensor = hardware.body.devices[0]
    for _ in range(5):
        rig.publish()
        wrench()
        assert hardware.read()
        assert sensor.F[0] == pytest.approx(rig.stamp)


def test_the_root_comes_from_odometry(rig):
    """Pose and twist of the root are read where a topic gives them."""
    hardware = rig.hardware(odometry='root')
    publisher = rig.robot.create_publisher(Odometry, 'root', QOS)

    def publish():
        rig.publish()
        message = Odometry(child_frame_id='base')
        message.pose.pose.position.x = 1.0
        # A quarter turn to the left: forward is +y of the world.
        message.pose.pose.orientation.z = message.pose.pose.orientation.w = math.sqrt(0.5)
        message.twist.twist.linear.x = 2.0
        publisher.publish(message)

    request = effort_request(hardware.body)
    request.inputs['base'] = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST
    rig.repeat(publish)
    hardware.connect()
    hardware.open(request)
    hardware.read()
    root = hardware.body.root_link
    np.testing.assert_allclose(root.p, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(root.R[:, 0], [0.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(root.v, [0.0, 2.0, 0.0], atol=1e-12)


def test_without_odometry_the_refusal_says_what_helps(rig):
    """Whoever has a policy that reads the root has not heard of channels."""
    hardware = rig.hardware(rig.body(root=JointType.FREE))
    request = effort_request(hardware.body)
    request.inputs['base'] = StateFlag.LINK_POSITION
    with pytest.raises(UnsupportedChannel, match=r'ros2_control\.odometry.* base: estimator'):
        rig.open(hardware, request)


@pytest.mark.parametrize('public', [False, True])
def test_a_wait_for_states_can_be_ended(rig, public):
    """Whoever waits for a robot that is silent gives up when told to, and can begin anew."""
    hardware = rig.hardware(state_timeout=3600.0, public_calls=public)
    rig.open(hardware)
    results = []
    thread = threading.Thread(target=lambda: results.append(hardware.read()), daemon=True)
    thread.start()
    thread.join(0.1)
    assert results == []
    hardware.halt()
    thread.join(60.0)
    assert results == [False]
    rig.repeat(rig.publish)
    hardware.refresh()
    assert hardware.read()


# --- commands ---------------------------------------------------------------------------------


def test_commands_go_out_in_the_order_of_the_controller(rig):
    """The controller's own parameter `joints` tells the order; it is activated for it."""
    manager = ManagerNode(
        rig,
        {
            'effort_controller': ('inactive', ['elbow', 'shoulder'], 'effort'),
            'position_controller': ('active', ['shoulder', 'elbow'], 'position'),
            'joint_state_broadcaster': ('active', [], ''),
        },
    )
    sent = rig.listen(Float64MultiArray, 'effort_controller/commands')
    hardware = rig.hardware(controller_manager='controller_manager')
    rig.open(hardware)
    request = manager.requests[0]
    assert request.activate_controllers == ['effort_controller']
    assert request.deactivate_controllers == ['position_controller']
    assert request.strictness == request.STRICT
    rig.wait(lambda: hardware.command_publishers[0].reader_count)
    hardware.body.u[:] = [1.0, 2.0]
    hardware.write()
    rig.wait(lambda: sent)
    assert list(sent[-1].data) == [2.0, 1.0]
    hardware.close()
    rig.wait(lambda: list(sent[-1].data) == [0.0, 0.0])
    assert manager.controllers['effort_controller'][0] == 'inactive'


def test_joints_that_nobody_commands_are_left_where_they_are(rig):
    """A command controller's other joints hold their position; no velocity, no effort."""
    flags = StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_EFFORT
    for interface, mode, expected in (
        ('position', POSITION, [0.7, -0.2]),
        ('velocity', VELOCITY, [0.7, 0.0]),
        ('effort', StateFlag.JOINT_EFFORT, [0.7, 0.0]),
    ):
        hardware = rig.hardware()
        request = effort_request(hardware.body, mode, flags)
        del request.outputs['lower']
        rig.open(hardware, request, effort=(1.0, 37.0))
        rig.publish(effort=(1.0, 37.0))
        assert hardware.read()
        hardware.body.joint_arrays[BY_INTERFACE[interface].command][0] = 0.7
        assert hardware.command_publishers[0].values() == pytest.approx(expected), interface
        hardware.close()


def test_a_position_controller_needs_those_of_all_its_joints(rig):
    """A joint that nobody commands cannot be left where it is if nobody knows where that is."""
    hardware = rig.hardware()
    request = effort_request(hardware.body, POSITION)
    del request.inputs['lower'], request.outputs['lower']
    with pytest.raises(RobotError, match='no position of elbow'):
        rig.open(hardware, request, names=('shoulder',), position=(0.3,))
    rig.silence()


@pytest.mark.parametrize(
    ('state', 'joints', 'error', 'words'),
    [
        ('unconfigured', ['shoulder', 'elbow'], UnusableController, "is 'unconfigured'"),
        ('inactive', ['shoulder', 'nose'], RobotError, 'has nose, which are not joints'),
        (
            'inactive',
            ['shoulder'],
            RobotError,
            'effort interface for elbow; configured',
        ),
    ],
)
def test_controllers_that_cannot_be_used_are_named(rig, state, joints, error, words):
    """Nothing is switched and nothing is sent."""
    manager = ManagerNode(
        rig,
        {
            'effort_controller': (state, joints, 'effort'),
            'velocity_controller': ('inactive', ['shoulder', 'elbow'], 'velocity'),
        },
    )
    hardware = rig.hardware(controller_manager='controller_manager', startup_timeout=3.0)
    with pytest.raises(error, match=words):
        rig.open(hardware)
    assert manager.requests == []


def test_controllers_that_are_being_spawned_are_waited_for(rig):
    """One that is loaded and configured after the robot's first state is put to use then."""
    entry = ['unconfigured', ['shoulder', 'elbow'], 'effort']
    manager = ManagerNode(rig, {'effort_controller': entry})
    spawned = manager.controllers.pop('effort_controller')
    looks = []

    def spawn():
        looks.append(len(looks))
        if len(looks) == 10:
            manager.controllers['effort_controller'] = spawned
        elif len(looks) == 20:
            spawned[0] = 'inactive'

    hardware = rig.hardware(controller_manager='controller_manager')
    timer = rig.robot.create_timer(0.05, spawn)
    rig.open(hardware)
    rig.robot.destroy_timer(timer)
    assert len(looks) >= 20
    assert spawned[0] == 'active'
    assert manager.requests[0].activate_controllers == ['effort_controller']


def test_a_controller_with_its_joints_in_another_order_is_not_commanded_on(rig):
    """After it was loaded anew it gets nothing more until it is put to use again, in its order."""
    joints = ['shoulder', 'elbow']
    ManagerNode(rig, {'effort_controller': ('inactive', joints, 'effort')})
    hardware = rig.hardware(controller_manager='controller_manager')
    commands = rig.listen(Float64MultiArray, 'effort_controller/commands')
    rig.open(hardware)
    request = effort_request(hardware.body)
    hardware.prepare(request)
    joints.reverse()
    with pytest.raises(RobotError, match='elbow, shoulder instead of shoulder, elbow'):
        hardware.prepare(request)
    hardware.deactivate()
    hardware.find(request)
    hardware.activate()
    rig.wait(lambda: all(one.reader_count for one in hardware.command_publishers))
    hardware.body.u[:] = [1.0, 2.0]
    hardware.write()
    rig.wait(lambda: commands and list(commands[-1].data) == [2.0, 1.0])


def test_a_robot_that_stays_with_efforts_is_not_switched_to_positions(rig):
    """Gazebo would report success and let it collapse; the effort controller stays active."""
    both = ['shoulder', 'elbow']
    manager = ManagerNode(
        rig,
        {
            'effort_controller': ('inactive', both, 'effort'),
            'position_controller': ('inactive', both, 'position'),
        },
    )
    options = {'controller_manager': 'controller_manager', 'effort_is_final': True}
    hardware = rig.hardware(**options)
    by_position = effort_request(hardware.body, POSITION)
    # Positions from the start are fine, and efforts after them.
    rig.open(hardware, by_position)
    assert manager.controllers['position_controller'][0] == 'active'
    by_effort = effort_request(hardware.body)
    hardware.prepare(by_effort)
    hardware.open(by_effort)
    rig.wait(lambda: manager.controllers['effort_controller'][0] == 'active')
    asked = len(manager.requests)
    for _ in range(2):
        with pytest.raises(RobotError, match=r"position of shoulder, elbow by 'position_contr"):
            hardware.prepare(by_position)
        # Nor later, when nobody commands it.
        assert len(manager.requests) == asked
        hardware.deactivate()
        asked = len(manager.requests)


def test_what_is_switched_on_while_the_robot_is_left_is_switched_off(rig):
    """Other controllers get ready, the manager is slow, and the robot is left meanwhile."""
    both = ['shoulder', 'elbow']
    manager = ManagerNode(
        rig,
        {
            'effort_controller': ('inactive', both, 'effort'),
            'position_controller': ('inactive', both, 'position'),
        },
    )
    hardware = rig.hardware(controller_manager='controller_manager')
    rig.open(hardware)
    by_position = effort_request(hardware.body, POSITION)
    switch, asked, go_on = hardware.command_controllers.activate, Event(), Event()

    def slowly(publishers):
        asked.set()
        assert go_on.wait(20)
        switch(publishers)

    hardware.command_controllers.activate = slowly
    with ThreadPoolExecutor(2) as threads:
        ready = threads.submit(hardware.prepare, by_position)
        assert asked.wait(20)
        left = threads.submit(hardware.deactivate)
        assert not left.done()
        go_on.set()
        assert ready.result(20)
        left.result(20)
    assert [one[0] for one in manager.controllers.values()] == ['inactive', 'inactive']
    # Nor does anything get ready, or back to what it was, afterwards.
    with pytest.raises(RobotError, match='not commanded any more'):
        hardware.prepare(by_position)
    hardware._activate_late(hardware.resolved)
    assert [one[0] for one in manager.controllers.values()] == ['inactive', 'inactive']


def test_a_refused_switch_is_told_in_the_managers_words(rig):
    """The reason of controller_manager is in the error."""
    manager = ManagerNode(
        rig, {'effort_controller': ('inactive', ['shoulder', 'elbow'], 'effort')}
    )
    manager.refusal = 'the hardware is on strike'
    hardware = rig.hardware(controller_manager='controller_manager')
    with pytest.raises(RobotError, match='on strike'):
        rig.open(hardware)


def test_without_a_manager_commands_go_to_plain_topics(rig):
    """Positions to a trajectory controller's topic, efforts as a JointState."""
    hardware = rig.hardware(
        commands={
            'arm': {'interface': 'position', 'type': 'trajectory', 'joints': ['shoulder']},
            'hand': {'interface': 'effort', 'type': 'joint_state', 'joints': ['elbow']},
        }
    )
    points = rig.listen(JointTrajectory, 'arm/joint_trajectory')
    states = rig.listen(JointState, 'hand')
    request = effort_request(hardware.body)
    request.outputs['upper'] = StateFlag.JOINT_DISPLACEMENT
    rig.open(hardware, request)
    rig.wait(lambda: all(one.reader_count for one in hardware.command_publishers))
    hardware.body.q_target[:] = [0.5, 0.0]
    hardware.body.u[:] = [0.0, 3.0]
    hardware.write()
    rig.wait(lambda: points and states)
    assert points[-1].joint_names == ['shoulder']
    assert list(points[-1].points[0].positions) == [0.5]
    assert points[-1].points[0].time_from_start.nanosec == 2_000_000
    assert (states[-1].name, list(states[-1].effort)) == (['elbow'], [3.0])
    assert list(states[-1].position) == []
    stamp = states[-1].header.stamp
    assert stamp.sec * 10**9 + stamp.nanosec == hardware.stamp


def test_in_lock_step_command_controllers_are_waited_for(rig):
    """A first command that is lost would leave both sides waiting for each other."""
    hardware = rig.hardware(lock_step=True, startup_timeout=1.0)
    with pytest.raises(RobotError, match="'/effort_controller/commands' within 1 s"):
        rig.open(hardware)
    rig.silence()
    threading.Timer(
        0.1, lambda: rig.listen(Float64MultiArray, 'effort_controller/commands')
    ).start()
    hardware = rig.hardware(lock_step=True)
    rig.open(hardware)
    assert hardware.command_publishers[0].reader_count == 1


def test_a_joint_cannot_have_two_command_controllers(rig):
    """Two controllers with all joints cannot share the robot."""
    hardware = rig.hardware()
    request = effort_request(hardware.body)
    request.outputs['upper'] = StateFlag.JOINT_DISPLACEMENT
    with pytest.raises(RobotError, match=r'commanded by .*_controller and by'):
        rig.open(hardware, request)


def test_a_mode_that_no_command_controller_has_is_refused(rig):
    """Links that are not joints, and unknown modes, cannot be commanded."""
    hardware = rig.hardware()
    request = effort_request(hardware.body, mode=StateFlag.LINK_POSITION)
    with pytest.raises(HardwareError, match='LINK_POSITION'):
        rig.open(hardware, request)
