"""Frames from the topics of a running ROS system."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from cnoid_control.body import Body
from cnoid_control.body.devices import ForceSensor
from cnoid_control.viewer.frame import ENDED, ESTOP, PAUSED, READY, RUNNING, SAFE_STATE, Frame

# The newest message is all that is shown; it is taken from publishers of any reliability.
NEWEST = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=1
)
FRAMES = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT, history=HistoryPolicy.KEEP_LAST, depth=100
)
LATCHED = QoSProfile(
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
    history=HistoryPolicy.KEEP_LAST,
    depth=100,
)
# A stamp above this is the wall clock's [s]: time is told from the first message on then.
WALL_CLOCK = 1e8
# Without joint states or diagnostics for this long nothing is known any more [s].
SILENCE = 3.0
# Time between two looks for topics of force sensors [s].
LOOK_PERIOD = 3.0
WORDS = {'running': RUNNING, 'paused': PAUSED, 'e-stop': ESTOP, 'finished': ENDED}


class FrameTree:
    """Frames of tf: each in its parent, and any in the root of them all."""

    def __init__(self) -> None:
        """Begin without frames."""
        self._parents: dict[str, tuple[str, pin.SE3]] = {}

    def take(self, message: Any) -> None:
        """Take a message in."""
        for one in message.transforms:
            place, turn = one.transform.translation, one.transform.rotation
            quaternion = pin.Quaternion(turn.w, turn.x, turn.y, turn.z)
            pose = pin.SE3(quaternion.normalized(), np.array([place.x, place.y, place.z]))
            self._parents[one.child_frame_id.lstrip('/')] = one.header.frame_id.lstrip('/'), pose

    def pose(self, name: str) -> pin.SE3 | None:
        """Pose of a frame in the frame that all come from; None where nothing is known of it."""
        if name not in self._parents:
            return None
        pose = pin.SE3.Identity()
        for _ in range(len(self._parents) + 1):
            if name not in self._parents:
                return pose
            name, local = self._parents[name]
            pose = local * pose
        # They go round in a circle.
        return None


class RosFeed:
    """Listens to joint states, tf, odometry, commands, force sensors and diagnostics.

    Joint states are all that is needed. The pose of a floating base is that of its frame in tf,
    or else that of an odometry whose child is the base.

    Attributes:
        state, reason, controller: what the control node says of itself; 'ready' before it does.
    """

    def __init__(
        self, node: Node, body: Body, prefix: str, odometry: str, control_node: str
    ) -> None:
        """Subscribe.

        Args:
            node: node to subscribe with.
            body: the robot; only its names are needed.
            prefix: what the names of its frames begin with in tf.
            odometry: topic of nav_msgs/Odometry of the base; empty where tf has it.
            control_node: full name of the control node, whose diagnostics are heard.
        """
        self.state, self.reason, self.controller = READY, '', ''
        self._node = node
        self._body = body
        self._base = f'{prefix}{body.root_link.name}'
        self._control_node = control_node.strip('/')
        self._slots = {joint.joint_name: i for i, joint in enumerate(body.joints)}
        self._q, self._dq = body.q.copy(), np.zeros(body.num_joints)
        self._u = np.zeros(body.num_joints)
        self._target = np.zeros(0)
        self._root = np.array(body.root_q)
        self._motion = np.zeros(6)
        self._has_odometry = False
        self._tree = FrameTree()
        self._time = self._first = math.nan
        self._states = 0
        self._arrived = self._heard = -math.inf
        self._speed = 0.0
        self._limited: dict[str, list[str]] = {}
        self._wrenches: dict[str, np.ndarray] = {}
        self._sensors: set[str] = set()
        self._looked = 0.0
        node.create_subscription(JointState, 'joint_states', self._take_states, NEWEST)
        topic = f'/{self._control_node}/joint_commands'
        node.create_subscription(JointState, topic, self._take_commands, NEWEST)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._take_diagnostics, FRAMES)
        if odometry:
            node.create_subscription(Odometry, odometry, self._take_odometry, NEWEST)
        try:
            from tf2_msgs.msg import TFMessage
        except ImportError:
            node.get_logger().warning('tf is not heard: tf2_msgs is not installed')
        else:
            node.create_subscription(TFMessage, '/tf', self._tree.take, FRAMES)
            node.create_subscription(TFMessage, '/tf_static', self._tree.take, LATCHED)

    def frame(self) -> Frame | None:
        """What is known now; None before the first joint states."""
        now = time.monotonic()
        if now > self._looked + LOOK_PERIOD:
            self._looked = now
            self._find_sensors()
        if not self._states:
            return None
        base = None if self._has_odometry else self._tree.pose(self._base)
        if base is not None:
            self._root = np.concatenate([base.translation, pin.Quaternion(base.rotation).coeffs()])
        state, reason = self.state, self.reason
        if now > self._heard + SILENCE:
            # A system without a control node shows what its joints do.
            state, reason = RUNNING, ''
        if now > self._arrived + SILENCE:
            state, reason = ENDED, f'no joint states for {now - self._arrived:.0f} s'
        return Frame(
            time=self._time,
            tick=self._states,
            state=state,
            reason=reason,
            controller=self.controller,
            speed=self._speed,
            q=self._q.copy(),
            dq=self._dq.copy(),
            u=self._u.copy(),
            q_target=self._target.copy(),
            root=self._root.copy(),
            root_motion=self._motion.copy(),
            limited=self._limited,
            devices={name: {'F': wrench} for name, wrench in self._wrenches.items()},
        )

    # --- messages -----------------------------------------------------------------------------

    def _take_states(self, message: Any) -> None:
        for array, values in (
            (self._q, message.position),
            (self._dq, message.velocity),
            (self._u, message.effort),
        ):
            for name, value in zip(message.name, values, strict=False):
                slot = self._slots.get(name)
                if slot is not None and math.isfinite(value):
                    array[slot] = value
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        if math.isnan(self._first):
            self._first = stamp if stamp > WALL_CLOCK else 0.0
        now, then, before = time.monotonic(), self._arrived, self._time
        self._time = stamp - self._first
        if now > then and not math.isnan(before):
            # Smoothed: messages come in bursts.
            self._speed += 0.05 * (max(0.0, self._time - before) / (now - then) - self._speed)
        self._arrived = now
        self._states += 1

    def _take_commands(self, message: Any) -> None:
        if not message.position:
            return
        if not self._target.size:
            self._target = self._q.copy()
        for name, value in zip(message.name, message.position, strict=False):
            slot = self._slots.get(name)
            if slot is not None and math.isfinite(value):
                self._target[slot] = value

    def _take_odometry(self, message: Any) -> None:
        if message.child_frame_id.lstrip('/') not in (self._base, self._body.root_link.name):
            return
        place, turn = message.pose.pose.position, message.pose.pose.orientation
        self._root = np.array([place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w])
        self._has_odometry = True
        # A twist is in the axes of the child.
        rotation = pin.Quaternion(turn.w, turn.x, turn.y, turn.z).matrix()
        v, w = message.twist.twist.linear, message.twist.twist.angular
        self._motion[:3] = rotation @ [v.x, v.y, v.z]
        self._motion[3:] = rotation @ [w.x, w.y, w.z]

    def _take_diagnostics(self, message: Any) -> None:
        for status in message.status:
            node, _, name = status.name.partition(': ')
            if node != self._control_node:
                continue
            self._heard = time.monotonic()
            values = {item.key: item.value for item in status.values}
            if name == 'controller':
                self.controller = values.get('controllers', '')
                self.state = WORDS.get(values.get('state', ''), SAFE_STATE)
                self.reason = status.message.removeprefix('safe state: ')
                if self.state == RUNNING:
                    self.reason = ''
            elif name == 'loop' and len(message.status) == 1:
                # It is not active, and says no more.
                self.state, self.reason, self.controller = READY, status.message, ''
            elif name == 'limits':
                self._limited = _limits_of(values) if 'lately' in status.message else {}
                if status.message.startswith('no command'):
                    self._limited = {}

    def _find_sensors(self) -> None:
        """Listen to the wrenches that somebody publishes, where the frame is a force sensor's."""
        if not self._body.devices_of(ForceSensor):
            return
        from geometry_msgs.msg import WrenchStamped

        for topic, kinds in self._node.get_topic_names_and_types():
            if 'geometry_msgs/msg/WrenchStamped' in kinds and topic not in self._sensors:
                self._sensors.add(topic)
                self._node.create_subscription(WrenchStamped, topic, self._wrench_taker(), NEWEST)

    def _wrench_taker(self) -> Callable[[Any], None]:
        names: dict[str, str] = {}
        for sensor in self._body.devices_of(ForceSensor):
            names[sensor.name] = sensor.name
            if sensor.link is not None:
                names.setdefault(sensor.link.name, sensor.name)

        def take(message: Any) -> None:
            frame = message.header.frame_id.rpartition('/')[2]
            if frame in names:
                force, torque = message.wrench.force, message.wrench.torque
                values = [force.x, force.y, force.z, torque.x, torque.y, torque.z]
                self._wrenches[names[frame]] = np.array(values)

        return take


def _limits_of(values: dict[str, str]) -> dict[str, list[str]]:
    """Joints by the kind of the limit, from a status of the limits."""
    found: dict[str, list[str]] = {}
    for key in values:
        kind, _, joint = key.partition(' ')
        if joint:
            found.setdefault(kind, []).append(joint)
    return found
