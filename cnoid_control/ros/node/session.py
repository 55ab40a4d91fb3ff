"""Session: everything that exists between configure and cleanup."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TextIO

from rclpy.node import Node

from cnoid_control.ros.node.command_monitor import CommandMonitor
from cnoid_control.ros.node.log import NodeLog
from cnoid_control.ros.node.loop_thread import LoopThread
from cnoid_control.ros.node.parameters import NodeParameters
from cnoid_control.ros.node.robot_model import find_robot
from cnoid_control.ros.node.supervisor import Supervisor
from cnoid_control.ros.robot.hardware import Ros2ControlHardware
from cnoid_control.runtime.assembly import (
    fallback_maker,
    make_controllers,
)
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.guarded_loop import GuardedLoop
from cnoid_control.runtime.safety.limits import CommandLimiter
from cnoid_control.runtime.safety.safe_state import SafeState
from cnoid_control.runtime.safety.watchdog import Trip, Watchdog, WatchdogParameters
from cnoid_control.runtime.swap import HotSwap


class ControlSession:
    """The robot, its controllers and the loop, led through the node's life cycle.

    Attributes:
        body: the robot.
        hardware: its topics.
        log: the node's log.
        guard: the watchdog.
        safe_state: the safe state.
        limiter: the limits.
        loop: the loop; `loop.host` are the controllers that have the robot.
        runner: the loop's thread.
        operation: what can be asked of the controllers while it runs.
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
        self._config = config
        self._is_activated = False
        self.body = find_robot(node, config, parameters)
        self.log = NodeLog(node)
        os: TextIO = self.log  # type: ignore[assignment]
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
            host = ControllerHost(make_controllers(config), self.body, config.time_step, os)
            self.limiter = CommandLimiter(self.body, given.limits, config.time_step)
            limits = self.limiter.limits
            self.hardware.switch_hold.effort_limits = limits.u_lower, limits.u_upper
            self.hardware.is_stopped = lambda: self.safe_state.is_estop
            self.loop = GuardedLoop(
                self.hardware,
                host,
                self.guard,
                self.safe_state,
                self.limiter,
                make_fallback=fallback_maker(config, self.body, os),
                active_control_only=given.active_control_only,
            )
            host.configure()
            self._initialize()
        except Exception:
            self.hardware.close()
            self.log.finish()
            raise
        self.monitor = CommandMonitor(node, self.hardware, self.guard)
        self.runner = LoopThread(
            self.loop, self.hardware, self.monitor.after_tick, self._leave, ended
        )
        swapper = HotSwap(
            self.loop, parameters.swap_blend_time, given.safe_state, self._watch_devices
        )
        self.operation = Supervisor(config, self.loop, self.hardware, self.runner, swapper)
        for note in self.limiter.limits.notes:
            node.get_logger().warning(note)

    def _watchdog_parameters(self) -> WatchdogParameters:
        """As configured; in lock-step control() has all the time that the robot waits."""
        given = self._config.parameters.watchdog
        if not self.hardware.parameters.lock_step:
            return given
        patience = max(given.control_time, self.hardware.state_timeout)
        return dataclasses.replace(given, control_time=patience)

    def _initialize(self) -> None:
        request = self.loop.host.initialize()
        self.hardware.prepare(request)
        self._is_initialized = True

    # --- life cycle ---------------------------------------------------------------------------

    @property
    def is_active(self) -> bool:
        """Whether the loop runs."""
        return self.runner.is_running

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
        self._is_activated = True
        self.runner.start()

    def _start_guard(self) -> None:
        guard, given = self.guard, self._config.parameters.watchdog
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
        self.runner.halt()

    def _leave(self) -> None:
        """Leave the robot safe, and say that this is the end; in the loop's thread."""
        self.hardware.send_safe_command()
        self.monitor.end()

    def deactivate(self) -> None:
        """End the loop, stop the controllers, leave the robot safe."""
        self._is_activated = False
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

    def _report_safe_state(self, reason: str) -> None:
        self.log.error(f'safe state: {reason}')

    def _report(self, trip: Trip) -> None:
        write = self.log.warning if trip.action == 'warn' else self.log.error
        write(f'{trip.watch}: {trip.message}')
