"""What the node watches at the other ends of its topics."""

import threading
import time

import pytest
from rclpy.node import Node
from robot_rig import QOS
from sensor_msgs.msg import JointState
from served_node import ServedNode
from std_msgs.msg import Float64MultiArray

from cnoid_control.ros.node import endpoint_watch
from cnoid_control.ros.node.command_echo import CommandEcho
from cnoid_control.ros.node.endpoint_watch import PERIOD, EndpointWatch
from cnoid_control.runtime.safety.watchdog import WatchdogParameters


class FakeWatchdog:
    """Takes down what is reported to it."""

    def __init__(self):
        """Begin with nothing."""
        self.parameters = WatchdogParameters()
        self.trips = []
        self.heard = []
        self.lost = []
        self.ticks = []

    def clock_found(self, ticks):
        """Be told whether the simulator's clock has told its time."""
        self.ticks.append(ticks)

    def subscribers_found(self, receive):
        """Be told whether somebody receives the commands."""
        self.heard.append(receive)

    def command_controller_lost(self, name):
        """Be told that a controller does not pass the commands on any more."""
        self.lost.append(name)

    def publishers_found(self, topic, count):
        """Be told how many nodes the states come from."""
        if count > 1:
            self.trips.append((topic, count))


@pytest.fixture
def watchdog():
    """Return what is reported to."""
    return FakeWatchdog()


@pytest.fixture
def endpoints(rig, watchdog):
    """Return the watch on the topics of an open robot."""
    hardware = rig.hardware()
    rig.open(hardware)
    made = EndpointWatch(rig.node, hardware, watchdog, rig.supervision)
    yield made
    made.stop()


@pytest.fixture
def check(rig, watchdog, endpoints):
    """Return a function that has it check, and tells what is wrong."""

    def look(publishers):
        rig.wait(lambda: rig.node.count_publishers('joint_states') == publishers)
        watchdog.trips.clear()
        endpoints._check()
        return watchdog.trips

    return look


def test_it_looks_who_hears_the_commands_and_all_do_when_it_ends(rig, watchdog):
    """An echo that nobody listens to is silent only as long as somebody looks."""
    hardware = rig.hardware()
    rig.open(hardware)
    echo = CommandEcho(rig.node, hardware)
    endpoints = EndpointWatch(rig.node, hardware, watchdog, rig.supervision, echo)
    endpoints.start()
    rig.wait(lambda: not echo.has_readers)
    endpoints.stop()
    assert echo.has_readers
    echo.close()


@pytest.mark.parametrize('lock_step', [False, True])
def test_in_lock_step_commands_are_shown_whoever_listens(rig, tmp_path, lock_step):
    """Who reads them to let the robot go on may not have been found yet."""
    options = {'hardware__ros2_control__lock_step': lock_step}
    served = ServedNode(rig, tmp_path, 'ros_controllers:Hold', **options)
    try:
        served.activate()
        echo = served.session._echo
        if lock_step:
            time.sleep(5 * PERIOD)
            assert echo.has_readers
        else:
            rig.wait(lambda: not echo.has_readers)
    finally:
        served.close()


def test_states_of_two_nodes_are_not_safe(rig, check):
    """Another node that publishes joint states is noticed."""
    assert check(1) == []
    rig.node.create_publisher(JointState, 'joint_states', QOS)
    assert check(2) == [('/joint_states', 2)]


def test_a_broadcaster_in_place_of_a_dead_one_is_no_second_one(
    rig, check, ros_context, monkeypatch
):
    """One of the same name may be what the middleware has not given up yet, but not for ever."""
    again = Node('robot', context=ros_context, enable_rosout=False)
    again.create_publisher(JointState, 'joint_states', QOS)
    assert check(2) == []
    monkeypatch.setattr(endpoint_watch, 'LEASE', 0.0)
    assert len(check(2)) == 1
    again.destroy_node()
    assert check(1) == []


def test_the_loop_looks_itself_while_nobody_receives_the_commands(rig, watchdog, endpoints):
    """In each tick, so that the time without a reader ends when it is over; not otherwise."""
    endpoints._check()
    assert watchdog.heard == [False]
    endpoints.after_tick()
    endpoints.after_tick()
    assert watchdog.heard == [False] * 3
    channel = endpoints._hardware.command_publishers[0]
    rig.robot.create_subscription(Float64MultiArray, channel.topic, print, 1)
    rig.wait(lambda: channel.reader_count > 0)
    endpoints.after_tick()
    endpoints.after_tick()
    assert watchdog.heard == [False] * 3 + [True]


def test_it_looks_while_the_executor_is_busy(rig, watchdog, endpoints):
    """Controllers that are brought up in the node's executor do not make it blind."""
    busy, free = threading.Event(), threading.Event()

    def work():
        busy.set()
        free.wait(20.0)

    rig.node.create_timer(0.001, work)
    assert busy.wait(20.0)
    endpoints.start()
    seen = len(watchdog.heard)
    rig.wait(lambda: len(watchdog.heard) > seen)
    assert not free.is_set()
    free.set()


def test_a_watch_that_fails_does_not_end_unnoticed(rig, watchdog, endpoints):
    """The robot is stopped: nobody would see any more what the watch is for."""
    watchdog.subscribers_found = lambda receive: None if receive else 1 / 0
    watchdog.trip = lambda *words: watchdog.trips.append(words)
    endpoints.start()
    rig.wait(lambda: watchdog.trips)
    assert watchdog.trips[0][:2] == ('topics', 'safe')
    assert 'ZeroDivisionError' in watchdog.trips[0][2]


def test_a_manager_that_ends_together_with_the_node_is_no_somebody_else(watchdog, endpoints):
    """Once the robot is about to be let go, controllers that go inactive are no alarm."""
    endpoints._check_activity({'effort_controller': 'inactive'})
    assert watchdog.lost == ['effort_controller']
    endpoints._hardware.halt()
    endpoints._check_activity({'effort_controller': 'inactive'})
    assert watchdog.lost == ['effort_controller']


def test_the_clock_of_a_simulator_is_heard(rig, watchdog, endpoints):
    """Where a time-out is given; each look tells whether it has told its time since the last."""
    from rosgraph_msgs.msg import Clock

    publisher = rig.node.create_publisher(Clock, '/clock', 10)
    endpoints.start()
    rig.wait(lambda: len(watchdog.heard) > 3)
    endpoints.stop()
    assert watchdog.ticks == []
    watchdog.parameters = WatchdogParameters(clock_timeout=3.0)
    endpoints.start()
    rig.wait(lambda: publisher.get_subscription_count() > 0)
    watchdog.ticks.clear()

    def told():
        publisher.publish(Clock())
        return watchdog.ticks.count(True) > 2

    rig.wait(told)
    watchdog.ticks.clear()
    rig.wait(lambda: watchdog.ticks[-3:] == [False] * 3)
    endpoints.stop()
    rig.wait(lambda: publisher.get_subscription_count() == 0)
