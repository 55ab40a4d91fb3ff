"""Rates and jitter of topics, as measured."""

from __future__ import annotations

import threading
import time

import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from cnoid_control.messages.cdr import NANOSECONDS, PREAMBLE, read_stamp
from cnoid_control.messages.layouts import is_stamped
from cnoid_control.ros.check.survey import Timing
from cnoid_control.ros.message_types import message_class
from cnoid_control.ros.raw_dds import open_subscription

# It matches every publisher; all that comes within one wait is kept.
METER_QOS = QoSProfile(
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
    history=HistoryPolicy.KEEP_LAST,
    depth=200,
)
# Longest wait in one piece [s].
SLICE = 0.1
# Length of a stamp and of what comes before it [bytes].
STAMP_END = PREAMBLE + 8
CLOCK = 'rosgraph_msgs/msg/Clock'


class TopicMeter:
    """Counts the messages of a topic in a thread of its own.

    Attributes:
        last: the last message, as bytes; None for none.
    """

    def __init__(self, node: Node, topic: str, type_name: str) -> None:
        """Subscribe and begin to count.

        Args:
            node: node that subscribes.
            topic: full name.
            type_name: ROS type.
        """
        self.last: bytes | None = None
        self._has_stamps = type_name == CLOCK or is_stamped(type_name)
        self._subscription = open_subscription(node, message_class(type_name), topic, METER_QOS)
        # When each message came, when it was sent and its stamp [ns].
        self._seen: list[tuple[int, int, int]] = []
        self._stop = threading.Event()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f'meter {topic}', daemon=True)
        self._thread.start()

    def _run(self) -> None:
        subscription = self._subscription
        while not self._stop.is_set():
            data = subscription.take()
            if data is None:
                subscription.wait(SLICE)
                continue
            stamp = 0
            if self._has_stamps and len(data) >= STAMP_END:
                stamp = read_stamp(data)
            self._seen.append((time.time_ns(), subscription.sent_at, stamp))
            self.last = data

    def finish(self) -> Timing:
        """Unsubscribe; what was measured."""
        self._stop.set()
        self._subscription.wake()
        self._thread.join()
        lost = self._subscription.lost
        self._subscription.close()
        return timing_of(self._seen, time.monotonic() - self._began, lost, self._has_stamps)


def timing_of(
    seen: list[tuple[int, int, int]], duration: float, lost: int, has_stamps: bool
) -> Timing:
    """Timing of messages.

    The time between two messages is taken where they were sent, if the middleware tells it: what
    this process adds by being late is not the robot's.

    Args:
        seen: arrival, sending time and stamp of each message [ns]; 0 for an unknown one.
        duration: time for which messages were waited for [s].
        lost: messages that did not come.
        has_stamps: whether the stamps are ones.
    """
    timing = Timing(count=len(seen), duration=duration, lost=lost, has_stamps=has_stamps)
    if not seen:
        return timing
    arrivals, sent, stamps = np.array(seen, dtype=np.int64).T
    if has_stamps:
        timing.stamp_age = float(arrivals[-1] - stamps[-1]) / NANOSECONDS
    if len(seen) < 2:
        return timing
    times = sent if sent.all() and (np.diff(sent) >= 0).all() else arrivals
    gaps = np.diff(times) / NANOSECONDS
    total = float(gaps.sum())
    timing.rate = len(gaps) / total if total > 0.0 else 0.0
    timing.jitter = float(gaps.std())
    timing.longest = float(gaps.max())
    if has_stamps:
        steps = np.diff(stamps)
        timing.repeated = int((steps == 0).sum())
        moved = float(stamps[-1] - stamps[0]) / NANOSECONDS
        timing.stamp_rate = float((steps > 0).sum()) / moved if moved > 0.0 else 0.0
    return timing
