"""The node in a process that takes its context away, or breaks its loop, after a while."""

import sys
import threading
import time

import rclpy
from rclpy.signals import SignalHandlerOptions

from cnoid_control.ros.node import ControlNode, run_node


def is_heard(node: ControlNode) -> bool:
    """Tell whether the robot and the test both receive the commands."""
    return all(channel.reader_count >= 2 for channel in node.session.hardware.channels)


def main() -> int:
    """Run the node; the first argument says what happens to it after its activation."""
    what, *words = sys.argv[1:]
    rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)
    node = ControlNode()

    def break_in() -> None:
        while node.session is None or node.session.loop.tick < 50 or not is_heard(node):
            time.sleep(0.01)
        if what == 'context':
            rclpy.shutdown()
        else:
            node.session.hardware.read = None

    threading.Thread(target=break_in, daemon=True).start()
    return run_node(node, threading.Event())


if __name__ == '__main__':
    sys.exit(main())
