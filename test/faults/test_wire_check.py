"""The check of commands on the wire: it finds what it is there to find."""

from __future__ import annotations

import math

import pytest

pytest.importorskip('std_msgs.msg', reason='needs ROS 2')

from std_msgs.msg import Float64MultiArray

from cnoid_control.faults.wire import WireCheck


@pytest.fixture
def wire(ros_node, spin_until):
    """Return a check of commands for three joints up to 5, and how to send one."""
    publisher = ros_node.create_publisher(Float64MultiArray, 'commands', 10)
    check = WireCheck(ros_node, 'commands', 3, 5.0)
    assert spin_until(lambda: publisher.get_subscription_count() > 0)

    def send(values: list[float]) -> WireCheck:
        count = check.count
        publisher.publish(Float64MultiArray(data=values))
        assert spin_until(lambda: check.poll() or check.count > count)
        return check

    yield send
    check.close()


@pytest.mark.parametrize(
    'values',
    [
        [0.0, math.nan, 0.0],
        [math.inf, 0.0, 0.0],
        [0.0, 0.0, -5.1],
        [1.0, 2.0],
        [1.0, 2.0, 3.0, 4.0],
        [],
    ],
)
def test_bad_commands_are_counted(wire, values: list[float]) -> None:
    """Numbers that are none, too large ones and wrong sizes are bad."""
    assert wire(values).bad == 1


def test_good_commands_pass(wire) -> None:
    """Commands within the limit are good; the first without any effort is noted."""
    assert wire([5.0, -5.0, 0.0]).bad == 0
    assert wire([1.0, 0.0, 0.0]).zeros == 0.0
    check = wire([0.0, 0.0, 0.0])
    assert check.zeros == check.times[-1] > 0.0
    check.forget()
    assert check.zeros == 0.0
