"""Session: everything that exists between configure and cleanup."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from rclpy.node import Node

from cnoid_control.ros.exceptions import RosError
from cnoid_control.ros.node.command_echo import CommandEcho
from cnoid_control.ros.node.endpoint_watch import EndpointWatch
from cnoid_control.ros.node.log import NodeLog
from cnoid_control.ros.node.loop_statistics import LoopStatistics
from cnoid_control.ros.node.parameters import NodeParameters
from cnoid_control.ros.node.robot_model import find_robot
from cnoid_control.ros.node.session_loop import SessionLoop
from cnoid_control.ros.node.simulation_reset import put_back
from cnoid_control.ros.node.supervisor import Supervisor
from cnoid_control.ros.robot.hardware import RobotCallbacks, Ros2ControlHardware
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.runtime.build import LoopReports, make_controllers, make_loop
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.hot_swap import HotSwap
from cnoid_control.runtime.safety.watchdog import REQUESTS, Trip
from cnoid_control.runtime.succession import Succession


class ControlSession:
    """The robot, its controllers and the loop, led through the node's life cycle.

    Attributes:
        body: the robot.
        hardware: its topics.
        log: the node's log.
        watchdog: the watchdog.
        safe_state: the safe state.
        limiter: the limits.
        loop: the loop; `loop.host` are the controllers that have the robot.
        runner: the loop's thread.
        statistics: how regularly the loop ticks.
        operation: what can be asked of the controllers while it runs.
        is_dry_run: whether nothing is sent to the robot.
    """

    def __init__(
        self,
        node: Node,
        supervision: SupervisionNode,
        config: RunConfig,
        parameters: NodeParameters,
        ended: Callable[[], None],
    ) -> None:
        """Wait for the robot, then configure and initialize the controllers.

        Args:
            node: the node.
            supervision: the node beside it, which calls and hears controller_manager.
            config: the configuration of the run.
            parameters: the node's own options.
            ended: called in the loop's thread when that ends without having been asked to.

        Raises:
            CnoidControlError: something is missing or wrong; nothing is left behind.
        """
        self._config = config
        self._is_activated = False
        self.is_dry_run = bool(config.hardware['ros2_control'].dry_run)
        self.body = find_robot(node, config, parameters)
        self.log = NodeLog(node)
        os: TextIO = self.log  # type: ignore[assignment]
        given = config.parameters
        self.hardware = Ros2ControlHardware(
            self.body,
            config.hardware['ros2_control'],
            config.time_step,
            node,
            supervision,
            given.devices,
            RobotCallbacks(
                warn=self.log.warning,
                while_waiting=lambda: self._echo.repeat(),
                is_stopped=lambda: self.safe_state.is_estop,
                limits=lambda: self.limiter.limits,
            ),
        )
        try:
            self.hardware.connect()
            self.loop = make_loop(
                config,
                self.hardware,
                reports=LoopReports(os, self._report, self._report_safe_state),
                watches_subscribers=not self.is_dry_run,
                watches_clock=True,
            )
            # Nobody draws or sums up the ticks of a node.
            self.loop.trace = None
            self.watchdog = self.loop.watchdog
            self.safe_state = self.loop.safe_state
            self.limiter = self.loop.limiter
            host = self.loop.host
            host.configure()
            self._initialize()
        except Exception:
            self.hardware.close()
            self.log.finish()
            raise
        self.statistics = LoopStatistics(config.time_step)
        self._echo = CommandEcho(node, self.hardware)
        # In lock-step a robot waits, and so may somebody who reads what answers each state, before
        # a look has found that they listen.
        echo = None if self.hardware.waits_for_commands else self._echo
        self._endpoints = EndpointWatch(node, self.hardware, self.watchdog, supervision, echo)
        self.runner = SessionLoop(self.loop, self.hardware, self._after_tick, self._leave, ended)
        swapper = HotSwap(self.loop, parameters.swap_blend_time, given.safe_state)
        self.operation = Supervisor(config, self.loop, self.hardware, self.runner, swapper)
        operation = self.operation
        Succession(self.loop, swapper, lambda: operation.config, operation.note_successor)
        if parameters.simulation_reset:
            service = parameters.simulation_reset
            self.operation.put_back = lambda: put_back(node, supervision, self.hardware, service)
        for note in self.limiter.limits.notes:
            node.get_logger().warning(note)

    def _initialize(self) -> None:
        request = self.loop.host.initialize()
        self.hardware.find(request)
        self._is_initialized = True

    def _replace_host(self) -> None:
        """Make fresh controllers in the place of some that have not returned."""
        config, old = self.operation.config, self.loop.host
        host = ControllerHost(
            make_controllers(config), self.body, config.time_step, old.os, old.strict
        )
        host.configure()
        self.loop.host = host
        self.operation.config = config
        self._is_initialized = False

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
        with self.runner.starting():
            self._activate()

    def _activate(self) -> None:
        before = self.body.q.copy()
        # One that was offered when the robot had just been left.
        self.loop.abort_transition()
        self.hardware.refresh()
        if self.loop.host.is_abandoned:
            self._replace_host()
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
        self.loop.start_watchdog()
        if self.is_dry_run:
            topics = ', '.join(one.topic for one in self.hardware.command_publishers)
            self.log.warning(
                f'dry run: nothing is sent to {topics}; see ~/dry_run_commands and /diagnostics'
            )
        self._endpoints.start()
        self._is_activated = True
        self.runner.start()

    def halt(self) -> None:
        """Have the loop leave the robot safe and end; at once, from any thread."""
        self.runner.halt()

    def _after_tick(self, duration: float) -> None:
        """Publish the commands and note the duration [s] of a tick; in the loop's thread."""
        hardware = self.hardware
        self._echo.publish()
        if hardware.is_fresh:
            self.statistics.tick(hardware.arrival, duration, hardware.dt)
            self.watchdog.tick_took(duration, hardware.time_step)
        self._endpoints.after_tick()

    def _leave(self) -> None:
        """Leave the robot safe, and say that this is the end; in the loop's thread."""
        self.hardware.send_safe_command()
        self._echo.end()

    def deactivate(self) -> None:
        """End the loop, stop the controllers, leave the robot safe."""
        self._is_activated = False
        self.runner.stop()
        if self.runner.is_running:
            # Two threads on the robot would be worse: it is left to the heartbeat monitor.
            raise RosError("the loop's thread does not return from the robot")
        self._endpoints.stop()
        self.watchdog.stop()
        self._is_initialized = False
        # One that comes up later must not find the robot when the node is active again.
        if self.loop.succession is not None:
            self.loop.succession.cancel()
        self.loop.abort_transition()
        try:
            # Before stop() of the controllers, which may take its time; and again, for a
            # controller may keep the loop's thread.
            self._leave()
            self._echo.flush()
            self.hardware.deactivate()
        finally:
            self.loop.host.stop()

    def close(self) -> None:
        """Deactivate where needed, undo configure and unsubscribe."""
        try:
            if self._is_activated:
                self.deactivate()
            self.loop.host.end()
        finally:
            if not self.runner.is_running:
                self._endpoints.stop()
                self._echo.close()
                self.hardware.close()
            self.log.finish()

    def _report_safe_state(self, reason: str) -> None:
        write = self.log.error
        if self.safe_state.is_expected:
            write = self.log.info
        elif self.watchdog.finds(*REQUESTS):
            write = self.log.warning
        write(f'safe state: {reason}')

    def _report(self, trip: Trip) -> None:
        if trip.watch in REQUESTS:
            # The safe state tells of it.
            return
        write = self.log.warning if trip.action == 'warn' else self.log.error
        write(f'{trip.watch}: {trip.message}')
