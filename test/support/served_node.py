"""The node in the test's own process, active on a robot in the test's hands."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from mujoco_rig import ARM
from rclpy.exceptions import InvalidHandle
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from robot_rig import DT, QOS, RobotRig
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from cnoid_control.ros.node.control_node import SUCCESS, ControlNode

# A busy machine is no fault here.
OPTIONS = {
    'robot.base': 'fixed',
    'rate': 1.0 / DT,
    'autostart': False,
    'hardware.ros2_control.controller_manager': '',
    'hardware.ros2_control.startup_timeout': 20.0,
    'watchdog.state_action': 'ignore',
    'watchdog.subscriber_action': 'ignore',
    'watchdog.late_action': 'ignore',
    'watchdog.control_timeout': 0.2,
}


class ServedNode:
    """Serves the callbacks of a node in a thread.

    Attributes:
        node: the node.
        rig: the robot.
    """

    def __init__(self, rig: RobotRig, folder: Path, controller: str, **options) -> None:
        """Make the node; its model is written to the folder.

        Options are the node's, dots as double underscores.
        """
        self.rig = rig
        model = folder / 'arm.urdf'
        model.write_text(ARM)
        given = {**OPTIONS, 'robot.model': str(model), 'controller': controller}
        given |= {name.replace('__', '.'): value for name, value in options.items()}
        topic = 'effort_controller/commands'
        rig.robot.create_subscription(Float64MultiArray, topic, lambda message: None, QOS)
        rig.repeat(rig.publish)
        self.node = ControlNode(
            context=rig.context,
            parameter_overrides=[Parameter(key, value=value) for key, value in given.items()],
        )
        self._clients: dict = {}
        self._executor = SingleThreadedExecutor(context=rig.context)
        self._executor.add_node(self.node)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def activate(self) -> None:
        """Configure and activate."""
        assert self.node.trigger_configure() == SUCCESS, self.node.problem
        assert self.node.trigger_activate() == SUCCESS, self.node.problem

    def _serve(self) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(InvalidHandle):
                self._executor.spin_once(timeout_sec=0.05)

    @property
    def session(self):
        """What the node was configured with."""
        return self.node.session

    @property
    def controller(self):
        """The controller that has the robot."""
        return self.session.loop.host.controllers[0].controller

    def ask(self, service: str):
        """Call a std_srvs/Trigger service of the node; the future of the answer."""
        client = self._clients.get(service)
        if client is None:
            client = self.rig.robot.create_client(Trigger, f'/cnoid_control/{service}')
            self._clients[service] = client
        self.rig.wait(client.service_is_ready)
        return client.call_async(Trigger.Request())

    def trigger(self, service: str) -> tuple[bool, str]:
        """Call a std_srvs/Trigger service of the node: success and message."""
        future = self.ask(service)
        self.rig.wait(future.done)
        return future.result().success, future.result().message

    def set(self, name: str, value):
        """Have the node's executor set a parameter, as its service does; the task."""
        return self._executor.create_task(
            lambda: self.node.set_parameters([Parameter(name, value=value)])[0]
        )

    def close(self) -> None:
        """End everything."""
        self.node.finish()
        self._stop.set()
        self._thread.join()
        self._executor.remove_node(self.node)
        self.node.destroy_node()
        self._executor.shutdown()
