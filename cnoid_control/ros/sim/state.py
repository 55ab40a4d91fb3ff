"""Publishers of a simulated robot: joint states, root pose, clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from cnoid_control.body import Body
from cnoid_control.messages import layouts
from cnoid_control.messages.commands import JointStateEncoder
from cnoid_control.messages.frames import WORLD
from cnoid_control.messages.layouts import MessageBuffer, MessageLayout
from cnoid_control.ros.raw_dds import RawPublisher
from cnoid_control.ros.sim.devices import DevicePublisher
from cnoid_control.ros.sim.frames import FramePublisher


class JointStatePublisher:
    """Positions, velocities and efforts of all joints."""

    def __init__(
        self, node: Node, body: Body, topic: str, qos: QoSProfile, prefix: str = ''
    ) -> None:
        """Advertise the topic and prepare the message; the root's frame gets the prefix."""
        self.outbox = RawPublisher(node, JointState, topic, qos)
        self._body = body
        frame = f'{prefix}{body.root_link.name}'
        self._encoder = JointStateEncoder(
            body.joint_names, ('position', 'velocity', 'effort'), frame
        )
        values = self._encoder.values
        self._copies = [
            (values['position'], body.q),
            (values['velocity'], body.dq),
            (values['effort'], body.u),
        ]

    def publish(self, stamp: int) -> None:
        """Publish the state with its stamp [ns]."""
        for target, source in self._copies:
            target[:] = source
        self.outbox.send(self._encoder.encode(stamp))


class RootPublisher:
    """The true pose and velocity of the root: odometry."""

    def __init__(self, node: Node, body: Body, qos: QoSProfile, prefix: str = '') -> None:
        """Advertise `~/root` and prepare the message; the root's frame gets the prefix."""
        self._body = body
        self._outbox = RawPublisher(node, Odometry, '~/root', qos)
        self._message = MessageBuffer(layouts.odometry(WORLD, f'{prefix}{body.root_link.name}'))
        self._pose = self._message.view('pose.pose')
        self._twist = self._message.view('twist.twist')

    def publish(self, stamp: int) -> None:
        """Publish the pose in the world and the velocity in the root's own axes."""
        root = self._body.root_link
        self._pose[:] = self._body.pin_q()[:7]
        self._twist[:3] = root.v @ root.R
        self._twist[3:] = root.w @ root.R
        self._outbox.send(self._message.encode(stamp))


class ClockPublisher:
    """Simulated time."""

    def __init__(self, node: Node, qos: QoSProfile) -> None:
        """Advertise /clock."""
        self._outbox = RawPublisher(node, Clock, '/clock', qos)
        self._message = MessageBuffer(MessageLayout('rosgraph_msgs/msg/Clock'), stamp='clock')

    def publish(self, stamp: int) -> None:
        """Publish the time [ns]."""
        self._outbox.send(self._message.encode(stamp))


SlowPublisher = ClockPublisher | RootPublisher | FramePublisher


class StatePublishers:
    """All that is published in a tick: devices first, the joints, the rest at lower rates.

    A controller that is driven by the joints' message finds the devices' messages of the same
    stamp sent before it.
    """

    def __init__(
        self,
        body: Body,
        joints: Sequence[tuple[JointStatePublisher, Callable[[], bool]]],
        devices: Sequence[tuple[DevicePublisher, Callable[[], bool]]],
        slower: Sequence[tuple[SlowPublisher, int]],
    ) -> None:
        """Collect the publishers.

        Args:
            body: the robot.
            joints: publishers of joint states, and whether each is active.
            devices: publishers of devices, and whether each is active.
            slower: other publishers, and ticks between the messages of each.
        """
        self._body = body
        self._joints = list(joints)
        self._devices = list(devices)
        self._slower = list(slower)

    @property
    def joint_publishers(self) -> list[JointStatePublisher]:
        """The publishers of joint states."""
        return [publisher for publisher, _ in self._joints]

    def publish(self, tick: int, stamp: int) -> None:
        """Publish what is due in a tick, with its stamp [ns]."""
        for other, ticks in self._slower:
            if (tick - 1) % ticks == 0:
                other.publish(stamp)
        if self._devices:
            self._body.calc_forward_kinematics()
        for device, is_active in self._devices:
            if is_active():
                device.publish(stamp)
        for joints, is_active in self._joints:
            if is_active():
                joints.publish(stamp)
