"""The hardware kind `ros2_control`, as the command line and configurations find it."""

from __future__ import annotations

from collections.abc import Mapping

from cnoid_control.body import Body
from cnoid_control.hardware.hardware import Hardware
from cnoid_control.hardware.registry import HardwareKind
from cnoid_control.ros.robot.parameters import Ros2ControlParameters


def _create(
    body: Body, parameters: Ros2ControlParameters, time_step: float, devices: Mapping[str, str]
) -> Hardware:
    # rclpy is imported only where it is used.
    from cnoid_control.ros.robot.standalone import StandaloneHardware

    return StandaloneHardware(body, parameters, time_step, dict(devices))


ROS2_CONTROL = HardwareKind(
    'a robot behind ros2_control, through ROS 2 topics',
    Ros2ControlParameters,
    _create,
    is_simulated=False,
)
