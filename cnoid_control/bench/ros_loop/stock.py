"""The same PD control as a node that one writes first with rclpy: typed messages, an executor."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np


def main(words: list[str]) -> None:
    """Run until a signal; arguments: real-time priority, kp, kd, joint=reference of each."""
    priority, kp, kd = int(words[0]), float(words[1]), float(words[2])
    if priority > 0:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    pairs = [word.rsplit('=', 1) for word in words[3:]]
    index_of = {name: i for i, (name, _) in enumerate(pairs)}
    reference = np.array([float(value) for _, value in pairs])
    q, dq = np.zeros(len(pairs)), np.zeros(len(pairs))

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
        u = kp * (reference - q) - kd * dq
        publisher.publish(Float64MultiArray(data=u.tolist()))

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
