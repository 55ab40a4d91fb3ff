"""The same PD control with nothing around it: what Python costs, whoever writes it.

Bytes are taken where rclpy has them, numbers are read where they stand, and the efforts go out as
bytes again. It watches nothing, limits nothing, copies nothing and cannot be asked for anything.
"""

from __future__ import annotations

import sys

from cnoid_control.bench.ros_loop.held import begin


def main(words: list[str]) -> None:
    """Run until a signal; the arguments are those of `begin`."""
    held = begin(words)

    import rclpy
    from geometry_msgs.msg import WrenchStamped
    from sensor_msgs.msg import Imu, JointState
    from std_msgs.msg import Float64MultiArray

    from cnoid_control.messages.commands import ArrayEncoder
    from cnoid_control.messages.joint_state import JointStateDecoder
    from cnoid_control.ros.raw_dds import RawPublisher, open_subscription
    from cnoid_control.ros.robot.command_publisher import COMMAND_QOS
    from cnoid_control.ros.robot.device_readers import STATE_QOS
    from cnoid_control.runtime.realtime import QuietProcess

    rclpy.init()
    node = rclpy.create_node('bare')
    states = open_subscription(node, JointState, 'joint_states', STATE_QOS)
    gyro = open_subscription(node, Imu, 'imu', STATE_QOS)
    force = open_subscription(node, WrenchStamped, 'wrench', STATE_QOS)
    publisher = RawPublisher(node, Float64MultiArray, 'effort_controller/commands', COMMAND_QOS)
    decoder, encoder = JointStateDecoder(held.names), ArrayEncoder(len(held.names))
    QuietProcess().begin()
    while rclpy.ok():
        states.wait(0.1)
        data = states.take()
        if data is not None and decoder.decode(data):
            gyro.take()
            force.take()
            efforts = held.efforts(decoder.position, decoder.velocity)
            publisher.send(encoder.encode(efforts))


if __name__ == '__main__':
    main(sys.argv[1:])
