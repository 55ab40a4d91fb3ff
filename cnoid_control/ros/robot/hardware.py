"""A robot behind ros2_control, or behind anything with the same topics."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rclpy.node import Node

from cnoid_control.body import Body
from cnoid_control.body.channels import BY_INTERFACE, EFFORT
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.hardware import Hardware, IORequest
from cnoid_control.messages.devices import require_devices_of
from cnoid_control.parameters import not_allowed
from cnoid_control.ros.exceptions import RobotError
from cnoid_control.ros.raw_dds import CONTEXT_ERRORS, open_subscription
from cnoid_control.ros.robot.command_controllers import CommandControllers
from cnoid_control.ros.robot.command_publisher import STATES_UNTIL_OBEYED, JointCommandPublisher
from cnoid_control.ros.robot.computed_pid import ComputedPid
from cnoid_control.ros.robot.device_commands import DeviceCommands
from cnoid_control.ros.robot.device_readers import (
    LOCK_STEP_QOS,
    STATE_QOS,
    DeviceReader,
    TopicReader,
)
from cnoid_control.ros.robot.joint_states import (
    JointStateSource,
    require_one_publisher,
    require_sole_commander,
    require_topic_type,
    why_silent,
)
from cnoid_control.ros.robot.parameters import Ros2ControlParameters
from cnoid_control.ros.robot.resolved_io import ResolvedIO, resolve_io
from cnoid_control.ros.robot.shutdown_publisher import ShutdownPublisher
from cnoid_control.ros.robot.state_rate import (
    StateRate,
    is_agreed,
    require_rate,
    tell_wrong_rate,
)
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.ros.robot.switch_hold import SwitchHold
from cnoid_control.ros.waiting import Waiting
from cnoid_control.runtime.realtime import keep_interpreter, share_interpreter
from cnoid_control.runtime.safety.joint_limits import JointLimits, model_limits
from cnoid_control.runtime.safety.safe_command import write_final_command
from cnoid_control.runtime.safety.watchdog import JUMP_TIME, STATE_TIME, default_timeout

# Longest wait until the last command has been received [s].
FLUSH_TIMEOUT = 1.0
# Where no states come, a command is given so long [s], or so many periods, to be passed on.
OBEYED_TIMEOUT, OBEYED_PERIODS = 0.1, 5.0
# Time between two commands meanwhile [s].
OBEYED_POLL = 0.01
# How long a first state with all joints is waited for when there are some with a part of them [s].
COMPLETE_TIMEOUT = 2.0
# The last part of a timer's wait is spent awake: sleeping is not exact enough [s].
SPIN_TIME = 150e-6
# How long a device's message of the same stamp is waited for in lock-step [s].
SAME_STAMP_TIMEOUT = 0.5
# States without such a message from which on it counts as slower than the states, how many of
# them a state with one makes up for, and how long a slow one is waited for [s].
MISSED_STAMPS, FORGOTTEN_STAMPS, SLOW_TIMEOUT = 3.0, 0.1, 0.05
# Longest wait in one piece [s].
WAIT_SLICE = 0.1


@dataclass(frozen=True)
class RobotCallbacks:
    """What a robot's hardware tells and asks the loop's owner.

    Attributes:
        warn: takes a sentence about something unusual, perhaps often; logged where None.
        while_waiting: called now and then while no state arrives, in the loop thread.
        is_stopped: tells whether there is an emergency stop.
        limits: gives the limits of efforts and gains; the model's where None.
    """

    warn: Callable[[str], None] | None = None
    while_waiting: Callable[[], None] = lambda: None
    is_stopped: Callable[[], bool] = lambda: False
    limits: Callable[[], JointLimits] | None = None


class Ros2ControlHardware(Hardware):
    """Reads joint states and device topics, sends commands to forward controllers.

    `connect` waits for the robot's first state, so that controllers can be initialized with it.
    `open` finds everything that the controllers asked for. `read` and `write` belong to the loop
    thread, all other methods to others.

    Attributes:
        name: name of the kind.
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
        node: node that subscribes and publishes.
        joints: the joints that have names.
        topic: full name of the joint states' topic.
        device_topics: topics of the devices by name.
        readers: the device topics.
        resolved: what is in use; None before `open` or `prepare`.
        command_controllers: the controllers that receive commands.
        device_commands: publishes the devices that controllers change.
        switch_hold: commands the controllers that are being switched to.
        is_halted: whether `halt` was called: the run is about to end.
        is_muted: whether no commands are sent, see `mute`.
    """

    # What every tick looks up: quicker here, and so are methods where few attributes are left.
    __slots__ = (
        '_all',
        '_by_timer',
        '_pid',
        '_q_before',
        '_skipped_states',
        '_source',
        '_speaks_next',
        '_watches',
        'arrival',
        'body',
        'dt',
        'is_due',
        'is_fresh',
        'is_muted',
        'parameters',
        'readers',
        'resolved',
        'state_timeout',
        'switch_hold',
        'time',
        'time_step',
    )

    name = 'ros2_control'
    is_simulated = False
    feeds_watchdog = True

    def __init__(
        self,
        body: Body,
        parameters: Ros2ControlParameters,
        time_step: float,
        node: Node,
        supervision: SupervisionNode,
        device_topics: dict[str, str] | None = None,
        callbacks: RobotCallbacks | None = None,
    ) -> None:
        """Use a node; nothing is subscribed before `connect`.

        Args:
            body: the robot.
            parameters: its options.
            time_step: period of a tick [s].
            node: node that subscribes and publishes.
            supervision: calls controller_manager.
            device_topics: topics of the devices by name.
            callbacks: what the owner wants to know and to be asked.

        Raises:
            ParameterError: a topic is for a device that the robot does not have, or a dry run of
                a robot in lock-step is wanted.
        """
        if parameters.dry_run and parameters.lock_step:
            raise not_allowed(
                'hardware.ros2_control.dry_run',
                True,
                'a robot in lock-step waits for every command',
            )
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
            parameters.startup_timeout
            if parameters.lock_step
            else parameters.state_timeout or default_timeout(STATE_TIME, time_step)
        )
        self.waits_for_commands = parameters.lock_step
        self.node = node
        self.joints = [joint for joint in body.joints if joint.name]
        self.topic = node.resolve_topic_name(parameters.joint_states)
        self.device_topics = device_topics or {}
        require_devices_of(self.device_topics, body.devices)
        self.readers: tuple[TopicReader, ...] = ()
        self.resolved: ResolvedIO | None = None
        self.switch_hold = SwitchHold(body, time_step)
        self.is_halted = False
        self.is_muted = False
        self._speaks_next = False
        self._callbacks = callbacks or RobotCallbacks()
        self._model_limits = model_limits(body)
        self._pid = ComputedPid(body, self._limits, self.count_limited)
        # Whether gains that are commanded first have still to be looked at.
        self._checks_pid = False
        self._warn = self._callbacks.warn or self._log_warning
        self.command_controllers = CommandControllers(
            node, body, parameters, time_step, supervision
        )
        self._shutdown_publisher = (
            None if parameters.dry_run else ShutdownPublisher(node, parameters.controller_manager)
        )
        # What was in use before, and what `prepare` has found.
        self._before: ResolvedIO | None = None
        self._next: ResolvedIO | None = None
        self._is_active = False
        # Held while command controllers are switched: one that was switched on after the robot
        # was left would command for ever.
        self._switching = threading.Lock()
        self._closed = False
        self._ids = np.array([joint.joint_id for joint in self.joints], np.intp)
        # A slice is quicker than the same indices in an array.
        self._all: slice | np.ndarray = (
            slice(None) if len(self.joints) == body.num_joints else self._ids
        )
        self.device_commands = DeviceCommands(node, body, self._warn, parameters.dry_run)
        self._watches = {device.name: f'device_timeout:{device.name}' for device in body.devices}
        self._source: JointStateSource | None = None
        self._q_before = body.q.copy()
        self._velocity_before: np.ndarray | None = None
        self._acceleration = np.zeros(0)
        self._by_timer = parameters.trigger == 'timer'
        self._next_tick = 0.0
        self._skipped_states = 0

    def _limits(self) -> JointLimits:
        limits = self._callbacks.limits
        return limits() if limits is not None else self._model_limits

    @property
    def command_publishers(self) -> list[JointCommandPublisher]:
        """Publishers to the command controllers that are in use."""
        return self.resolved.command_publishers if self.resolved is not None else []

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
            RobotError: there was none in time, the states come from several nodes, or the topic
                carries something else; the message says which.
        """
        from sensor_msgs.msg import JointState

        given = self.parameters
        require_topic_type(self.node, self.topic)
        if self._source is None:
            qos = LOCK_STEP_QOS if given.lock_step else STATE_QOS
            subscription = open_subscription(
                self.node, JointState, given.joint_states, qos, given.public_calls
            )
            self._source = JointStateSource(
                subscription,
                [joint.joint_name for joint in self.joints],
                self.time_step / given.decimation,
                given.max_jump or default_timeout(JUMP_TIME, self.time_step),
                self._warn,
                given.repetition_time,
            )
        self.source.need(np.arange(len(self.joints)))
        self.refresh()

    def refresh(self) -> None:
        """Wait for a state from now on and take it over.

        Raises:
            RobotError: there was none in time, the states come from several nodes, or not at the
                agreed rate.
        """
        self.is_halted = False
        self._wait_for_first()
        require_one_publisher(self.node, self.topic, self.parameters.startup_timeout)
        given = self.parameters
        if self._by_timer or given.rate_check == 'ignore':
            pass
        elif require_rate(self.node, self.source.subscription, given, self.source.rate.agreed):
            # It took a while.
            self._wait_for_first()
        self._take_first()

    def _wait_for_first(self) -> None:
        source, given = self.source, self.parameters
        source.problem = ''
        source.restart()
        begin = time.monotonic()
        waiting = Waiting(self.node.get_logger().info)
        while not source.poll():
            waited = time.monotonic() - begin
            known = np.isfinite(source.decoder.position)
            if self.resolved is None and known.any() and waited > COMPLETE_TIMEOUT:
                self._warn(f'{self.topic}: {source.problem}')
                break
            if waited > given.startup_timeout or not self.node.context.ok():
                reason = source.problem or why_silent(self.node, self.topic)
                raise RobotError(
                    f'topic {self.topic!r}: no complete joint state in '
                    f'{given.startup_timeout:g} s: {reason}'
                )
            waiting.still(
                lambda: (
                    f'joint states on {self.topic!r}: '
                    f'{source.problem or why_silent(self.node, self.topic)}'
                )
            )
            source.subscription.wait(0.05)

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

    def open(self, request: IORequest) -> None:
        """Use what the controllers read and command, and have it switched on.

        What `prepare` has found, and what was in use before it, is taken at once: the loop's
        thread may do that.

        Raises:
            HardwareError: something is not there; the message names it.
        """
        for known in (self._next, self._before):
            if known is not None and known.request == request:
                self._before = self.resolved
                self.use(known)
                if known is not self._next:
                    threading.Thread(target=self._activate_late, args=(known,)).start()
                self._next = None
                return
        if self._source is None:
            self.connect()
        self.use(resolve_io(self, request))
        self.activate()

    def find(self, request: IORequest) -> None:
        """Find everything that the first controllers read and command, before `activate`.

        Raises:
            HardwareError: something is not there; the message names it.
        """
        found = resolve_io(self, request)
        self._advertise(found.command_publishers)
        self.use(found)

    def prepare(self, request: IORequest) -> bool:
        """Find everything that other controllers read and command; not in the loop's thread.

        New command controllers are activated, and hold the robot until `open` puts them to use.

        Raises:
            HardwareError: something is not there; the message names it. Or the robot was left
                meanwhile: nothing is activated then.
        """
        found = resolve_io(self, request)
        with self._switching:
            self._prepare(found)
        return True

    def _prepare(self, found: ResolvedIO) -> None:
        if not self._is_active or self.resolved is None:
            raise RobotError('the robot is not commanded any more')
        self._advertise(found.command_publishers)
        used = {publisher.name: publisher for publisher in self.command_publishers}
        for publisher in found.command_publishers:
            before = used.get(publisher.name, publisher)
            if before is not publisher:
                raise RobotError(
                    f'command controller {publisher.name!r} now has joints '
                    f'{", ".join(publisher.joints)} instead of {", ".join(before.joints)}: '
                    'deactivate the node and activate it again'
                )
        self._before = self.resolved
        new = [one for one in found.command_publishers if one.name not in used]
        self.switch_hold.begin(new, found.modes, self.resolved.modes, self._limits())
        self._next = found
        try:
            self.command_controllers.activate(found.command_publishers)
        except HardwareError:
            self._next = None
            self.switch_hold.end()
            raise
        # Until then the robot was stiff by itself; the old controllers go on commanding gains.
        by_effort = [found.modes.get(j.name) == EFFORT.flag for j in self.body.joints]
        lost = self.resolved.with_gains & np.array(by_effort, dtype=bool)
        if lost.any():
            self._compute_pid(self.resolved.computed | lost)

    def _compute_pid(self, joints: np.ndarray) -> None:
        """Compute the PID actuators of these joints from now on, and send their efforts."""
        self._pid.use(joints)
        self._pid.update(0.0)
        for publisher in self.command_publishers:
            if publisher.interface == EFFORT.interface:
                publisher.source = self._pid.efforts if joints.any() else self.body.u

    def activate(self) -> None:
        """Have the command controllers active, and no other one on their joints; confirmed.

        Raises:
            HardwareError: controller_manager did not do it, or another node commands the robot.
        """
        assert self.resolved is not None
        for publisher in () if self.parameters.dry_run else self.command_publishers:
            require_sole_commander(self.node, publisher.topic, self.parameters.startup_timeout)
        self._advertise(self.command_publishers)
        with self._switching:
            self.command_controllers.activate(self.resolved.command_publishers)
            self._is_active = True

    def _advertise(self, publishers: list[JointCommandPublisher]) -> None:
        """Be ready to send the safe command when the context is gone."""
        if self._shutdown_publisher is not None:
            self._shutdown_publisher.advertise(publishers)

    def _activate_late(self, resolved: ResolvedIO) -> None:
        try:
            with self._switching:
                if self._is_active:
                    self.command_controllers.activate(resolved.command_publishers)
        except HardwareError as error:
            self._warn(str(error))

    def use(self, resolved: ResolvedIO) -> None:
        """Read and command what was resolved for other controllers from now on."""
        before = self.command_publishers if self._is_active else []
        self.resolved = resolved
        self.source.need(resolved.needed)
        self.readers = resolved.readers
        if resolved.reads_acceleration:
            self._velocity_before = None
            self.node.get_logger().info(
                'accelerations are differences of velocities, filtered at '
                f'{self.parameters.acceleration_cutoff:g} Hz: joint states have none',
                once=True,
            )
        for publisher in resolved.command_publishers:
            channel = BY_INTERFACE[publisher.interface]
            commanded = {
                self.body.link(name).joint_name
                for name, mode in resolved.modes.items()
                if channel.serves(mode)
            }
            publisher.drive(commanded, goes_on=publisher in before)
        self._compute_pid(resolved.computed)
        self._checks_pid = True
        self.switch_hold.end()

    # --- the loop -----------------------------------------------------------------------------

    def read(self) -> bool:
        """Wait for the next state, or for the time after which the watchdog must be asked.

        Returns:
            False when the context is gone, or `halt` was called.
        """
        is_fresh = self._wait_for_timer() if self._by_timer else self._wait_for_state()
        self.is_fresh = is_fresh
        self.is_due = is_fresh or self._by_timer
        source = self._source
        assert source is not None
        if source.contested:
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
            self._source.subscription.wake()

    def mute(self) -> None:
        """Send no commands until `unmute`; from any thread."""
        self._speaks_next = False
        self.is_muted = True

    def unmute(self, with_next_state: bool = False) -> None:
        """Send commands again: at once, or with the next state; from any thread."""
        self._speaks_next = with_next_state
        self.is_muted = self.is_muted and with_next_state

    def expect_repetition(self) -> None:
        """Take the next state for a fresh one, though it has the stamp of the last; any thread.

        A simulated robot that was put back shows its state again until it gets a command.
        """
        self.source.expect_repetition()

    def _has_ended(self) -> bool:
        return self.is_halted or not self.node.context.ok()

    def _wait_for_state(self) -> bool:
        source = self._source
        assert source is not None
        deadline = 0.0
        while True:
            if source.poll_one():
                self._skipped_states += 1
                if self._skipped_states >= self.parameters.decimation:
                    self._skipped_states = 0
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
                self._keep_alive()
            share_interpreter()
            source.subscription.wait(min(deadline - now, WAIT_SLICE))
            keep_interpreter()

    def _keep_alive(self) -> None:
        """Repeat the last command: a robot that has missed it may be waiting for it."""
        if not self.parameters.lock_step:
            self.write()
        self._callbacks.while_waiting()

    def _wait_for_timer(self) -> bool:
        now = time.monotonic()
        self._next_tick += self.time_step
        if now > self._next_tick + self.time_step or self._next_tick > now + self.time_step:
            # The first tick, or one that is too late to be caught up with.
            self._next_tick = now + self.time_step
        if self._next_tick - now > SPIN_TIME:
            share_interpreter()
            time.sleep(self._next_tick - now - SPIN_TIME)
            keep_interpreter()
        while time.monotonic() < self._next_tick:
            pass
        return self.source.poll()

    def _take_state(self) -> None:
        body, source, resolved = self.body, self._source, self.resolved
        assert source is not None
        assert resolved is not None
        decoder = source.decoder
        self.arrival = time.monotonic()
        if self._speaks_next:
            self.unmute()
        self.dt = source.time - self.time if source.time > self.time else self.time_step
        self.time = source.time
        if self.waits_for_commands:
            self._wait_for_devices()
        else:
            self._poll_devices()
        position, velocity, effort = decoder.position, decoder.velocity, decoder.effort
        ids, known = self._all, resolved.known
        if known is not None:
            ids = self._ids[known]
            position, velocity, effort = position[known], velocity[known], effort[known]
        body.q[ids] = position
        # A sum is finite only where all are: cheaper than looking at each.
        if resolved.velocity_by_difference or not math.isfinite(velocity.dot(velocity)):
            np.subtract(body.q, self._q_before, out=body.dq)
            body.dq /= self.dt
        else:
            body.dq[ids] = velocity
        self._q_before[:] = body.q
        if resolved.reads_effort and math.isfinite(effort.dot(effort)):
            body.u[ids] = effort
        if resolved.reads_acceleration:
            self._differentiate()
        if resolved.runs_kinematics:
            body.calc_forward_kinematics(True, resolved.reads_acceleration)
        if self.watchdog is not None:
            self.watchdog.feed('state_timeout', self.arrival)
            self.watchdog.state_stamped(source.stamp * 1e-9)
            if source.has_new_rate and not self._by_timer:
                self._report_rate(source.rate)

    def _report_rate(self, rate: StateRate) -> None:
        if self.watchdog is not None and self.parameters.rate_check != 'ignore':
            agreed = is_agreed(rate.measured, rate.agreed)
            self.watchdog.rate_found('' if agreed else tell_wrong_rate(rate.measured, rate.agreed))

    def _differentiate(self) -> None:
        """Find accelerations of joints and root from their velocities, by filtered difference."""
        body, root = self.body, self.body.root_link
        velocity = np.concatenate((body.dq, *body.root_motion))
        before, self._velocity_before = self._velocity_before, velocity
        if before is None:
            self._acceleration = np.zeros(velocity.size)
            return
        # A low-pass filter of the first order.
        share = self.dt / (self.dt + 0.5 / (math.pi * self.parameters.acceleration_cutoff))
        self._acceleration += share * ((velocity - before) / self.dt - self._acceleration)
        body.ddq[:], root.dv, root.dw = np.split(self._acceleration, (-6, -3))

    def _poll_devices(self) -> None:
        for reader in self.readers:
            reader.poll()

    def _wait_for_devices(self) -> None:
        for reader in self.readers:
            if reader.has_own_rate:
                reader.poll()
                continue
            is_slow = reader.missed >= MISSED_STAMPS
            if reader.wait_for(self.stamp, SLOW_TIMEOUT if is_slow else SAME_STAMP_TIMEOUT):
                reader.missed = max(0.0, reader.missed - FORGOTTEN_STAMPS)
                continue
            reader.missed = min(reader.missed + 1.0, 2.0 * MISSED_STAMPS)
            self._warn(f'{reader.topic}: no message for the stamp of the joint states')
            if reader.missed >= MISSED_STAMPS and self.parameters.rate_check != 'ignore':
                self._report_slow(reader.topic)

    def _report_slow(self, topic: str) -> None:
        if self.watchdog is not None:
            self.watchdog.slow_device_found(
                f'{topic!r} has no message for every joint state, which lock-step needs: let it '
                'come at their rate (that of ~/root of cnoid_control_mujoco is root_rate)',
            )

    def device_received(self, name: str, now: float) -> None:
        """Take note that a device has got a usable message, on the steady clock [s]."""
        if self.watchdog is not None:
            self.watchdog.feed(self._watches[name], now)

    def write(self) -> None:
        """Send the commands in `body`."""
        if self.is_muted:
            return
        source, resolved = self._source, self.resolved
        if source is None or resolved is None:
            return
        stamp = source.stamp
        if self._pid.is_used:
            late = 0.0 if self.is_fresh else self.state_age - self.state_timeout
            self._pid.update(self.dt if self.is_fresh else 0.0, max(0.0, late))
            if self._checks_pid and self.body.kd.any():
                self._checks_pid = False
                self._warn_of_vibrations()
        for publisher in resolved.command_publishers:
            publisher.send(stamp)
        if resolved.has_wrenches:
            self._refuse_wrenches()
        if resolved.has_gains and self.body.ki.any():
            self._refuse_integrals(resolved.with_gains)
        if self.switch_hold.publishers:
            fresh = self.watchdog is None or self.watchdog.is_fresh('state_timeout')
            self.switch_hold.send(stamp, fresh, self._callbacks.is_stopped())

    def _refuse_wrenches(self) -> None:
        """Say that a robot takes no wrench, where a controller gives one."""
        pushed = np.flatnonzero(self.body.external_wrenches.any(axis=1))
        if pushed.size:
            names = ', '.join(self.body.links[index].name for index in pushed)
            self._warn(f'F_ext of {names} goes nowhere: a robot takes no wrench')

    def find_pid_limits(self) -> None:
        """Find what damping can be computed here; not in the loop's thread."""
        self._pid.find_kd_limit(self.time_step)

    def _warn_of_vibrations(self) -> None:
        """Say which joints have more damping than can be computed at this period."""
        told = [
            f'{self.body.joints[joint].joint_name} (kd {self.body.kd[joint]:.3g}, at most '
            f'{self._pid.kd_limit[joint]:.3g})'
            for joint in self._pid.vibrating()
        ]
        if told:
            self._warn(
                f'PD that is computed at {1.0 / self.time_step:g} Hz is too late for the damping '
                f'of {", ".join(told)}: lower it, raise `rate`, or have the robot do it by '
                'stiffness and damping interfaces'
            )

    def _refuse_integrals(self, joints: np.ndarray) -> None:
        """Say that the robot's own PID actuators take no integral gain, where one is given."""
        given = np.flatnonzero(joints & (self.body.ki != 0.0))
        if given.size:
            names = ', '.join(self.body.joints[joint].joint_name for joint in given)
            self._warn(
                f'ki of {names} goes nowhere: ros2_control has no interface for it; with '
                'hardware.ros2_control.joint_pid: effort it is computed here'
            )

    def _log_warning(self, text: str) -> None:
        if self.node.context.ok():
            self.node.get_logger().warning(text, throttle_duration_sec=1.0)

    # --- after the loop -----------------------------------------------------------------------

    def send_safe_command(self) -> None:
        """Send what leaves the robot safe: hold positions; no velocity, effort and stiffness."""
        write_final_command(self.body)
        np.fmin(self.body.kd, self._limits().kd_max, out=self.body.kd)
        # Damping that is computed here would be the same for ever, however the robot moves.
        self._compute_pid(np.zeros_like(self._pid.joints))
        if self.node.context.ok():
            self.write()
        elif self._shutdown_publisher is not None:
            self._shutdown_publisher.send(self.command_publishers)

    def deactivate(self) -> None:
        """Leave the robot safe and give its controllers back; it can be activated again."""
        if not self._is_active:
            return
        # At once: a switch that is under way may take a while.
        self.send_safe_command()
        with self._switching:
            if not self._is_active:
                return
            self._is_active = False
            # Once more, for those that were switched on meanwhile.
            self.send_safe_command()
            if self.node.context.ok():
                for publisher in self.command_publishers:
                    publisher.flush(FLUSH_TIMEOUT)
                self._wait_until_obeyed()
                self.command_controllers.release()
            elif self._shutdown_publisher is not None:
                manager = self.command_controllers.manager
                activated = manager.activated if manager is not None else []
                self._shutdown_publisher.stop(
                    self.command_publishers, activated, self.parameters.release_timeout
                )

    def _wait_until_obeyed(self) -> None:
        """Repeat the safe command until the command controllers must have passed it on.

        A manager deactivates before it updates: where the command and the switch come in one of
        its cycles, a controller never sees the command, and what was commanded last stays in
        force, a velocity among it.
        """
        manager = self.command_controllers.manager
        if manager is None or not manager.activated or self.parameters.lock_step:
            return
        deadline = time.monotonic() + max(
            OBEYED_TIMEOUT, OBEYED_PERIODS * max(self.time_step, self.dt)
        )
        states = 0
        while states < STATES_UNTIL_OBEYED and time.monotonic() < deadline:
            self.source.subscription.wait(OBEYED_POLL)
            while self.source.poll_one():
                states += 1
            self.write()

    def close(self) -> None:
        """Leave the robot safe, give its controllers back, and unsubscribe."""
        if self._closed:
            return
        self._closed = True
        steps: list[Callable[[], object]] = [self.deactivate]
        steps.append(self.device_commands.close)
        steps += [reader.close for reader in self.readers]
        if self._source is not None:
            steps.append(self._source.subscription.close)
        steps.append(self.command_controllers.close)
        if self._shutdown_publisher is not None:
            steps.append(self._shutdown_publisher.close)
        for step in steps:
            try:
                step()
            except CONTEXT_ERRORS:
                continue
