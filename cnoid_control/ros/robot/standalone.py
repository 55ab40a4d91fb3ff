"""A run through ros2_control without the control node."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TextIO

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from cnoid_control.body import Body
from cnoid_control.ros.robot.hardware import Ros2ControlHardware
from cnoid_control.ros.robot.parameters import Ros2ControlParameters
from cnoid_control.runtime.assembly import fallback_maker, make_controllers, make_robot
from cnoid_control.runtime.config import RunConfig
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.guarded_loop import GuardedLoop
from cnoid_control.runtime.loop import RunOutcome
from cnoid_control.runtime.realtime import GcPause
from cnoid_control.runtime.safety.limits import CommandLimiter
from cnoid_control.runtime.safety.safe_state import SafeState
from cnoid_control.runtime.safety.watchdog import Watchdog
from cnoid_control.runtime.trace import TickTrace


class StandaloneHardware(Ros2ControlHardware):
    """The robot's topics, reached through a node of their own."""

    def __init__(
        self,
        body: Body,
        parameters: Ros2ControlParameters,
        time_step: float,
        device_topics: dict[str, str] | None = None,
    ) -> None:
        """Make the node and wait for the robot's first state.

        Args:
            body: the robot.
            parameters: options.
            time_step: period of a tick [s].
            device_topics: topics of the devices by name.

        Raises:
            HardwareError: the robot does not show itself.
        """
        self._context = Context()
        # Ctrl-C ends the run; the context must live until the robot was left safe.
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._own_node = Node('cnoid_control', context=self._context)
        super().__init__(body, parameters, time_step, self._own_node, device_topics)
        try:
            self.connect()
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        """Leave the robot safe, and ROS too."""
        super().close()
        if self._context.ok():
            self.node.destroy_node()
            rclpy.try_shutdown(context=self._context)


class StandaloneLoop(GuardedLoop):
    """The guarded loop of one run: it ends when the controllers have no more to do.

    When something goes wrong the robot is held in the safe state until the time is over or the
    run is stopped; the outcome says what it was.
    """

    hardware: StandaloneHardware

    def __init__(self, *parts: Any, **loop: Any) -> None:
        """Put the parts together; nothing is opened yet."""
        super().__init__(*parts, **loop)
        self._rest = GcPause()

    def open(self) -> None:
        """Bring the controllers and the robot to where the first tick can be taken."""
        super().open()
        hardware, guard = self.hardware, self.guard
        if hardware.parameters.lock_step:
            # The robot's time stands still while it waits: only a dead one is late.
            action = guard.parameters.state_action
            guard.watch_age('state_age', 'joint states', hardware.state_timeout, action)
        else:
            guard.watch_states()
            guard.watch_devices(self.host.request().devices)
        hardware.watchdog = guard
        guard.start()
        self.start_monitor()
        self._rest.begin()

    def step(self) -> bool:
        """Walk one tick; False when there is to be no other one."""
        return super().step() and not self.finished

    def run(self, duration: float = math.inf, real_time: bool = False) -> RunOutcome:
        """Run as any loop; the robot sets the pace.

        Args:
            duration: time to run for [s].
            real_time: of no effect, as it is always so.
        """
        outcome = super().run(duration, real_time=False)
        if self.safe_state.is_engaged and not self.finished:
            return replace(outcome, exit='failed', reason=self.safe_state.reason)
        return outcome

    def close(self) -> None:
        """Stop the controllers and leave the robot safe."""
        self._rest.end()
        self.stop_monitor()
        self.guard.stop()
        super().close()


def make_standalone_loop(
    config: RunConfig, os: TextIO, detailed_trace: bool = False
) -> StandaloneLoop:
    """The loop of a configuration on the robot that shows itself in ROS.

    Args:
        config: the configuration.
        os: stream for messages.
        detailed_trace: whether the trace holds what plots need.

    Raises:
        CnoidControlError: the configuration is wrong, or the robot does not show itself.
    """
    given = config.parameters
    controllers = make_controllers(config)
    body = make_robot(given.robot, config.folder)
    hardware = StandaloneHardware(
        body, config.hardware_parameters, config.time_step, given.devices
    )
    try:
        return StandaloneLoop(
            hardware,
            ControllerHost(controllers, body, config.time_step, os, given.strict),
            Watchdog(given.watchdog, lambda trip: print(f'warning: {trip.message}', file=os)),
            SafeState(
                body,
                given.safe_state,
                config.time_step,
                lambda reason: print(f'error: safe state: {reason}', file=os),
            ),
            CommandLimiter(body, given.limits, config.time_step),
            make_fallback=fallback_maker(config, body, os),
            trace=TickTrace(body, detailed_trace),
            active_control_only=given.active_control_only,
        )
    except Exception:
        hardware.close()
        raise
