"""Joint states: the messages that count, and the nodes that publish them."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from rclpy.node import Node

from cnoid_control.messages.cdr import FRAME_ID, NANOSECONDS
from cnoid_control.messages.joint_state import JointStateDecoder
from cnoid_control.ros.exceptions import RobotError, WrongTopicType
from cnoid_control.ros.raw_dds import RawSubscription
from cnoid_control.ros.robot.state_rate import StateRate

# Time within which two messages of other publishers are more than a restart [s].
TAKING_TURNS = 1.0
MESSAGE_TYPE = 'sensor_msgs/msg/JointState'
# What the middleware calls a node that it knows a publisher of, but not the name yet.
UNKNOWN_NODE = '_NODE_NAME_UNKNOWN_'
# How the names of nodes end that only send the last command.
LAST_COMMANDERS = ('_heartbeat', '_shutdown')
# Time between two looks at the publishers [s].
PUBLISHER_POLL = 0.1


class JointStateSource:
    """Takes joint states from a subscription and skips those that are not new or not usable.

    Attributes:
        decoder: the values of the last fresh state.
        stamp: stamp of the last fresh state [ns].
        dt: time between the last two fresh states [s]; the period where that makes no sense.
        time: sum of all dt [s], continuous when the clock jumps.
        counts: messages that were passed over, by reason, and jumps of the clock.
        problem: what is wrong with the messages since the last fresh one; empty for nothing.
        contested: whether two publishers have taken turns; to be set back by who has seen it.
        rate: the rate of the fresh states.
        has_new_rate: whether the last fresh state has completed a measurement of it.
    """

    def __init__(
        self,
        subscription: RawSubscription,
        names: Sequence[str],
        period: float,
        max_jump: float,
        report: Callable[[str], None],
        repetition_time: float = 0.0,
    ) -> None:
        """Begin with no state.

        Args:
            subscription: subscription of the topic.
            names: the joints, in the order of the values.
            period: nominal time between fresh states [s].
            max_jump: stamps that differ by more are a jump of the clock [s].
            report: takes a sentence about something unusual.
            repetition_time: time for which messages that differ by the stamp alone are no new
                state [s].
        """
        self.subscription = subscription
        self.decoder = JointStateDecoder(names)
        self.stamp = 0
        self.dt = period
        self.time = 0.0
        self.counts: Counter[str] = Counter()
        self.problem = ''
        self.contested = False
        self.rate = StateRate(1.0 / period)
        self.has_new_rate = False
        self._restarts = subscription.restarts
        self._restarted = -math.inf
        self._period = period
        self._max_jump = max_jump
        self._report = report
        self._repetition = round(repetition_time * NANOSECONDS)
        self._content = b''
        self._needed = np.zeros(0, np.intp)
        self._all_needed = False
        self._started = False

    def need(self, joints: np.ndarray) -> None:
        """Take only states that know the positions of these joints, by index."""
        self._needed = joints
        self._all_needed = len(joints) == len(self.decoder.names)

    def poll(self) -> bool:
        """Take what has come; whether there is a fresh state."""
        fresh = False
        while (data := self.subscription.take()) is not None:
            fresh = self._take(data) or fresh
        return fresh

    def poll_one(self) -> bool:
        """Take the next message; whether it is a fresh state."""
        data = self.subscription.take()
        return data is not None and self._take(data)

    def restart(self) -> None:
        """Begin the time anew with the next state."""
        self._started = False
        self.time = 0.0
        self.rate.restart()

    def expect_repetition(self) -> None:
        """Take the next state for a fresh one whatever its stamp is; time goes on."""
        self._started = False

    def _take(self, data: bytes) -> bool:
        if self.subscription.restarts != self._restarts:
            self._see_another_publisher()
            return False
        decoder = self.decoder
        if not decoder.decode(data):
            self._pass_over('malformed', decoder.problem)
            return False
        q = decoder.position if self._all_needed else decoder.position[self._needed]
        # A sum is finite only where all are: cheaper than looking at each.
        if not math.isfinite(q.dot(q)):
            self._pass_over('unknown', self._unknown())
            return False
        stamp = decoder.stamp
        if self._repetition and self._repeats(data, stamp):
            self.counts['repeated'] += 1
            return False
        if self._started and not self._advance(stamp - self.stamp):
            return False
        self.stamp = stamp
        self.has_new_rate = self.rate.note(stamp, self.subscription.lost)
        self._started = True
        self.problem = ''
        return True

    def _repeats(self, data: bytes, stamp: int) -> bool:
        before, self._content = self._content, data[FRAME_ID:]
        recent = self._started and 0 <= stamp - self.stamp < self._repetition
        return recent and self._content == before

    def _advance(self, nanoseconds: int) -> bool:
        if nanoseconds == 0:
            self.counts['repeated'] += 1
            return False
        dt = nanoseconds * 1e-9
        if abs(dt) > self._max_jump:
            self.counts['jumps'] += 1
            self._report(f'joint states: the clock jumped by {dt:+.3f} s')
            dt = self._period
        elif dt < 0.0:
            self._pass_over('older', f'a state that is {-dt:.6f} s older than the last one')
            return False
        self.dt = dt
        self.time += dt
        return True

    def _see_another_publisher(self) -> None:
        """Pass over a message of one who was not heard before; the next ones may be good."""
        self._restarts = self.subscription.restarts
        self._pass_over('of another publisher', 'a message of another publisher')
        now = time.monotonic()
        # One that has started again is another one once; two that send are it again and again.
        self.contested |= now - self._restarted < TAKING_TURNS
        self._restarted = now

    def _unknown(self) -> str:
        names = [self.decoder.names[i] for i in self._needed]
        missing = [name for name in names if name in self.decoder.missing]
        if missing:
            return f'joints that are missing: {", ".join(missing)}'
        bad = [names[i] for i in np.flatnonzero(~np.isfinite(self.decoder.position[self._needed]))]
        return f'joints whose position is not a number: {", ".join(bad)}'

    def _pass_over(self, reason: str, problem: str) -> None:
        self.counts[reason] += 1
        if problem != self.problem:
            self.problem = problem
            self._report(f'joint states: {problem}')


def publishing_nodes(node: Node, topic: str) -> list[str]:
    """Names of the nodes that publish a topic, sorted, one for each publisher."""
    return sorted(
        f'{info.node_namespace.rstrip("/")}/{info.node_name}'
        for info in node.get_publishers_info_by_topic(topic)
    )


def are_different(nodes: list[str]) -> bool:
    """Whether these are several nodes for certain.

    A broadcaster that was killed is seen beside the one that was started in its place, which has
    the same name, until the middleware gives it up.
    """
    return len({node for node in nodes if UNKNOWN_NODE not in node}) > 1


def require_topic_type(node: Node, topic: str) -> None:
    """Refuse a topic that carries something else than joint states.

    Raises:
        WrongTopicType: it does.
    """
    found = dict(node.get_topic_names_and_types()).get(topic, [])
    if found and MESSAGE_TYPE not in found:
        raise WrongTopicType('joint states', topic, found, [MESSAGE_TYPE])


def require_one_publisher(node: Node, topic: str, timeout: float) -> None:
    """Refuse joint states of several nodes; a dead one is waited for to vanish.

    Raises:
        RobotError: there are several, at once or still after the time-out [s].
    """
    deadline = time.monotonic() + timeout
    while len(nodes := publishing_nodes(node, topic)) > 1:
        if are_different(nodes) or time.monotonic() > deadline or not node.context.ok():
            raise RobotError(
                f'topic {topic!r} has several publishers: {", ".join(nodes)}; '
                'the state of the robot must come from one'
            )
        time.sleep(PUBLISHER_POLL)


def require_sole_commander(node: Node, topic: str, timeout: float) -> None:
    """Refuse to command a robot that another node commands; a dead one is waited for to vanish.

    Heartbeat monitors, and what sends the last command without a context, are no such nodes.

    Raises:
        RobotError: there is another one, at once or still after the time-out [s].
    """
    me = node.get_fully_qualified_name()
    deadline = time.monotonic() + timeout
    while True:
        nodes = publishing_nodes(node, topic)
        others = [one for one in nodes if not one.endswith(LAST_COMMANDERS)]
        for publisher in node.publishers:
            if publisher.topic_name == topic and me in others:
                others.remove(me)
        if not others:
            return
        # Two of one name may be a dead one and the one in its place.
        is_certain = any(one != me and UNKNOWN_NODE not in one for one in others)
        if is_certain or time.monotonic() > deadline or not node.context.ok():
            raise RobotError(
                f'topic {topic!r} is published by {", ".join(others)} already: one node commands '
                'a robot'
            )
        time.sleep(PUBLISHER_POLL)


def why_silent(node: Node, topic: str) -> str:
    """The reason why nothing was received on a topic."""
    if not node.context.ok():
        return 'the node is shutting down'
    return 'nothing was received' if node.count_publishers(topic) else 'nobody publishes it'
