"""The node and the simulated robot as processes, and how tests ask them."""

from __future__ import annotations

import time
from pathlib import Path

from lifecycle_msgs.srv import ChangeState, GetState
from mujoco_rig import ARM
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

CONTROLLERS = Path(__file__).with_name('ros_controllers.py')
CONFIG = """
/**:
  ros__parameters:
    robot: {{model: {model}, base: fixed, posture: [0.3, -0.2]}}
    rate: 250.0
    controller: {controllers}:Hold
    hold: {{kp: 300.0}}
    hardware:
      type: mujoco
      mujoco: {{floor: false}}
      ros2_control: {{lock_step: true, startup_timeout: {timeout}}}
cnoid_control:
  ros__parameters: {{allow_file_plugins: true}}
"""


def write_config(folder: Path, timeout: float = 20.0) -> Path:
    """Write the model of the arm and a configuration of it; returns the configuration's file."""
    model = folder / 'arm.urdf'
    model.write_text(ARM)
    config = folder / 'node.yaml'
    config.write_text(CONFIG.format(model=model, controllers=CONTROLLERS, timeout=timeout))
    return config


class NodeRig:
    """Starts the processes on the test's domain and calls the node's services."""

    def __init__(self, node, spin_until, start_process, config, namespace=''):
        """Prepare; nothing is started."""
        self.node, self.spin_until = node, spin_until
        self._start_process = start_process
        self.config = config
        self.namespace = namespace
        self.name = f'{namespace}/cnoid_control'
        self._clients = {}

    def start_robot(self, *arguments):
        """Start the simulated robot."""
        lock_step = ['-p', 'pacing:=lockstep', '-p', 'command_timeout:=5.0']
        self.robot = self._start('cnoid_control.ros.sim.node', [*lock_step, *arguments])
        return self.robot

    def start_node(self, *arguments):
        """Start the node."""
        self.process = self._start('cnoid_control.ros.node.control_node', arguments)
        return self.process

    def _start(self, module, arguments):
        words = ['--ros-args', '--params-file', str(self.config), *arguments]
        if self.namespace:
            words += ['-r', f'__ns:={self.namespace}']
        return self._start_process(module, *words)

    def publish_states(self):
        """Be the robot: publish its posture ten times a second."""
        publisher = self.node.create_publisher(JointState, 'joint_states', 10)

        def publish():
            message = JointState(name=['shoulder', 'elbow'], position=[0.3, -0.2])
            message.header.stamp = self.node.get_clock().now().to_msg()
            publisher.publish(message)

        self.node.create_timer(0.1, publish)

    @property
    def log(self):
        """What the node has said."""
        return self.process.log_path.read_text()

    @property
    def logs(self):
        """What the node and the robot have said."""
        return f'{self.log}--- robot ({self.robot.poll()}):\n{self.robot.log_path.read_text()}'

    def call(self, kind, name, timeout=30.0, **fields):
        """Call a service of the node and return its answer."""
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self.node.create_client(kind, f'{self.name}/{name}')
        assert self.spin_until(client.service_is_ready, timeout=timeout), name
        future = client.call_async(kind.Request(**fields))
        assert self.spin_until(future.done, timeout=timeout), f'{name}: {self.logs}'
        return future.result()

    def trigger(self, name):
        """Call a std_srvs/Trigger service: success and message."""
        answer = self.call(Trigger, name)
        return answer.success, answer.message

    def state(self):
        """Return the label of the node's state."""
        return self.call(GetState, 'get_state').current_state.label

    def change_state(self, transition):
        """Ask for a transition by its number; whether it was taken."""
        request = ChangeState.Request()
        request.transition.id = transition
        return self.call(ChangeState, 'change_state', transition=request.transition).success

    def wait_for_state(self, label, timeout=60.0):
        """Wait until the node is in a state."""
        deadline = time.monotonic() + timeout
        while self.state() != label:
            assert time.monotonic() < deadline, f'not {label}: {self.logs}'
            time.sleep(0.05)

    def wait_for_log(self, words, timeout=60.0):
        """Wait until the node has said something."""
        assert self.spin_until(lambda: words in self.log, timeout=timeout), self.log

    def wait_for_swap(self, duration=0.4):
        """Wait until the robot's time has gone on for longer than a swap takes [s]."""
        stamps = []
        subscription = self.node.create_subscription(
            JointState, f'{self.name}/joint_commands', lambda m: stamps.append(m.header.stamp), 10
        )
        assert self.spin_until(
            lambda: (
                stamps
                and stamps[-1].sec + 1e-9 * stamps[-1].nanosec
                > stamps[0].sec + 1e-9 * stamps[0].nanosec + duration
            )
        ), self.logs
        self.node.destroy_subscription(subscription)

    def set(self, **parameters):
        """Set parameters (dots as double underscores); success and reason of the first."""
        values = [
            Parameter(name.replace('__', '.'), value=value).to_parameter_msg()
            for name, value in parameters.items()
        ]
        result = self.call(SetParameters, 'set_parameters', parameters=values).results[0]
        return result.successful, result.reason

    def get(self, name):
        """Return the value of a parameter."""
        answer = self.call(GetParameters, 'get_parameters', names=[name])
        return Parameter.from_parameter_msg(
            Parameter(name).to_parameter_msg().__class__(name=name, value=answer.values[0])
        ).value

    def describe(self, name):
        """Return the descriptor of a parameter."""
        return self.call(DescribeParameters, 'describe_parameters', names=[name]).descriptors[0]
