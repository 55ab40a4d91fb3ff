"""A robot made of topics and services in the test's own hands, and hardware that talks to it."""

from __future__ import annotations

import contextlib
import threading
import time

from mujoco_rig import ARM
from rcl_interfaces.msg import ParameterValue
from rclpy.exceptions import InvalidHandle
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.parameters import parse_parameters
from cnoid_control.ros.robot.hardware import Ros2ControlHardware
from cnoid_control.ros.robot.parameters import Ros2ControlParameters
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.ros.sim.controllers import FORWARD_TYPE

DT = 0.002
QOS = QoSProfile(depth=10)


class RobotRig:
    """Publishes joint states by hand; `hardware` reads them."""

    def __init__(self, context):
        """Make the nodes; nothing is published yet."""
        self.context = context
        self.robot = Node('robot', context=context)
        self.node = Node('cnoid_control', context=context)
        self.supervision = SupervisionNode(self.node)
        self._executor = SingleThreadedExecutor(context=context)
        for node in (self.robot, self.node):
            self._executor.add_node(node)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()
        self._states = self.robot.create_publisher(JointState, 'joint_states', QOS)
        self._repeater = None
        self._hardware = []
        self.stamp = 0.0

    def _spin(self):
        while not self._stop.is_set():
            # Hardware is closed in the test's thread while this one waits.
            with contextlib.suppress(InvalidHandle):
                self._executor.spin_once(timeout_sec=0.05)

    def close(self):
        """End everything."""
        self.silence()
        for hardware in self._hardware:
            hardware.close()
        self.supervision.close()
        self._stop.set()
        self._thread.join()
        for node in (self.robot, self.node):
            self._executor.remove_node(node)
            node.destroy_node()
        self._executor.shutdown()

    def body(self, devices=(), root=JointType.FIXED):
        """Return the arm, with devices on its links."""
        description = parse_urdf(ARM, 'arm', root)
        description.devices += [('lower', device) for device in devices]
        return Body(description)

    def hardware(self, body=None, device_topics=None, **parameters):
        """Return hardware with these options."""
        # The machine may be busy: nothing is late but what the test makes late.
        parameters.setdefault('startup_timeout', 20.0)
        parameters.setdefault('state_timeout', 20.0)
        parameters.setdefault('controller_manager', '')
        given = parse_parameters(Ros2ControlParameters, parameters)
        made = Ros2ControlHardware(
            body or self.body(), given, DT, self.node, self.supervision, device_topics or {}
        )
        self._hardware.append(made)
        return made

    def publish(
        self, position=(0.3, -0.2), velocity=(), effort=(), names=('shoulder', 'elbow'), dt=DT
    ):
        """Publish a joint state, `dt` later than the last one."""
        self.stamp += dt
        message = JointState(
            name=list(names),
            position=[float(value) for value in position],
            velocity=[float(value) for value in velocity],
            effort=[float(value) for value in effort],
        )
        message.header.stamp.sec = int(self.stamp)
        message.header.stamp.nanosec = round((self.stamp - int(self.stamp)) * 1e9)
        self._states.publish(message)

    def listen(self, kind, topic):
        """Collect the messages of a topic."""
        messages = []
        self.robot.create_subscription(kind, topic, messages.append, QOS)
        return messages

    def repeat(self, function, period=0.02):
        """Call a function again and again, with pauses of a period [s], until `silence`."""
        stop = threading.Event()

        def run():
            while not stop.wait(period):
                function()

        thread = threading.Thread(target=run)
        thread.start()
        self._repeater = (stop, thread)

    def silence(self):
        """Stop calling it."""
        if self._repeater is not None:
            stop, thread = self._repeater
            stop.set()
            thread.join()
            self._repeater = None

    def open(self, hardware, request=None, **state):
        """Connect and open hardware while joint states come; none is left over."""
        self.repeat(lambda: self.publish(**state))
        hardware.connect()
        hardware.open(request or effort_request(hardware.body))
        self.silence()
        time.sleep(0.05)
        while hardware.source.poll_one():
            pass
        hardware.source.restart()
        hardware.time = 0.0

    def wait(self, condition, timeout=10.0):
        """Wait until a condition holds."""
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.005)


def effort_request(body, mode=StateFlag.JOINT_EFFORT, inputs=StateFlag.JOINT_DISPLACEMENT, **more):
    """Return a request for all joints."""
    names = [joint.name for joint in body.joints]
    return IORequest(
        inputs=dict.fromkeys(names, inputs), outputs=dict.fromkeys(names, mode), **more
    )


class ManagerNode:
    """controller_manager and its controllers, as far as an outsider sees them."""

    def __init__(self, rig, controllers, **parameters):
        """Serve `controllers`: name to (state, joints, interface); `parameters` are its own."""
        from controller_manager_msgs.msg import ControllerState
        from controller_manager_msgs.srv import ListControllers, SwitchController
        from rcl_interfaces.srv import GetParameters

        self.controllers = {name: list(entry) for name, entry in controllers.items()}
        self.requests = []
        self.refusal = ''

        def list_controllers(request, response):
            for name, (state, joints, interface) in self.controllers.items():
                interfaces = [f'{joint}/{interface}' for joint in joints]
                response.controller.append(
                    ControllerState(
                        name=name,
                        state=state,
                        type=FORWARD_TYPE if interface else '',
                        claimed_interfaces=interfaces if state == 'active' else [],
                        required_command_interfaces=interfaces,
                    )
                )
            return response

        def switch(request, response):
            self.requests.append(request)
            response.ok = not self.refusal
            response.message = self.refusal
            if response.ok:
                for name in request.activate_controllers:
                    self.controllers[name][0] = 'active'
                for name in request.deactivate_controllers:
                    self.controllers[name][0] = 'inactive'
            return response

        node = rig.robot
        prefix = 'controller_manager'
        node.create_service(ListControllers, f'{prefix}/list_controllers', list_controllers)
        node.create_service(SwitchController, f'{prefix}/switch_controller', switch)
        served = {
            name: {'joints': joints, 'interface_name': interface}
            for name, (_, joints, interface) in controllers.items()
        }
        if parameters:
            served[prefix] = parameters
        for name, values in served.items():

            def get_parameters(request, response, values=values):
                # As they are now: a controller may be loaded anew with others.
                known = {
                    key: Parameter(
                        key, value=list(value) if isinstance(value, (list, tuple)) else value
                    )
                    .to_parameter_msg()
                    .value
                    for key, value in values.items()
                }
                response.values = [known.get(key, ParameterValue()) for key in request.names]
                return response

            node.create_service(GetParameters, f'{name}/get_parameters', get_parameters)
