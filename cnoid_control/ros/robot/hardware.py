"""A robot behind ros2_control, or behind anything with the same topics."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rclpy.node import Node

from cnoid_control.body import Body
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.ros.exceptions import JointOrderChanged
from cnoid_control.ros.raw_dds import CONTEXT_ERRORS
from cnoid_control.ros.robot.command_controllers import CommandControllers
from cnoid_control.ros.robot.command_publisher import JointCommandPublisher
from cnoid_control.ros.robot.controller_manager import ServiceCaller
from cnoid_control.ros.robot.parameters import Ros2ControlParameters
from cnoid_control.ros.robot.reader import RobotReader
from cnoid_control.ros.robot.resolve_io import OpeningFinder
from cnoid_control.ros.robot.resolved_io import ResolvedIO
from cnoid_control.ros.robot.shutdown_publisher import ShutdownPublisher
from cnoid_control.ros.robot.switch_hold import SwitchHold
from cnoid_control.runtime.safety.safe_command import write_final_command

# Longest wait until the last command has arrived everywhere [s].
FLUSH_TIMEOUT = 1.0


class Ros2ControlHardware(RobotReader):
    """Reads joint states and device topics, sends commands to forward controllers.

    `open` finds everything that the controllers asked for. `read` and `write` belong to the loop
    thread, all other methods to others.

    Attributes:
        name: name of the kind.
        command_controllers: the takers of commands.
        switch_hold: commands the takers that are being switched to.
        is_stopped: tells whether there is an emergency stop.
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
        super().__init__(body, parameters, time_step, node)
        self._caller = ServiceCaller(node.get_name(), node.get_namespace(), node.context)
        self.command_controllers = CommandControllers(
            node, body, parameters, time_step, self._caller
        )
        self._finder = OpeningFinder(self, self.command_controllers, device_topics or {})
        # What was in use before, and what `prepare` has found.
        self._before: ResolvedIO | None = None
        self._next: ResolvedIO | None = None
        self._is_active = False
        self.switch_hold = SwitchHold(body, time_step)
        self.is_stopped: Callable[[], bool] = lambda: False
        self._shutdown_publisher = ShutdownPublisher(node, parameters.controller_manager)
        self._closed = False

    @property
    def channels(self) -> list[JointCommandPublisher]:
        """The takers of commands that are in use."""
        return self.opening.plan.channels if self.opening is not None else []

    # --- before the loop ----------------------------------------------------------------------

    def open(self, request: IORequest) -> None:
        """Use what the controllers read and command, and have it switched on.

        What `prepare` has found, and what was in use before it, is taken at once: the loop's
        thread may do that.

        Raises:
            HardwareError: something is not there; the message names it.
        """
        for known in (self._next, self._before):
            if known is not None and known.request == request:
                self._before = self.opening
                self.use(known)
                if known is not self._next:
                    threading.Thread(target=self._activate_late, args=(known,)).start()
                self._next = None
                return
        if self._source is None:
            self.connect()
        self.use(self._finder.find(request))
        self.activate()

    def prepare(self, request: IORequest) -> bool:
        """Find everything that the controllers read and command; not in the loop's thread.

        While the robot is commanded already, the new takers of commands are activated too, and
        hold the robot until `open` puts them to use.

        Returns:
            Whether that is so.

        Raises:
            HardwareError: something is not there; the message names it.
        """
        found = self._finder.find(request)
        self._shutdown_publisher.switch_hold(found.plan.channels)
        if not self._is_active or self.opening is None:
            self.use(found)
            return False
        used = {channel.name: channel for channel in self.channels}
        for channel in found.plan.channels:
            before = used.get(channel.name, channel)
            if before is not channel:
                raise JointOrderChanged(channel.name, channel.joints, before.joints)
        self._before = self.opening
        self.switch_hold.begin(found.plan, self.opening.plan)
        self._next = found
        try:
            self.command_controllers.activate(found.plan)
        except HardwareError:
            self._next = None
            self.switch_hold.end()
            raise
        return True

    def activate(self) -> None:
        """Have the takers of the commands active, and no other one on their joints; confirmed.

        Raises:
            HardwareError: controller_manager did not do it.
        """
        assert self.opening is not None
        self._shutdown_publisher.switch_hold(self.channels)
        self.command_controllers.activate(self.opening.plan)
        self._is_active = True

    def _activate_late(self, opening: ResolvedIO) -> None:
        try:
            self.command_controllers.activate(opening.plan)
        except HardwareError as error:
            self.warn(str(error))

    def use(self, opening: ResolvedIO) -> None:
        """Read and command what was found for other controllers from now on."""
        before = self.channels if self._is_active else []
        super().use(opening)
        commanded = {self.body.link(name).joint_name for name in opening.request.outputs}
        for channel in opening.plan.channels:
            channel.drive(commanded, goes_on=channel in before)
        self.switch_hold.end()

    # --- the loop -----------------------------------------------------------------------------

    def write(self) -> None:
        """Send the commands in `body`."""
        stamp = self.source.stamp
        for channel in self.channels:
            channel.send(stamp)
        if self.switch_hold.channels:
            fresh = self.watchdog is None or self.watchdog.is_fresh('state_age')
            self.switch_hold.send(stamp, fresh, self.is_stopped())

    def _waited(self) -> None:
        """Repeat the last command: a robot that has missed it may be waiting for it."""
        if not self.parameters.lock_step:
            self.write()
        super()._waited()

    # --- after the loop -----------------------------------------------------------------------

    def send_safe_command(self) -> None:
        """Send what leaves the robot safe: hold positions, no velocity, no effort."""
        write_final_command(self.body)
        if self.node.context.ok():
            self.write()
        else:
            self._shutdown_publisher.send(self.channels)

    def deactivate(self) -> None:
        """Leave the robot safe and give its controllers back; it can be activated again."""
        if self._is_active:
            self._is_active = False
            self.send_safe_command()
            if self.node.context.ok():
                for channel in self.channels:
                    channel.flush(FLUSH_TIMEOUT)
                self.command_controllers.release()
            else:
                manager = self.command_controllers.manager
                activated = manager.activated if manager is not None else []
                self._shutdown_publisher.stop(self.channels, activated)

    def close(self) -> None:
        """Leave the robot safe, give its controllers back, and unsubscribe."""
        if self._closed:
            return
        self._closed = True
        steps: list[Callable[[], object]] = [self.deactivate]
        steps += [reader.close for reader in self.readers]
        if self._source is not None:
            steps.append(self._source.inbox.close)
        steps += [
            self.command_controllers.close,
            self._shutdown_publisher.close,
            self._caller.close,
        ]
        for step in steps:
            try:
                step()
            except CONTEXT_ERRORS:
                continue
