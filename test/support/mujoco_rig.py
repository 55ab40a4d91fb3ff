"""A simulated robot of two joints as a node, and how tests ask it."""

from __future__ import annotations

import threading
from pathlib import Path

from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray

from cnoid_control.ros.sim.node import MujocoNode

ARM = """
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 1"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="200" velocity="10"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" effort="200" velocity="10"/></joint>
</robot>
"""
POSTURE = [0.3, -0.2]
CONFIG = """
/**:
  ros__parameters:
    robot: {{model: {model}, base: fixed, posture: [0.3, -0.2]}}
    rate: 500.0
    controller: sr1_minimum
    hardware:
      type: mujoco
      mujoco: {{floor: false}}
"""


def write_arm(folder: Path) -> Path:
    """Write the model and a configuration of it; returns the configuration's file."""
    model = folder / 'arm.urdf'
    model.write_text(ARM)
    config = folder / 'arm.yaml'
    config.write_text(CONFIG.format(model=model))
    return config


class Rig:
    """A simulated robot on threads of its own, and a node that asks it."""

    def __init__(self, context, node, spin_until, config, namespace='', **parameters):
        """Start the robot."""
        self.node, self.spin_until = node, spin_until
        self.robot = MujocoNode(
            context=context,
            namespace=namespace,
            use_global_arguments=False,
            cli_args=['--ros-args', '--params-file', str(config)],
            parameter_overrides=[Parameter(key, value=parameters[key]) for key in parameters],
        )
        self._executor = SingleThreadedExecutor(context=context)
        for served in (self.robot, *self.robot.companions):
            self._executor.add_node(served)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()
        self.robot.start()

    @property
    def loop(self):
        """The simulation."""
        return self.robot.loop

    def _spin(self):
        while not self._stop.is_set():
            self._executor.spin_once(timeout_sec=0.05)

    def close(self):
        """Stop the robot."""
        failure = self.robot.finish()
        self._stop.set()
        self._thread.join()
        self._executor.shutdown()
        for served in (self.robot, *self.robot.companions):
            served.destroy_node()
        return failure

    def call(self, kind, name, /, **fields):
        """Call a service and return its answer."""
        client = self.node.create_client(kind, name)
        assert self.spin_until(client.service_is_ready)
        future = client.call_async(kind.Request(**fields))
        assert self.spin_until(future.done)
        return future.result()

    def switch(self, activate=(), deactivate=(), strictness=2):
        """Switch controllers."""
        from controller_manager_msgs.srv import SwitchController

        return self.call(
            SwitchController,
            'controller_manager/switch_controller',
            activate_controllers=list(activate),
            deactivate_controllers=list(deactivate),
            strictness=strictness,
        )

    def listen(self, kind, topic, qos=10):
        """Collect the messages of a topic."""
        messages = []
        self.node.create_subscription(kind, topic, messages.append, qos)
        return messages

    def command_controllers(self, topic='effort_controller/commands'):
        """Return a function that publishes commands."""
        publisher = self.node.create_publisher(Float64MultiArray, topic, 10)
        assert self.spin_until(publisher.get_subscription_count)
        return lambda values: publisher.publish(
            Float64MultiArray(data=[float(value) for value in values])
        )
