"""The simulated robot with joint states that can be spoilt on the wire: for the fault table.

What is to go wrong is the text of the last message on the topic `fault`.
"""

from __future__ import annotations

import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from std_msgs.msg import String

from cnoid_control.ros import mujoco_node
from cnoid_control.ros.cdr import NANOSECONDS, STAMP
from cnoid_control.ros.fast_path import Outbox
from cnoid_control.ros.joint_state_layout import find_layout
from cnoid_control.ros.restartable_manager import RestartableManager
from cnoid_control.ros.sim_state import StatePublishers

# Step of the stamps [s].
JUMP = 1
# Messages that are spoilt.
BURST = 20
# Copies of each message.
FLOOD = 10
# Time for which controller_manager is away [s].
AWAY = 1.0


class SpoilingOutbox:
    """Stands before the outbox of the joint states.

    Attributes:
        fault: what goes wrong; empty for nothing.
    """

    def __init__(self, outbox: Outbox) -> None:
        """Pass everything on for now."""
        self._outbox = outbox
        self._count = 0
        self._last = b''
        self._spoil: Callable[[bytes], None] = self._pass
        self._faults: dict[str, Callable[[bytes], None]] = {
            '': self._pass,
            'slow': self._slow,
            'jump': lambda data: self._pass(_shifted(data, JUMP)),
            'back': lambda data: self._pass(_shifted(data, -JUMP)),
            'reorder': self._reorder,
            'missing': self._burst(_without_last_joint),
            'nan': self._burst(lambda data: _with_value(data, np.nan)),
            'inf': self._burst(lambda data: _with_value(data, np.inf)),
            'truncate': self._burst(lambda data: data[: len(data) // 2]),
            'flood': self._flood,
        }

    def begin(self, fault: str) -> None:
        """Let something go wrong from the next message on."""
        self._count = 0
        self._spoil = self._faults[fault]

    def send(self, data: bytes) -> bool:
        """Send a message, or what is left of it."""
        self._count += 1
        if self._count == 1 and self._spoil != self._pass:
            print(f'injected at {time.time_ns()}', flush=True)
        self._spoil(data)
        self._last = data
        return True

    def _pass(self, data: bytes) -> None:
        self._outbox.send(data)

    def _slow(self, data: bytes) -> None:
        if self._count % 500 == 0:
            self._outbox.send(data)

    def _reorder(self, data: bytes) -> None:
        self._outbox.send(data)
        if self._count % 3 == 0:
            self._outbox.send(_shifted(self._last, 0, -5_000_000))

    def _burst(self, spoil: Callable[[bytes], bytes]) -> Callable[[bytes], None]:
        def send(data: bytes) -> None:
            self._outbox.send(spoil(data) if self._count <= BURST else data)

        return send

    def _flood(self, data: bytes) -> None:
        for _ in range(FLOOD):
            self._outbox.send(data)


class DeafInbox:
    """Stands in the place of an inbox that was closed: nothing comes."""

    lost = 0
    restarts = 0
    sent_at = 0

    def take(self) -> bytes | None:
        """Nothing."""
        return None

    def wait(self, timeout: float) -> None:
        """Sleep."""
        time.sleep(min(timeout, 0.01))

    def wake(self) -> None:
        """Nobody sleeps for long."""

    def close(self) -> None:
        """It is closed already."""


class FaultyRobot(mujoco_node.MujocoNode):
    """The MuJoCo node, with the spoiler between it and the wire."""

    def __init__(self, **node: Any) -> None:
        """Build the node and listen to `fault`."""
        super().__init__(**node)
        self.create_subscription(String, 'fault', self._on_fault, 1)

    def _make_publishers(self) -> StatePublishers:
        publishers = super()._make_publishers()
        joints = publishers.joint_publishers[0]
        self._spoiler = SpoilingOutbox(joints.outbox)
        joints.outbox = self._spoiler  # type: ignore[assignment]
        return publishers

    def _serve_controllers(self) -> None:
        self._manager = RestartableManager(
            self, self.controllers, self.loop.call, self._forget_commands
        )
        self._server = self._manager.server

    def _on_fault(self, message: Any) -> None:
        if message.data == 'unsubscribe':
            self.loop.call(self._unsubscribe)
        elif message.data == 'restart_manager':
            threading.Thread(target=self._restart_manager, daemon=True).start()
        else:
            self.loop.call(lambda: self._spoiler.begin(message.data))

    def _restart_manager(self) -> None:
        print(f'injected at {time.time_ns()}', flush=True)
        self._server = None
        self._manager.leave()
        time.sleep(AWAY)
        self._manager.come_back()
        self._server = self._manager.server
        print('controller_manager is back', flush=True)

    def _unsubscribe(self) -> None:
        inboxes = [source.inbox for source in self._inputs.values()]
        for source in self._inputs.values():
            source.inbox = DeafInbox()

        def close() -> None:
            for inbox in inboxes:
                inbox.close()
            print(f'injected at {time.time_ns()}', flush=True)

        # The robot does not stand still meanwhile.
        threading.Thread(target=close, daemon=True).start()


def _shifted(data: bytes, seconds: int, nanoseconds: int = 0) -> bytes:
    """The same state with another stamp."""
    spoilt = bytearray(data)
    whole, part = struct.unpack_from('<iI', spoilt, STAMP)
    stamp = whole * NANOSECONDS + part + seconds * NANOSECONDS + nanoseconds
    struct.pack_into('<iI', spoilt, STAMP, *divmod(max(0, stamp), NANOSECONDS))
    return bytes(spoilt)


def _with_value(data: bytes, value: float) -> bytes:
    """The same state with one position that is something else."""
    spoilt = bytearray(data)
    layout = find_layout(data)
    struct.pack_into('<d', spoilt, layout.arrays['position'] + 8 * 3, value)
    return bytes(spoilt)


def _without_last_joint(data: bytes) -> bytes:
    """The same state, but for the last joint."""
    from rclpy.serialization import deserialize_message, serialize_message
    from sensor_msgs.msg import JointState

    message = deserialize_message(data, JointState)
    for field in ('name', 'position', 'velocity', 'effort'):
        setattr(message, field, list(getattr(message, field))[:-1])
    return bytes(serialize_message(message))


if __name__ == '__main__':
    sys.exit(mujoco_node.main(sys.argv, FaultyRobot))
