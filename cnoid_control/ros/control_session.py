"""Everything that exists from the node's configuration to its clean-up."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from rclpy.node import Node

from cnoid_control.body import Body, JointType
from cnoid_control.body.urdf_loader import parse_urdf
from cnoid_control.parameters import parse_parameters
from cnoid_control.parameters.exceptions import MissingParameter
from cnoid_control.plugin.mailbox import Mailbox
from cnoid_control.ros.command_monitor import CommandMonitor
from cnoid_control.ros.exceptions import NotActive, NotWell
from cnoid_control.ros.loop_runner import LoopRunner
from cnoid_control.ros.node_log import NodeLog
from cnoid_control.ros.node_parameters import NodeParameters
from cnoid_control.ros.robot_description import wait_for_robot_description
from cnoid_control.ros.ros2_control_hardware import Ros2ControlHardware
from cnoid_control.runtime.assembly import (
    fallback_maker,
    make_controllers,
    make_robot,
    place_robot,
)
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.guarded_loop import GuardedLoop
from cnoid_control.runtime.host import ControllerHost
from cnoid_control.runtime.hosted_controller import HostedController
from cnoid_control.runtime.limits import CommandLimiter
from cnoid_control.runtime.safe_state import SafeState
from cnoid_control.runtime.swap import HotSwap
from cnoid_control.runtime.watchdog import Trip, Watchdog, WatchdogParameters

PAUSED = 'paused'
# Longest wait for the tick in which a stop is taken, and time between two looks for it [s].
STOP_TIMEOUT = 2.0
STOP_POLL = 0.001


class ControlSession:
    """The robot, its controllers and the loop, led through the node's life cycle.

    Attributes:
        config: the configuration.
        body: the robot.
        hardware: its topics.
        log: the node's log.
        guard: the watchdog.
        safe_state: the safe state.
        limiter: the limits.
        loop: the loop; `loop.host` are the controllers that have the robot.
        runner: the loop's thread; None before the first activation.
    """

    def __init__(
        self,
        node: Node,
        config: RunConfig,
        parameters: NodeParameters,
        ended: Callable[[], None],
    ) -> None:
        """Wait for the robot, then configure and initialize the controllers.

        Args:
            node: the node.
            config: the configuration of the run.
            parameters: the node's own options.
            ended: called in the loop's thread when that ends without having been asked to.

        Raises:
            CnoidControlError: something is missing or wrong; nothing is left behind.
        """
        self.config = config
        self.runner: LoopRunner | None = None
        self._is_activated = False
        self._node = node
        self._ended = ended
        self.body = self._load_robot(parameters)
        self.log = NodeLog(node)
        self._os: TextIO = self.log  # type: ignore[assignment]
        given = config.parameters
        self.hardware = Ros2ControlHardware(
            self.body, config.hardware['ros2_control'], config.time_step, node, given.devices
        )
        self.hardware.warn = self.log.often
        try:
            self.hardware.connect()
            self.guard = Watchdog(self._watchdog_parameters(), self._report)
            self.safe_state = SafeState(
                self.body, given.safe_state, config.time_step, self._report_safe_state
            )
            host = ControllerHost(make_controllers(config), self.body, config.time_step, self._os)
            self.limiter = CommandLimiter(self.body, given.limits, config.time_step)
            self.loop = GuardedLoop(
                self.hardware,
                host,
                self.guard,
                self.safe_state,
                self.limiter,
                make_fallback=fallback_maker(config, self.body, self._os),
                active_control_only=given.active_control_only,
            )
            host.configure()
            self._initialize()
        except Exception:
            self.hardware.close()
            self.log.finish()
            raise
        self.swapper = HotSwap(
            self.loop, parameters.swap_time, given.safe_state, self._watch_devices
        )
        self.monitor = CommandMonitor(node, self.hardware, self.guard)
        for note in self.limiter.limits.notes:
            node.get_logger().warning(note)

    def _watchdog_parameters(self) -> WatchdogParameters:
        """As configured; in lock-step control() has all the time that the robot waits."""
        given = self.config.parameters.watchdog
        if not self.hardware.parameters.lock_step:
            return given
        patience = max(given.control_time, self.hardware.state_timeout)
        return dataclasses.replace(given, control_time=patience)

    def _load_robot(self, parameters: NodeParameters) -> Body:
        robot = self.config.parameters.robot
        text = parameters.robot_description
        source = 'parameter robot_description'
        if not text and robot.model:
            return make_robot(robot, self.config.folder)
        if not text:
            source = f'topic {parameters.robot_description_topic}'
            self._node.get_logger().info(f'waiting for {source}')
            text = wait_for_robot_description(
                self._node,
                parameters.robot_description_topic,
                parameters.robot_description_timeout,
            )
        root = JointType(robot.root) if robot.root else None
        body = Body(parse_urdf(text, source, root, self.config.folder), robot.name)
        place_robot(body, robot)
        return body

    def _initialize(self) -> None:
        request = self.loop.host.initialize()
        self.hardware.prepare(request)
        self._is_initialized = True

    # --- life cycle ---------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        """Whether the loop runs."""
        return self.runner is not None and self.runner.is_running

    def activate(self) -> None:
        """Start the controllers from the measured state, and the loop.

        Raises:
            CnoidControlError: something is missing or refused; the robot was not commanded.
        """
        before = self.body.q.copy()
        self.hardware.refresh()
        # A robot that has moved since, or has been controlled, begins anew.
        if not self._is_initialized or abs(self.body.q - before).max(initial=0.0) > 1e-3:
            self.loop.host.stop()
            self._initialize()
        self.limiter.restart()
        self.loop.host.start()
        try:
            self.hardware.activate()
        except Exception:
            self._is_initialized = False
            self.loop.host.stop()
            raise
        self.safe_state.reset()
        self.loop.failure = None
        self.loop.finished = False
        self._start_guard()
        self.monitor.start()
        self.runner = LoopRunner(
            self.loop, self.hardware, self.monitor.after_tick, self._leave, self._ended
        )
        self._is_activated = True
        self.runner.start()

    def _start_guard(self) -> None:
        guard, given = self.guard, self.config.parameters.watchdog
        guard.forget_watches()
        if self.hardware.parameters.lock_step:
            # The robot's time stands still while it waits: only a dead one is late, and one that
            # does not receive the commands sends no next state.
            patience = self.hardware.state_timeout
            guard.watch_age('state_age', 'joint states', patience, given.state_action)
        else:
            guard.watch_states()
            guard.watch_subscribers()
            self._watch_devices(self.loop.host)
        self.hardware.watchdog = self.guard
        self.guard.start()

    def _watch_devices(self, *hosts: ControllerHost) -> None:
        """Watch the devices that these controllers read; in lock-step they are waited for."""
        if not self.hardware.parameters.lock_step:
            requests = [host.request() for host in hosts]
            self.guard.watch_devices(set().union(*[one.devices for one in requests]))

    def halt(self) -> None:
        """Have the loop leave the robot safe and end; at once, from any thread."""
        if self.runner is not None:
            self.runner.halt()

    def _leave(self) -> None:
        """Leave the robot safe, and say that this is the end; in the loop's thread."""
        self.hardware.send_safe_command()
        self.monitor.end()

    def deactivate(self) -> None:
        """End the loop, stop the controllers, leave the robot safe."""
        self._is_activated = False
        if self.runner is not None:
            self.runner.stop()
        self.monitor.stop()
        self.guard.stop()
        self._is_initialized = False
        self.loop.abandon_transition()
        try:
            # Before stop() of the controllers, which may take its time; and again, for a
            # controller may keep the loop's thread.
            self._leave()
            self.monitor.flush()
            self.hardware.deactivate()
        finally:
            self.loop.host.stop()

    def close(self) -> None:
        """Deactivate where needed, undo configure and unsubscribe."""
        try:
            if self._is_activated:
                self.deactivate()
            self.loop.host.stop()
            self.loop.host.unconfigure()
        finally:
            self.monitor.close()
            self.hardware.close()
            self.log.finish()

    # --- while the loop runs ------------------------------------------------------------------

    @property
    def host(self) -> ControllerHost:
        """The controllers that have the robot, or are about to."""
        transition = self.loop.transition
        return self.loop.host if transition is None else transition.new

    def members(self) -> list[HostedController]:
        """The controllers and sub-controllers of `host`."""
        return [member for hosted in self.host.controllers for member in hosted.family()]

    def mailboxes(self) -> list[Mailbox[Any]]:
        """The mailboxes of the controllers that have the robot."""
        return [
            mailbox
            for member in self.members()
            if member.io is not None
            for mailbox in member.io.mailboxes.values()
        ]

    def pause(self) -> None:
        """Hold the robot and tell the controllers that they have a pause."""

        def pause() -> None:
            self.safe_state.enter(PAUSED, pause=True)
            self.loop.watched(self.loop.host.pause)

        self._demand_control()
        self._call(pause)

    def resume(self) -> None:
        """Let the controllers go on after a pause."""

        def resume() -> None:
            self.loop.watched(self.loop.host.resume)
            # Something may have gone wrong in the meantime.
            if self.safe_state.is_pause:
                self.safe_state.reset()

        self._demand_active()
        if not self.safe_state.is_pause:
            raise NotActive(f'there is no pause: {self.safe_state.reason or "it runs"}')
        self._call(resume)

    def stop(self, reason: str, estop: bool = False) -> None:
        """Enter the safe state; an emergency stop overrules everything."""
        self._demand_active()
        self.loop.request_safe_state(reason, estop)
        # The loop's thread may be held up by a controller: whoever ticks takes it.
        deadline = time.monotonic() + STOP_TIMEOUT
        while not (self.safe_state.is_estop if estop else self.safe_state.is_engaged):
            if time.monotonic() > deadline:
                raise NotActive(f'no tick was taken in {STOP_TIMEOUT:g} s')
            time.sleep(STOP_POLL)

    def reset(self) -> None:
        """Leave the safe state: fresh controllers take over from the measured state.

        Takers of commands that were deactivated in the meantime are activated again.

        Raises:
            CnoidControlError: they cannot; the safe state goes on.
        """
        self._demand_active()
        if not self.safe_state.is_engaged:
            return
        causes = self.guard.too_old()
        if causes:
            raise NotWell(causes)
        old = self.loop.host
        new = ControllerHost(
            make_controllers(self.config), self.body, self.config.time_step, self._os
        )
        try:
            new.configure()
            new.initialize(aside=True)
            new.start()
            # The takers of commands may have been deactivated, or be others now.
            self.hardware.prepare(new.request())
        except Exception:
            new.stop()
            new.unconfigure()
            raise

        def restart() -> None:
            self.hardware.open(new.request())
            self.loop.restart(new)

        self._call(restart)
        old.stop()
        old.unconfigure()

    def swap(self, config: RunConfig) -> None:
        """Have the controllers of another configuration take over.

        Raises:
            CnoidControlError: they cannot; the old ones go on.
        """
        self._demand_control()
        self.swapper.swap(make_controllers(config))
        self.config = config

    def update_options(self, name: str, options: Mapping[str, Any]) -> None:
        """Give a controller other options between two ticks.

        Raises:
            ParameterError: an option is wrong.
            Exception: the controller refuses them.
        """
        for member in self.members():
            if member.name == name:
                self._update(member, options)

    def _update(self, member: HostedController, options: Mapping[str, Any]) -> None:
        schema = type(member.controller).Parameters
        if schema is None:
            raise MissingParameter(f'{member.name}.Parameters')
        checked: Any = parse_parameters(schema, options, member.name)

        def update() -> None:
            member.controller.update_parameters(checked)
            member.parameters = checked

        self._call(lambda: self.loop.watched(update))

    def _call(self, function: Callable[[], None]) -> None:
        if self.runner is None:
            function()
        else:
            self.runner.call(function)

    def _demand_active(self) -> None:
        if not self.is_active:
            raise NotActive('the node is not active')

    def _demand_control(self) -> None:
        self._demand_active()
        if self.safe_state.is_engaged:
            raise NotActive(f'the robot is in the safe state: {self.safe_state.reason}')

    def _report_safe_state(self, reason: str) -> None:
        self.log.error(f'safe state: {reason}')

    def _report(self, trip: Trip) -> None:
        write = self.log.warning if trip.action == 'warn' else self.log.error
        write(f'{trip.watch}: {trip.message}')
