"""Rate of the joint states, measured by their stamps, and whether it is the agreed one."""

from __future__ import annotations

import math
import statistics
import time

from rclpy.node import Node

from cnoid_control.messages.cdr import FRAME_ID, NANOSECONDS, read_stamp
from cnoid_control.ros.exceptions import RobotError
from cnoid_control.ros.raw_dds import RawSubscription, open_subscription
from cnoid_control.ros.robot.device_readers import STATE_QOS
from cnoid_control.ros.robot.parameters import Ros2ControlParameters

# Share by which the measured rate may differ from the agreed one.
TOLERANCE = 0.1
# Least number of intervals that tell a rate, and the time that they span where they are short [s].
FEWEST = 8
SPAN = 0.1
# Messages with the stamp of the one before after which the robot is taken to stand still.
REPEATED = 2
# Time without a new stamp after which it is, too [s].
STILL_TIME = 1.0


class StateRate:
    """Median rate of the last states.

    Messages that were lost on the way, or came while nobody took them, make no other rate where
    the middleware counts messages; nor do those that only repeat a state.

    Attributes:
        agreed: the rate that the configuration states [Hz].
        measured: the rate of the last full window [Hz]; not a number before.
    """

    def __init__(self, agreed: float) -> None:
        """Begin with no state."""
        self.agreed = agreed
        self.measured = math.nan
        self._window = max(FEWEST, math.ceil(SPAN * agreed))
        # Times between states, and the same per message [ns].
        self._intervals: list[int] = []
        self._shares: list[float] = []
        self._stamp = 0
        self._lost = 0

    def restart(self) -> None:
        """Forget all states so far."""
        self.measured = math.nan
        self._forget()
        self._stamp = 0

    def note(self, stamp: int, lost: int) -> bool:
        """Take note of a state.

        Args:
            stamp: its stamp [ns].
            lost: messages that were lost so far.

        Returns:
            Whether `measured` is new.
        """
        interval = stamp - self._stamp
        messages = 1 + lost - self._lost
        is_next = self._stamp and interval > 0
        self._stamp, self._lost = stamp, lost
        if not is_next:
            return False
        self._intervals.append(interval)
        self._shares.append(interval / messages)
        if len(self._intervals) < self._window:
            return False
        self.measured = self._median()
        self._forget()
        return True

    def early(self) -> float:
        """Rate by what has come so far, where that is enough to tell [Hz]; not a number else."""
        is_enough = len(self._intervals) >= FEWEST and sum(self._intervals) > SPAN * NANOSECONDS
        return self._median() if is_enough else self.measured

    def _median(self) -> float:
        by_messages = NANOSECONDS / statistics.median(self._shares)
        if is_agreed(by_messages, self.agreed):
            return by_messages
        return NANOSECONDS / statistics.median(self._intervals)

    def _forget(self) -> None:
        self._intervals.clear()
        self._shares.clear()


def is_agreed(measured: float, agreed: float) -> bool:
    """Whether a rate is the agreed one, both [Hz]; one that is not known counts as agreed."""
    return not abs(measured / agreed - 1.0) > TOLERANCE


def tell_wrong_rate(measured: float, agreed: float) -> str:
    """Sentence on a rate that is not the agreed one, both [Hz]."""
    factor = measured / agreed
    times, size = (1.0 / factor, 'small') if factor < 1.0 else (factor, 'large')
    return (
        f'joint states come at {measured:.4g} Hz instead of the agreed {agreed:.4g} Hz: '
        f'io.time_step is {times:.3g} times too {size}'
    )


class Standstill:
    """Finds that a robot's time stands still: it waits for its first command."""

    def __init__(self) -> None:
        """Begin to look."""
        self._stamp = 0
        self._repeated = 0
        self._changed = time.monotonic()

    def see(self, stamp: int | None) -> bool:
        """Take note of a message's stamp [ns], or that there was none; whether time stands."""
        now = time.monotonic()
        if stamp is not None and stamp == self._stamp:
            self._repeated += 1
        elif stamp is not None:
            self._stamp, self._repeated, self._changed = stamp, 0, now
        return self._repeated >= REPEATED or now - self._changed > STILL_TIME


def measure_rate(
    subscription: RawSubscription, node: Node, agreed: float, timeout: float
) -> float:
    """Rate of the joint states of a robot that nobody commands [Hz].

    Args:
        subscription: subscription of the joint states; messages are taken from it.
        node: its node.
        agreed: the rate that the configuration states [Hz].
        timeout: longest wait for the first state [s].

    Returns:
        The rate; not a number where none came, or where the robot's time stands still.
    """
    rate, still = StateRate(agreed), None
    deadline = time.monotonic() + timeout
    while math.isnan(measured := rate.early()) and node.context.ok():
        data = subscription.take()
        stamp = None
        if data is not None and len(data) >= FRAME_ID:
            stamp = read_stamp(data)
            rate.note(stamp, subscription.lost)
            still = still or Standstill()
        elif still is None and time.monotonic() > deadline:
            break
        else:
            subscription.wait(0.05)
        if still is not None and still.see(stamp):
            break
    return measured


def robot_rate(node: Node, parameters: Ros2ControlParameters, agreed: float) -> float:
    """Rate of the joint states of a robot that nobody commands [Hz]; not a number for none.

    Args:
        node: node to subscribe with.
        parameters: the robot's options.
        agreed: the rate that the configuration states [Hz].
    """
    from sensor_msgs.msg import JointState

    given = parameters
    subscription = open_subscription(
        node, JointState, given.joint_states, STATE_QOS, given.public_calls
    )
    try:
        return measure_rate(subscription, node, agreed, given.startup_timeout)
    finally:
        subscription.close()


def require_rate(
    node: Node, subscription: RawSubscription, parameters: Ros2ControlParameters, agreed: float
) -> bool:
    """Refuse states of another rate than the agreed one [Hz]; whether it was measured.

    A robot that waits for its first command shows no rate: the ticks will tell.

    Raises:
        RobotError: the rate is another one.
    """
    given = parameters
    if given.lock_step or given.repetition_time > 0.0:
        return False
    topic = node.resolve_topic_name(given.joint_states)
    measured = measure_rate(subscription, node, agreed, given.startup_timeout)
    if math.isfinite(measured):
        node.get_logger().info(f'{topic}: {measured:.4g} Hz')
    if not is_agreed(measured, agreed):
        rate = measured / given.decimation
        raise RobotError(
            f'topic {topic!r}: {tell_wrong_rate(measured, agreed)}; set rate: {rate:.3g}, or '
            'hardware.ros2_control.rate_check: follow'
        )
    return True
