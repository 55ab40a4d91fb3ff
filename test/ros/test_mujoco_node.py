"""The simulated robot as a node, asked through DDS."""

import threading

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from controller_manager_msgs.srv import SwitchController
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from cnoid_control.body import JointType, StateFlag
from cnoid_control.body.model_loader import load_body
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco_hardware import MujocoHardware
from cnoid_control.hardware.mujoco_parameters import MujocoParameters
from cnoid_control.ros.mujoco_node import MujocoNode

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
DT = 0.002
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
    robot: {{model: {model}, root: fixed, posture: [0.3, -0.2]}}
    rate: 500.0
    controller: sr1_minimum
    hardware:
      type: mujoco
      mujoco: {{floor: false}}
"""


class Rig:
    """A simulated robot on threads of its own, and a node that asks it."""

    def __init__(self, context, node, spin_until, config, **parameters):
        """Start the robot."""
        self.node, self.spin_until = node, spin_until
        self.robot = MujocoNode(
            context=context,
            use_global_arguments=False,
            cli_args=['--ros-args', '--params-file', str(config)],
            parameter_overrides=[Parameter(key, value=parameters[key]) for key in parameters],
        )
        self._executor = SingleThreadedExecutor(context=context)
        for served in (self.robot, *self.robot.companions):
            self._executor.add_node(served)
        self._thread = threading.Thread(target=self._executor.spin)
        self._thread.start()
        self.robot.start()

    @property
    def loop(self):
        """The simulation."""
        return self.robot.loop

    def close(self):
        """Stop the robot."""
        failure = self.robot.finish()
        self._executor.shutdown()
        self._thread.join()
        for served in (self.robot, *self.robot.companions):
            served.destroy_node()
        return failure

    def call(self, kind, name, **fields):
        """Call a service and return its answer."""
        client = self.node.create_client(kind, name)
        assert self.spin_until(client.service_is_ready)
        future = client.call_async(kind.Request(**fields))
        assert self.spin_until(future.done)
        return future.result()

    def switch(self, activate=(), deactivate=(), strictness=2):
        """Switch controllers."""
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

    def commander(self, topic='effort_controller/commands'):
        """Return a function that publishes commands."""
        publisher = self.node.create_publisher(Float64MultiArray, topic, 10)
        assert self.spin_until(publisher.get_subscription_count)
        return lambda values: publisher.publish(
            Float64MultiArray(data=[float(value) for value in values])
        )


@pytest.fixture
def arm(tmp_path):
    """Return a configuration file of a robot of two joints."""
    model = tmp_path / 'arm.urdf'
    model.write_text(ARM)
    config = tmp_path / 'arm.yaml'
    config.write_text(CONFIG.format(model=model))
    return config


@pytest.fixture
def make_rig(ros_context, ros_node, spin_until, arm):
    """Return a function that starts the robot with parameters."""
    rigs = []

    def make(config=arm, **parameters):
        rigs.append(Rig(ros_context, ros_node, spin_until, config, **parameters))
        return rigs[-1]

    yield make
    for rig in rigs:
        assert rig.close() == ''


def pd(q, dq):
    """Return efforts that hold the posture."""
    return (np.array(POSTURE) - q) * 300.0 - np.asarray(dq) * 20.0


def reference_run(arm, ticks):
    """Return the states of the same robot under the same control, in this process."""
    body = load_body(arm.parent / 'arm.urdf', JointType.FIXED)
    body.q[:] = POSTURE
    body.initialize_state()
    hardware = MujocoHardware(body, MujocoParameters(floor=False), DT)
    flags = StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY
    names = [joint.name for joint in body.joints]
    hardware.open(
        IORequest(
            inputs=dict.fromkeys(names, flags),
            outputs=dict.fromkeys(names, StateFlag.JOINT_EFFORT),
        )
    )
    states = []
    for _ in range(ticks):
        hardware.read()
        states.append(body.q.copy())
        body.u[:] = pd(body.q, body.dq)
        hardware.write()
    return np.array(states)


def test_lockstep_gives_the_same_bits_as_in_process(make_rig, arm, spin_until):
    """In lock-step every state is answered, and the motion is that of a loop in one process."""
    rig = make_rig(pacing='lockstep', real_time_factor=0.0)
    send = rig.commander()
    states = {}

    def on_state(message):
        stamp = round((message.header.stamp.sec + message.header.stamp.nanosec * 1e-9) / DT)
        if stamp not in states:
            states[stamp] = list(message.position)
            send(pd(np.array(message.position), message.velocity))

    rig.node.create_subscription(JointState, 'joint_states', on_state, QoSProfile(depth=10))
    assert spin_until(lambda: 1 in states)
    ticks = rig.loop.ticks
    assert rig.switch(['effort_controller']).ok
    assert rig.loop.ticks == ticks == 1
    states.clear()
    assert spin_until(lambda: len(states) >= 300)
    assert sorted(states)[:300] == list(range(1, 301))
    np.testing.assert_array_equal([states[i] for i in range(1, 301)], reference_run(arm, 300))
    assert rig.loop.pacing.timeouts == 0
