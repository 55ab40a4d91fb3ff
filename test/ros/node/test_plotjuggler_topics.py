"""The topics of the PlotJuggler layout are those that the node reads and publishes."""

from sensor_msgs.msg import JointState

from cnoid_control.ros.node.command_echo import CommandEcho
from cnoid_control.viewer.plotjuggler import COMMANDS, FIELDS, STATES


def test_the_layout_has_the_topics_of_the_node(rig):
    """Joint states and commands, both with the fields that are plotted."""
    hardware = rig.hardware()
    rig.open(hardware)
    echo = CommandEcho(rig.node, hardware)
    rig.wait(lambda: rig.robot.count_publishers(COMMANDS) == 1)
    rig.wait(lambda: rig.robot.count_subscribers(STATES) >= 1)
    topics = dict(rig.robot.get_topic_names_and_types())
    assert topics[COMMANDS] == topics[STATES] == ['sensor_msgs/msg/JointState']
    assert set(FIELDS) <= set(JointState.get_fields_and_field_types())
    echo.close()
