"""The reading half of a robot on ROS: joint states and devices into a body, tick by tick."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from rclpy.node import Node

from cnoid_control.body import Body
from cnoid_control.hardware.hardware import Hardware
from cnoid_control.ros.exceptions import MultiplePublishers, NoJointStates, WrongTopicType
from cnoid_control.ros.raw_dds import open_subscription
from cnoid_control.ros.robot.device_readers import (
    LOCK_STEP_QOS,
    STATE_QOS,
    DeviceReader,
    TopicReader,
)
from cnoid_control.ros.robot.joint_states import JointStateSource
from cnoid_control.ros.robot.parameters import Ros2ControlParameters
from cnoid_control.ros.robot.resolved_io import ResolvedIO

JOINT_STATE_TYPE = 'sensor_msgs/msg/JointState'
# How long a first state with all joints is waited for when there are some with a part of them [s].
COMPLETE_TIMEOUT = 2.0
# The last part of a timer's wait is spent awake: sleeping is not exact enough [s].
SPIN_TIME = 150e-6
# How long a device's message of the same stamp is waited for in lock-step [s].
SAME_STAMP_TIMEOUT = 0.5
# What the middleware calls a node that it knows a publisher of, but not the name yet.
UNKNOWN_NODE = '_NODE_NAME_UNKNOWN_'
# Longest wait in one piece [s].
WAIT_SLICE = 0.1


def are_different(nodes: list[str]) -> bool:
    """Whether these are several nodes for certain.

    A broadcaster that was killed is seen beside the one that was started in its place, which has
    the same name, until the middleware gives it up.
    """
    return len({node for node in nodes if UNKNOWN_NODE not in node}) > 1


class RobotReader(Hardware):
    """Reads joint states and device topics.

    `connect` waits for the robot's first state, so that controllers can be initialized with it.
    `read` belongs to the loop thread, all other methods to others.

    Attributes:
        body: the robot, whose state is refreshed.
        parameters: the options.
        time_step: period of a tick [s].
        time: time of the last state [s], 0 at the start, continuous when the clock jumps.
        dt: time between the last two states [s].
        arrival: when the last fresh state came, steady clock [s].
        is_fresh: whether the last read has found a fresh state.
        is_due: whether controllers are to be called for the last read: not where it only gave up
            waiting for a state.
        state_timeout: longest wait for a fresh state before the watchdog is asked [s].
        readers: the device topics.
        opening: what is in use; None before something is.
        watchdog: told of every state and device message; None for nobody.
        while_waiting: called now and then while no state comes, in the loop thread.
        warn: takes a sentence about something unusual, perhaps often; by default it is logged.
        is_halted: whether `halt` was called: the robot is about to be let go.
    """

    is_simulated = False
    feeds_watchdog = True

    def __init__(
        self, body: Body, parameters: Ros2ControlParameters, time_step: float, node: Node
    ) -> None:
        """Prepare; nothing is subscribed yet.

        Args:
            body: the robot.
            parameters: its options.
            time_step: period of a tick [s].
            node: node that subscribes.
        """
        self.body = body
        self.parameters = parameters
        self.time_step = time_step
        self.time = 0.0
        self.dt = time_step
        self.arrival = time.monotonic()
        self.is_fresh = False
        self.is_due = True
        # In lock-step the robot's time stands still while it waits: only a dead one is late.
        self.state_timeout = (
            parameters.startup_timeout if parameters.lock_step else parameters.state_timeout
        )
        self.readers: tuple[TopicReader, ...] = ()
        self.opening: ResolvedIO | None = None
        self.waits_for_commands = parameters.lock_step
        self.while_waiting: Callable[[], None] = lambda: None
        self.warn: Callable[[str], None] = self._log_warning
        self.node = node
        self.joints = [joint for joint in body.joints if joint.name]
        self.topic = node.resolve_topic_name(parameters.joint_states)
        self._ids = np.array([joint.joint_id for joint in self.joints], np.intp)
        # A slice is quicker than the same indices in an array.
        self._all: slice | np.ndarray = (
            slice(None) if len(self.joints) == body.num_joints else self._ids
        )
        self._watches = {device.name: f'device_age:{device.name}' for device in body.devices}
        self._source: JointStateSource | None = None
        self._q_before = body.q.copy()
        self._by_timer = parameters.trigger == 'timer'
        self._decimation = parameters.decimation
        self._lock_step = parameters.lock_step
        self._next_tick = 0.0
        self._passed_over = 0
        self.is_halted = False

    @property
    def source(self) -> JointStateSource:
        """The joint states; after `connect`."""
        assert self._source is not None
        return self._source

    @property
    def stamp(self) -> int:
        """Stamp of the last state [ns]."""
        return self.source.stamp

    @property
    def state_age(self) -> float:
        """Time since the last fresh state came, steady clock [s]."""
        return time.monotonic() - self.arrival

    @property
    def device_ages(self) -> dict[str, float]:
        """Time since each device's last usable message came, steady clock [s]."""
        ages: dict[str, float] = {}
        for reader in self.readers:
            if isinstance(reader, DeviceReader):
                ages.update(reader.ages())
        return ages

    # --- before the loop ----------------------------------------------------------------------

    def connect(self) -> None:
        """Subscribe the joint states and wait for the first one.

        It knows the positions of all joints, or of some where none comes that knows all.

        Raises:
            NoJointStates: there was none in time; the message says what came instead.
            MultiplePublishers: the states come from several nodes.
            WrongTopicType: the topic carries something else.
        """
        from sensor_msgs.msg import JointState

        given = self.parameters
        found = dict(self.node.get_topic_names_and_types()).get(self.topic, [])
        if found and JOINT_STATE_TYPE not in found:
            raise WrongTopicType('joint states', self.topic, found, [JOINT_STATE_TYPE])
        if self._source is None:
            qos = LOCK_STEP_QOS if given.lock_step else STATE_QOS
            inbox = open_subscription(
                self.node, JointState, given.joint_states, qos, given.public_calls
            )
            self._source = JointStateSource(
                inbox,
                [joint.joint_name for joint in self.joints],
                self.time_step / given.decimation,
                given.max_jump,
                self.warn,
                given.repetition_time,
            )
        self.source.need(np.arange(len(self.joints)))
        self.refresh()

    def refresh(self) -> None:
        """Wait for a state from now on and take it over.

        Raises:
            NoJointStates: there was none in time.
            MultiplePublishers: the states come from several nodes.
        """
        source, given = self.source, self.parameters
        self.is_halted = False
        source.problem = ''
        source.restart()
        begin = time.monotonic()
        while not source.poll():
            waited = time.monotonic() - begin
            known = np.isfinite(source.decoder.position)
            if self.opening is None and known.any() and waited > COMPLETE_TIMEOUT:
                self.warn(f'{self.topic}: {source.problem}')
                break
            if waited > given.startup_timeout or not self.node.context.ok():
                raise NoJointStates(self.topic, given.startup_timeout, self._why_none())
            source.inbox.wait(0.05)
        self._check_publishers()
        self._take_first()

    def _why_none(self) -> str:
        if not self.node.context.ok():
            return 'the node is to end'
        if self.source.problem:
            return self.source.problem
        if self.node.count_publishers(self.topic):
            return 'nothing was received'
        return 'nobody publishes it'

    def _take_first(self) -> None:
        body, decoder = self.body, self.source.decoder
        known = np.isfinite(decoder.position)
        body.q[self._ids[known]] = decoder.position[known]
        body.dq[self._ids] = np.nan_to_num(decoder.velocity, posinf=0.0, neginf=0.0)
        self._q_before[:] = body.q
        self.time = 0.0
        self.arrival = time.monotonic()
        # A robot that waits for its first command shows the same state again: it is the first.
        self.source.restart()

    def publishers(self) -> list[str]:
        """Names of the nodes that publish the joint states, sorted, one for each publisher."""
        return sorted(
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for info in self.node.get_publishers_info_by_topic(self.topic)
        )

    def _check_publishers(self) -> None:
        deadline = time.monotonic() + self.parameters.startup_timeout
        while len(nodes := self.publishers()) > 1:
            if are_different(nodes) or time.monotonic() > deadline or not self.node.context.ok():
                raise MultiplePublishers(self.topic, nodes)
            time.sleep(WAIT_SLICE)

    def use(self, opening: ResolvedIO) -> None:
        """Read what was found for other controllers from now on."""
        self.opening = opening
        self.source.need(opening.needed)
        self.readers = opening.readers

    # --- the loop -----------------------------------------------------------------------------

    def read(self) -> bool:
        """Wait for the next state, or for the time after which the watchdog must be asked.

        Returns:
            False when the context is gone, or `halt` was called.
        """
        is_fresh = self._wait_for_timer() if self._by_timer else self._wait_for_state()
        self.is_fresh = is_fresh
        self.is_due = is_fresh or self._by_timer
        if self.source.contested:
            self._report_contest()
        if is_fresh:
            self._take_state()
        elif self._has_ended():
            return False
        else:
            self._poll_devices()
        return True

    def _report_contest(self) -> None:
        self.source.contested = False
        if self.watchdog is not None:
            self.watchdog.publishers_found(self.topic, 2)

    def halt(self) -> None:
        """Wait for no state any more, until `refresh`; from another thread."""
        self.is_halted = True
        if self._source is not None:
            self._source.inbox.wake()

    def _has_ended(self) -> bool:
        return self.is_halted or not self.node.context.ok()

    def _wait_for_state(self) -> bool:
        source = self.source
        deadline = 0.0
        while True:
            if source.poll_one():
                self._passed_over += 1
                if self._passed_over >= self._decimation:
                    self._passed_over = 0
                    return True
                continue
            now = time.monotonic()
            if deadline == 0.0:
                # Once it is late, look again each period: the safe command must go on.
                is_late = now - self.arrival > self.state_timeout
                deadline = now + (self.time_step if is_late else self.state_timeout)
            elif now >= deadline or self._has_ended():
                return False
            if now - self.arrival > WAIT_SLICE:
                self._waited()
            source.inbox.wait(min(deadline - now, WAIT_SLICE))

    def _waited(self) -> None:
        """Do what is done now and then while no state comes."""
        self.while_waiting()

    def _wait_for_timer(self) -> bool:
        now = time.monotonic()
        self._next_tick += self.time_step
        if now > self._next_tick + self.time_step or self._next_tick > now + self.time_step:
            # The first tick, or one that is too late to be caught up with.
            self._next_tick = now + self.time_step
        if self._next_tick - now > SPIN_TIME:
            time.sleep(self._next_tick - now - SPIN_TIME)
        while time.monotonic() < self._next_tick:
            pass
        return self.source.poll()

    def _take_state(self) -> None:
        body, source, opening = self.body, self.source, self.opening
        assert opening is not None
        decoder = source.decoder
        self.arrival = time.monotonic()
        self.dt = source.time - self.time if source.time > self.time else self.time_step
        self.time = source.time
        if self._lock_step:
            self._wait_for_devices()
        else:
            self._poll_devices()
        position, velocity, effort = decoder.position, decoder.velocity, decoder.effort
        ids, known = self._all, opening.known
        if known is not None:
            ids = self._ids[known]
            position, velocity, effort = position[known], velocity[known], effort[known]
        body.q[ids] = position
        # A sum is finite only where all are: cheaper than looking at each.
        if opening.velocity_by_difference or not math.isfinite(velocity.dot(velocity)):
            np.subtract(body.q, self._q_before, out=body.dq)
            body.dq /= self.dt
        else:
            body.dq[ids] = velocity
        self._q_before[:] = body.q
        if opening.reads_effort and math.isfinite(effort.dot(effort)):
            body.u[ids] = effort
        if opening.runs_kinematics:
            body.calc_forward_kinematics(velocity=True)
        if self.watchdog is not None:
            self.watchdog.feed('state_age')
            self.watchdog.state_stamped(source.stamp * 1e-9)

    def _poll_devices(self) -> None:
        for reader in self.readers:
            reader.poll()

    def _wait_for_devices(self) -> None:
        for reader in self.readers:
            if getattr(reader, 'is_large', False):
                reader.poll()
            elif not reader.wait_for(self.stamp, SAME_STAMP_TIMEOUT):
                self.warn(f'{reader.topic}: no message for the stamp of the joint states')

    def device_received(self, name: str) -> None:
        """Take note that a device has got a usable message."""
        if self.watchdog is not None:
            self.watchdog.feed(self._watches[name])

    def _log_warning(self, text: str) -> None:
        if self.node.context.ok():
            self.node.get_logger().warning(text, throttle_duration_sec=1.0)
