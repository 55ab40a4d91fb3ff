"""A robot behind ros2_control, or behind anything with the same topics."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node

from cnoid_control.body import Body, StateFlag
from cnoid_control.hardware.exceptions import HardwareError, UnsupportedChannel
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.ros.command_channels import CommandChannel
from cnoid_control.ros.command_plan import Commander
from cnoid_control.ros.device_readers import DeviceReader, open_readers
from cnoid_control.ros.exceptions import (
    MissingChannel,
    NoJointStates,
    TwoPublishers,
    WrongTopicType,
)
from cnoid_control.ros.fast_path import GONE, open_inbox
from cnoid_control.ros.joint_state_source import JointStateSource
from cnoid_control.ros.odometry_reader import OdometryReader
from cnoid_control.ros.opening import Opening
from cnoid_control.ros.ros2_control_parameters import Ros2ControlParameters
from cnoid_control.ros.service_caller import ServiceCaller
from cnoid_control.ros.stand_by import StandBy
from cnoid_control.ros.topic_reader import LOCK_STEP_QOS, STATE_QOS, TopicReader

JOINT_STATE_TYPE = 'sensor_msgs/msg/JointState'
# What comes with the joint states; of links, what kinematics find when the root is known.
JOINT_INPUTS = StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY | StateFlag.JOINT_EFFORT
LINK_INPUTS = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST
# The last part of a timer's wait is spent awake: sleeping is not exact enough [s].
AWAKE = 150e-6
FLUSH_TIMEOUT = 0.2
# Longest time without a sign of life while no state comes [s].
WAIT_SLICE = 0.01
# How long a device's message of the same stamp is waited for in lock-step [s].
SAME_STAMP_TIMEOUT = 0.5


class Ros2ControlHardware:
    """Reads joint states and device topics, sends commands to forward controllers.

    `connect` waits for the robot's first state, so that controllers can be initialized with it;
    `open` finds everything else that they asked for. `read` and `write` belong to the loop
    thread, all other methods to others.

    Attributes:
        name: name of the kind.
        body: the robot's state and the commands for it.
        time_step: period of a tick [s].
        time: time of the last state [s], 0 at the start, continuous when the clock jumps.
        dt: time between the last two states [s].
        arrival: when the last fresh state came, steady clock [s].
        is_fresh: whether the last read has found a fresh state.
        state_timeout: longest wait for a fresh state before the watchdog is asked [s].
        source: the joint states.
        readers: the device topics.
        commander: the takers of commands.
        watchdog: told of every state and device message; None for nobody.
        while_waiting: called now and then while no state comes, in the loop thread.
    """

    name = 'ros2_control'

    def __init__(
        self,
        body: Body,
        parameters: Ros2ControlParameters,
        time_step: float,
        node: Node,
        device_topics: dict[str, str] | None = None,
    ) -> None:
        """Prepare; nothing is subscribed yet.

        Args:
            body: the robot.
            parameters: its options.
            time_step: period of a tick [s].
            node: node that subscribes and publishes.
            device_topics: topics of the devices by name.
        """
        self.body = body
        self.time_step = time_step
        self.time = 0.0
        self.dt = time_step
        self.parameters = parameters
        self.readers: tuple[TopicReader, ...] = ()
        self.watchdog: Any = None
        self.while_waiting: Callable[[], None] = lambda: None
        self._node = node
        self._device_topics = device_topics or {}
        self._joints = [joint for joint in body.joints if joint.name]
        self._ids = np.array([joint.joint_id for joint in self._joints], np.intp)
        self._caller = ServiceCaller(node.get_name(), node.get_namespace(), node.context)
        self.commander = Commander(node, body, parameters, time_step, self._caller)
        # What is in use, what was before, and what `prepare` has found.
        self._opening: Opening | None = None
        self._before: Opening | None = None
        self._next: Opening | None = None
        self._is_active = False
        self._stand_by = StandBy(body, time_step)
        self._source: JointStateSource | None = None
        # In lock-step the robot's time stands still while it waits: only a dead one is late.
        self.state_timeout = (
            parameters.startup_timeout if parameters.lock_step else parameters.state_timeout
        )
        self._q_before = body.q.copy()
        self.arrival = time.monotonic()
        self.is_fresh = False
        self._next_tick = 0.0
        self._passed_over = 0
        self._closed = False

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
    def channels(self) -> list[CommandChannel]:
        """The takers of commands that are in use."""
        return self._opening.plan.channels if self._opening is not None else []

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
        """Subscribe the joint states and wait for the first that knows all joints' positions.

        Raises:
            NoJointStates: there was none in time; the message says what came instead.
            TwoPublishers: the states come from several nodes.
            WrongTopicType: the topic carries something else.
        """
        from sensor_msgs.msg import JointState

        given = self.parameters
        self._check_type('joint states', given.joint_states, JOINT_STATE_TYPE)
        if self._source is None:
            qos = LOCK_STEP_QOS if given.lock_step else STATE_QOS
            inbox = open_inbox(self._node, JointState, given.joint_states, qos, given.public_calls)
            self._source = JointStateSource(
                inbox,
                [joint.joint_name for joint in self._joints],
                self.time_step / given.decimation,
                given.max_jump,
                self._warn,
            )
        self.source.need(np.arange(len(self._joints)))
        self.refresh()

    def refresh(self) -> None:
        """Wait for a state from now on and take it over, with all velocities 0 where unknown.

        Raises:
            NoJointStates: there was none in time.
            TwoPublishers: the states come from several nodes.
        """
        given = self.parameters
        source = self.source
        topic = self._node.resolve_topic_name(given.joint_states)
        source.problem = ''
        source.restart()
        deadline = time.monotonic() + given.startup_timeout
        while not source.poll():
            if time.monotonic() > deadline or not self._node.context.ok():
                publishers = self._node.count_publishers(topic)
                reason = source.problem or (
                    'nothing was received' if publishers else 'nobody publishes it'
                )
                raise NoJointStates(topic, given.startup_timeout, reason)
            source.inbox.wait(0.05)
        self._check_publishers(topic)
        self.arrival = time.monotonic()
        decoder = source.decoder
        self.body.q[self._ids] = decoder.position
        self.body.dq[self._ids] = np.nan_to_num(decoder.velocity, nan=0.0)
        self._q_before[:] = self.body.q
        self.time = 0.0
        # A robot that waits for its first command shows the same state again: it is the first.
        source.restart()

    def open(self, request: IORequest) -> None:
        """Use what the controllers read and command, and have it switched on.

        What `prepare` has found, and what was in use before it, is taken at once: the loop's
        thread may do that.

        Raises:
            HardwareError: something is not there; the message names it.
        """
        for known in (self._next, self._before):
            if known is not None and known.request == request:
                self._before = self._opening
                self._use(known)
                if known is not self._next:
                    threading.Thread(target=self._activate_late, args=(known,)).start()
                self._next = None
                return
        if self._source is None:
            self.connect()
        self._use(self._find(request))
        self.activate()

    def prepare(self, request: IORequest) -> None:
        """Find everything that the controllers read and command; not in the loop's thread.

        While the robot is commanded already, the new takers of commands are activated too, and
        hold the robot until `open` puts them to use.

        Raises:
            HardwareError: something is not there; the message names it.
        """
        found = self._find(request)
        if not self._is_active or self._opening is None:
            self._use(found)
            return
        self._before = self._opening
        self._stand_by.begin(found.plan, self._opening.plan)
        self._next = found
        try:
            self.commander.activate(found.plan)
        except HardwareError:
            self._next = None
            self._stand_by.end()
            raise

    def activate(self) -> None:
        """Have the takers of the commands active, and no other one on their joints; confirmed.

        Raises:
            HardwareError: controller_manager did not do it.
        """
        assert self._opening is not None
        self.commander.activate(self._opening.plan)
        self._is_active = True

    def _activate_late(self, opening: Opening) -> None:
        try:
            self.commander.activate(opening.plan)
        except HardwareError as error:
            self._warn(str(error))

    def _use(self, opening: Opening) -> None:
        self._opening = opening
        self.source.need(opening.needed)
        self.readers = opening.readers
        self._stand_by.end()

    def _find(self, request: IORequest) -> Opening:
        index_of = {joint.name: i for i, joint in enumerate(self._joints)}
        known = JOINT_INPUTS
        if self.body.is_fixed_root or self.parameters.odometry:
            known |= LINK_INPUTS
        flags = StateFlag.NONE
        for name, asked in request.inputs.items():
            if asked & ~known:
                lacking = asked & ~known
                raise UnsupportedChannel(name, lacking.name or lacking, self.name, _names(known))
            flags |= asked
        asked_joints = {*request.inputs, *request.outputs} & set(index_of)
        needed = np.array(sorted(index_of[name] for name in asked_joints), np.intp)
        has_velocity = bool(np.isfinite(self.source.decoder.velocity[needed]).all())
        mode = self.parameters.velocity
        if mode == 'message' and flags & StateFlag.JOINT_VELOCITY:
            self._demand('velocity', needed)
        if flags & StateFlag.JOINT_EFFORT:
            self._demand('effort', needed)
        runs_kinematics = bool(flags & LINK_INPUTS)
        return Opening(
            request=request,
            needed=needed,
            velocity_by_difference=mode == 'difference' or not has_velocity,
            reads_effort=bool(flags & StateFlag.JOINT_EFFORT),
            runs_kinematics=runs_kinematics,
            readers=self._find_readers(request, runs_kinematics),
            plan=self.commander.plan(request),
        )

    def _demand(self, field: str, indices: np.ndarray) -> None:
        values = getattr(self.source.decoder, field)
        names = [self._joints[i].joint_name for i in indices if not np.isfinite(values[i])]
        if names:
            topic = self._node.resolve_topic_name(self.parameters.joint_states)
            raise MissingChannel(f'{field} of {", ".join(names)}', topic, 'does not have it')

    def _find_readers(self, request: IORequest, kinematics: bool) -> tuple[TopicReader, ...]:
        given = self.parameters
        lock_step, public = given.lock_step, given.public_calls
        here = set(self.device_ages)
        new: list[TopicReader] = [
            *open_readers(
                self._node,
                self.body,
                request.devices - here,
                self._device_topics,
                lock_step,
                public,
                self._device_received,
            )
        ]
        has_root = any(isinstance(reader, OdometryReader) for reader in self.readers)
        if kinematics and given.odometry and not has_root:
            new.append(OdometryReader(self._node, given.odometry, self.body, lock_step, public))
        deadline = time.monotonic() + given.startup_timeout
        for reader in new:
            if not reader.wait_for_good(deadline - time.monotonic()):
                problem = reader.problem
                for one in new:
                    one.close()
                raise MissingChannel(reader.what, reader.topic, problem)
        return (*self.readers, *new)

    def _check_type(self, what: str, topic: str, wanted: str) -> None:
        full = self._node.resolve_topic_name(topic)
        found = dict(self._node.get_topic_names_and_types()).get(full, [])
        if found and wanted not in found:
            raise WrongTopicType(what, full, found, [wanted])

    def _check_publishers(self, topic: str) -> None:
        nodes = [
            f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for info in self._node.get_publishers_info_by_topic(topic)
        ]
        if len(nodes) > 1:
            raise TwoPublishers(topic, sorted(nodes))

    # --- the loop -----------------------------------------------------------------------------

    def read(self) -> bool:
        """Wait for the next state, or for the time after which the watchdog must be asked.

        Returns:
            False when the context is gone.
        """
        if self.parameters.trigger == 'timer':
            fresh = self._wait_for_timer()
        else:
            fresh = self._wait_for_state()
        self.is_fresh = fresh
        if fresh:
            self._take_state()
        elif not self._node.context.ok():
            return False
        else:
            self._poll_devices()
        return True

    def _wait_for_state(self) -> bool:
        source = self.source
        # Once it is late, look again each period: the safe command must go on.
        is_late = self.state_age > self.state_timeout
        timeout = self.time_step if is_late else self.state_timeout
        deadline = time.monotonic() + timeout
        while True:
            if source.poll_one():
                self._passed_over += 1
                if self._passed_over >= self.parameters.decimation:
                    self._passed_over = 0
                    return True
                continue
            left = deadline - time.monotonic()
            if left <= 0.0 or not self._node.context.ok():
                return False
            source.inbox.wait(min(left, WAIT_SLICE))
            if time.monotonic() - self.arrival > WAIT_SLICE:
                self._send_again()

    def _send_again(self) -> None:
        """Repeat the last command: a robot that has missed it may be waiting for it."""
        if not self.parameters.lock_step:
            self.write()
        self.while_waiting()

    def _wait_for_timer(self) -> bool:
        now = time.monotonic()
        self._next_tick += self.time_step
        if now > self._next_tick + self.time_step or self._next_tick > now + self.time_step:
            # The first tick, or one that is too late to be caught up with.
            self._next_tick = now + self.time_step
        if self._next_tick - now > AWAKE:
            time.sleep(self._next_tick - now - AWAKE)
        while time.monotonic() < self._next_tick:
            pass
        return self.source.poll()

    def _take_state(self) -> None:
        body, source, ids = self.body, self.source, self._ids
        opening = self._opening
        decoder = source.decoder
        self.arrival = time.monotonic()
        self.dt = source.time - self.time if source.time > self.time else self.time_step
        self.time = source.time
        if self.parameters.lock_step:
            self._wait_for_devices()
        else:
            self._poll_devices()
        body.q[ids] = decoder.position
        assert opening is not None
        if opening.velocity_by_difference:
            np.subtract(body.q, self._q_before, out=body.dq)
            body.dq /= self.dt
            self._q_before[:] = body.q
        else:
            body.dq[ids] = decoder.velocity
        if opening.reads_effort:
            body.u[ids] = decoder.effort
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
                continue
            if not reader.wait_for(self.stamp, SAME_STAMP_TIMEOUT):
                self._warn(f'{reader.topic}: no message for the stamp of the joint states')

    def _device_received(self, name: str) -> None:
        if self.watchdog is not None:
            self.watchdog.feed(f'device_age:{name}')

    def write(self) -> None:
        """Send the commands in `body`."""
        stamp = self.source.stamp
        for channel in self.channels:
            channel.send(stamp)
        if self._stand_by.channels:
            self._stand_by.send(stamp)

    # --- around the loop ----------------------------------------------------------------------

    def wake(self) -> None:
        """End a wait for a state from another thread."""
        if self._source is not None:
            self._source.inbox.wake()

    def send_safe_command(self) -> None:
        """Send what leaves the robot safe: hold positions, no velocity, no effort."""
        body = self.body
        body.q_target[self._ids] = np.where(
            np.isfinite(body.q[self._ids]), body.q[self._ids], body.q_target[self._ids]
        )
        body.dq_target[:] = 0.0
        body.u[:] = 0.0
        self.write()
        for channel in self.channels:
            channel.flush(FLUSH_TIMEOUT)

    def deactivate(self) -> None:
        """Leave the robot safe and give its controllers back; it can be activated again."""
        if self._is_active:
            self._is_active = False
            self.send_safe_command()
            self.commander.release()

    def close(self) -> None:
        """Leave the robot safe, give its controllers back, and unsubscribe."""
        if self._closed:
            return
        self._closed = True
        steps: list[Callable[[], None]] = [self.deactivate]
        steps += [reader.close for reader in self.readers]
        if self._source is not None:
            steps.append(self._source.inbox.close)
        steps += [self.commander.close, self._caller.close]
        for step in steps:
            try:
                step()
            except GONE:
                continue

    def _warn(self, text: str) -> None:
        if self._node.context.ok():
            self._node.get_logger().warning(text, throttle_duration_sec=1.0)


def _names(flags: StateFlag) -> list[str]:
    return [str(flag.name) for flag in StateFlag if flag and flag in flags]
