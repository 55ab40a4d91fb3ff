"""The same PD control as a node that one writes first with rclpy: typed messages, an executor."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from cnoid_control.bench.ros_loop.held import begin


def main(words: list[str]) -> None:
    """Run until a signal; the arguments are those of `begin`."""
    held = begin(words)
    index_of = {name: i for i, name in enumerate(held.names)}
    q, dq = np.zeros(len(index_of)), np.zeros(len(index_of))

    import rclpy
    from geometry_msgs.msg import WrenchStamped
    from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
    from sensor_msgs.msg import Imu, JointState
    from std_msgs.msg import Float64MultiArray

    from cnoid_control.ros.robot.command_publisher import COMMAND_QOS
    from cnoid_control.ros.robot.device_readers import STATE_QOS

    rclpy.init()
    node = rclpy.create_node('stock')
    publisher = node.create_publisher(Float64MultiArray, 'effort_controller/commands', COMMAND_QOS)
    newest: dict[str, Any] = {}

    def control(message: Any) -> None:
        for name, position, velocity in zip(
            message.name, message.position, message.velocity, strict=True
        ):
            i = index_of[name]
            q[i], dq[i] = position, velocity
        publisher.publish(Float64MultiArray(data=held.efforts(q, dq).tolist()))

    def keep_gyro(message: Any) -> None:
        newest['gyro'] = message

    def keep_force(message: Any) -> None:
        newest['force'] = message

    node.create_subscription(JointState, 'joint_states', control, STATE_QOS)
    node.create_subscription(Imu, 'imu', keep_gyro, STATE_QOS)
    node.create_subscription(WrenchStamped, 'wrench', keep_force, STATE_QOS)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        return


if __name__ == '__main__':
    main(sys.argv[1:])
