"""Commands as joint states on `~/joint_commands`."""

from robot_rig import QOS
from sensor_msgs.msg import JointState

from cnoid_control.ros.node.command_echo import CommandEcho


def test_commands_have_the_stamp_of_their_state_and_end_with_an_empty_message(rig):
    """Between two ticks the last commands are repeated, not those that are being computed."""
    received = []
    rig.robot.create_subscription(JointState, 'cnoid_control/joint_commands', received.append, QOS)
    hardware = rig.hardware()
    rig.open(hardware)
    body = hardware.body
    echo = CommandEcho(rig.node, hardware)
    rig.wait(lambda: rig.robot.count_publishers('cnoid_control/joint_commands') == 1)
    rig.wait(lambda: echo._publisher.reader_count == 1)
    body.q_target[:], body.dq_target[:], body.u[:] = (1.0, 2.0), (3.0, 4.0), (5.0, 6.0)
    echo.publish()
    body.u[:] = 7.0
    echo.repeat()
    echo.end()
    echo.flush()
    rig.wait(lambda: len(received) == 3)
    first, again, last = received
    assert list(first.name) == ['shoulder', 'elbow']
    assert [list(one) for one in (first.position, first.velocity, first.effort)] == [
        [1.0, 2.0],
        [3.0, 4.0],
        [5.0, 6.0],
    ]
    assert first.header.stamp.sec * 10**9 + first.header.stamp.nanosec == hardware.stamp
    assert again == first
    assert not last.name
    echo.close()


def test_nothing_is_sent_where_nobody_listens(rig):
    """What is repeated later has the newest commands all the same."""
    hardware = rig.hardware()
    rig.open(hardware)
    echo = CommandEcho(rig.node, hardware)
    echo.look()
    assert not echo.has_readers
    received = []
    rig.robot.create_subscription(JointState, 'cnoid_control/joint_commands', received.append, QOS)
    rig.wait(lambda: echo._publisher.reader_count == 1)
    hardware.body.u[:] = (5.0, 6.0)
    echo.publish()
    echo.repeat()
    rig.wait(lambda: len(received) == 1)
    echo.look()
    assert echo.has_readers
    echo.publish()
    rig.wait(lambda: len(received) == 2)
    assert [list(one.effort) for one in received] == [[5.0, 6.0], [5.0, 6.0]]
    echo.close()
