"""Whom the dead-man would command: who takes commands, and in which order of joints."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from rclpy.node import Node

from cnoid_control.ros.command_outlet import CommandOutlet
from cnoid_control.ros.controller_manager import ControllerManager
from cnoid_control.ros.exceptions import ServiceUnavailable, UnusableController
from cnoid_control.ros.ros2_control_parameters import (
    CommandParameters,
    Ros2ControlParameters,
    default_commands,
)
from cnoid_control.ros.service_caller import ServiceCaller

# How long those that are not found at once are looked for [s].
FINDING_TIME = 1.0
# Longest wait for the answer of one that is there [s].
ANSWER_TIME = 5.0
# Time after which nobody still sends through what was replaced [s].
RETIREMENT = 0.1


class DeadmanTakers:
    """Learns the takers of commands in a thread of its own, afresh whenever it is asked.

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
        if robot.controller_manager:
            for name, taker in self._takers.items():
                if not _says_its_joints(taker):
                    # To be found takes a while, which begins with the first look.
                    self._manager.is_loaded(name, 0.0)
        self._names: tuple[str, ...] = ()
        self._asked = 0
        self._answered = 0
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='takers', daemon=True)
        self._thread.start()

    def ask(self, names: tuple[str, ...]) -> None:
        """Have the takers of commands for these joints learnt afresh; it is not waited for."""
        self._names = names
        self._asked += 1
        self._wake.set()

    @property
    def is_known(self) -> bool:
        """Whether all was learnt after it was asked for last."""
        return self._answered == self._asked

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._stop.is_set() or not self._node.context.ok():
                return
            # In this order: names that come in between are learnt once more.
            asked, names = self._asked, self._names
            before = self.outlets
            try:
                self.outlets, self.problem = self._learn(names)
            except Exception as error:
                # Without this thread nothing would be watched, and nobody would be told.
                self.problem = f'{type(error).__name__}: {error}'
            self._answered = asked
            self._retire([outlet for outlet in before if outlet not in self.outlets])

    def _learn(self, names: tuple[str, ...]) -> tuple[tuple[CommandOutlet, ...], str]:
        """The way to each taker, and why that is not all there is to know; empty where it is."""
        is_managed = self._find_manager()
        if self._was_managed and not is_managed:
            # Without it the order of the joints could only be guessed.
            return self.outlets, 'controller_manager was there and is not any more'
        self._was_managed = is_managed
        deadline = time.monotonic() + FINDING_TIME
        problem = ''
        known = {outlet.name: outlet for outlet in self.outlets}
        found = []
        for name, taker in self._takers.items():
            outlet = known.get(name)
            joints = taker.joints or list(names)
            if is_managed and not _says_its_joints(taker):
                try:
                    joints = self._ask_for_joints(name, deadline)
                except ServiceUnavailable as error:
                    problem = str(error)
                    joints = outlet.joints if outlet is not None else []
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
        for outlet in self.outlets:
            outlet.close()
        self._caller.close()


def _says_its_joints(taker: CommandParameters) -> bool:
    """Whether a taker's joints are known without asking it: by option or by each message."""
    return bool(taker.joints) or taker.type == 'joint_state'
