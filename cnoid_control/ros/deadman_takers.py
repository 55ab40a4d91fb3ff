"""Whom the dead-man would command: who takes commands, and in which order of joints."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from rclpy.node import Node

from cnoid_control.ros.activity_watch import ActivityWatch
from cnoid_control.ros.command_outlet import CommandOutlet
from cnoid_control.ros.controller_manager import ControllerManager
from cnoid_control.ros.exceptions import ServiceUnavailable, UnusableController
from cnoid_control.ros.ros2_control_parameters import (
    CommandParameters,
    Ros2ControlParameters,
    default_commands,
)
from cnoid_control.ros.service_caller import ServiceCaller

# Time between two looks whether all is as it was, for managers that do not tell [s].
REFRESH_PERIOD = 3.0
# Least time between two warnings of the same kind [s].
WARNING_PERIOD = 5.0
# How long those that are not found at once are looked for [s].
FINDING_TIME = 1.0
# Longest wait for the answer of one that is there [s].
ANSWER_TIME = 5.0
# Time after which nobody still sends through what was replaced [s].
RETIREMENT = 0.1


class DeadmanTakers:
    """Learns the takers of commands in a thread of its own, afresh whenever it is asked.

    What it knows is kept up to date from then on, until it may rest.

    Attributes:
        outlets: the way to each taker; replaced as a whole, never changed.
        problem: why they are not to be relied on; empty where they are.
    """

    def __init__(
        self,
        node: Node,
        robot: Ros2ControlParameters,
        find_manager: Callable[[], bool],
        period: float,
    ) -> None:
        """Begin to wait for questions.

        Args:
            node: node that publishes the commands.
            robot: how the robot's topics are used.
            find_manager: looks for controller_manager; called in the thread.
            period: time between two commands [s].
        """
        self.outlets: tuple[CommandOutlet, ...] = ()
        self.problem = ''
        self._node = node
        self._takers = robot.commands or default_commands()
        self._find_manager = find_manager
        self._period = period
        # A call at a time: a taker that does not answer must not keep a switch waiting.
        self._caller = ServiceCaller(
            f'{node.get_name()}_takers', node.get_namespace(), node.context
        )
        self._manager = ControllerManager(robot.controller_manager, self._caller, ANSWER_TIME)
        self._was_managed = False
        self._names: tuple[str, ...] = ()
        self._asked = 0
        self._answered = 0
        self._wake = threading.Event()
        self._activity: ActivityWatch | None = None
        self._stop = threading.Event()
        if robot.controller_manager:
            self._begin_to_look(robot.controller_manager)
        self._thread = threading.Thread(target=self._run, name='takers', daemon=True)
        self._thread.start()

    def _begin_to_look(self, manager: str) -> None:
        for name, taker in self._takers.items():
            if not _says_its_joints(taker):
                # To be found takes a while, which begins with the first look.
                self._manager.is_loaded(name, 0.0)
        # Where its messages are not installed, there is no manager for us.
        with contextlib.suppress(ImportError):
            self._activity = ActivityWatch(self._node, manager, lambda states: self._wake.set())

    def ask(self, names: tuple[str, ...]) -> None:
        """Have the takers of commands for these joints learnt afresh; it is not waited for."""
        self._names = names
        self._asked += 1
        self._wake.set()

    def rest(self) -> None:
        """Keep nothing up to date until it is asked again."""
        self._names = ()

    @property
    def is_known(self) -> bool:
        """Whether all was learnt after it was asked for last."""
        return self._answered == self._asked

    def _run(self) -> None:
        while True:
            self._wake.wait(REFRESH_PERIOD)
            self._wake.clear()
            if self._stop.is_set() or not self._node.context.ok():
                return
            # In this order: names that come in between are learnt once more.
            asked, names = self._asked, self._names
            if not names:
                continue
            is_new = asked != self._answered
            before = self.outlets
            try:
                self.outlets, self.problem = self._learn(names, is_new)
            except Exception as error:
                # Without this thread nothing would be watched, and nobody would be told.
                self.problem = f'{type(error).__name__}: {error}'
            self._answered = asked
            if self.problem and not is_new:
                self._node.get_logger().warning(
                    f'what is known of the takers of commands may be old: {self.problem}',
                    throttle_duration_sec=WARNING_PERIOD,
                )
            self._retire([outlet for outlet in before if outlet not in self.outlets])

    def _learn(
        self, names: tuple[str, ...], is_new: bool
    ) -> tuple[tuple[CommandOutlet, ...], str]:
        """The way to each taker, and why that is not all there is to know; empty where it is."""
        is_managed = self._find_manager()
        if self._was_managed and not is_managed:
            # Without it the order of the joints could only be guessed.
            return self.outlets, 'controller_manager was there and is not any more'
        self._was_managed = is_managed
        # What is only refreshed will be looked for again.
        deadline = time.monotonic() + (FINDING_TIME if is_new else 0.0)
        problem = ''
        known = {outlet.name: outlet for outlet in self.outlets}
        found = []
        for name, taker in self._takers.items():
            outlet = known.get(name)
            before = outlet.joints if outlet is not None else []
            joints = taker.joints or list(names)
            if is_managed and not _says_its_joints(taker):
                try:
                    joints = self._ask_for_joints(name, deadline)
                except ServiceUnavailable as error:
                    problem = str(error)
                    joints = before
                if not joints and not is_new:
                    # It may be out of sight for a moment; a command to nobody does no harm.
                    joints = before
            if not joints or not set(joints) <= set(names):
                continue
            if outlet is None or outlet.joints != joints:
                outlet = CommandOutlet(self._node, name, taker, joints, self._period)
            found.append(outlet)
        return tuple(found), problem

    def _ask_for_joints(self, name: str, deadline: float) -> list[str]:
        """Joints of a controller in its own order; none where it takes no commands.

        Raises:
            ServiceUnavailable: it is there and did not answer.
        """
        if not self._manager.is_loaded(name, max(0.0, deadline - time.monotonic())):
            return []  # it cannot have the robot
        try:
            return self._manager.joints(name)
        except UnusableController:
            return []

    def _retire(self, outlets: list[CommandOutlet]) -> None:
        if outlets:
            self._stop.wait(RETIREMENT)
        for outlet in outlets:
            outlet.close()

    def close(self) -> None:
        """Learn no more and stop advertising."""
        self._stop.set()
        self._wake.set()
        self._thread.join()
        if self._activity is not None:
            self._activity.close()
        for outlet in self.outlets:
            outlet.close()
        self._caller.close()


def _says_its_joints(taker: CommandParameters) -> bool:
    """Whether a taker's joints are known without asking it: by option or by each message."""
    return bool(taker.joints) or taker.type == 'joint_state'
