"""The node in a process that loses its context or its loop, or whose main thread is busy."""

import sys
import threading
import time
from pathlib import Path

import rclpy
from rclpy.signals import SignalHandlerOptions

from cnoid_control.ros.node.control_node import ControlNode, run_node
from cnoid_control.ros.signals import catch_stop_signals


def is_heard(node: ControlNode) -> bool:
    """Tell whether the robot and the test both receive the commands."""
    return all(one.reader_count >= 2 for one in node.session.hardware.command_publishers)


def main() -> int:
    """Run the node; the first argument says what happens to it after its activation.

    'context': it is shut down; 'loop': it fails; otherwise a file, until which the main thread,
    and the node's executor with it, is busy.
    """
    what, *words = sys.argv[1:]
    stop = catch_stop_signals()
    rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)
    node = ControlNode()

    def break_in() -> None:
        while node.session is None or node.session.loop.tick < 50 or not is_heard(node):
            time.sleep(0.01)
        if what == 'context':
            rclpy.shutdown()
        elif what == 'loop':
            node.session.hardware.read = None
        else:
            node.create_timer(0.01, be_busy)
            node.executor.wake()

    def be_busy() -> None:
        node.get_logger().info('the main thread is busy')
        while not Path(what).exists():
            time.sleep(0.01)

    threading.Thread(target=break_in, daemon=True).start()
    return run_node(node, stop)


if __name__ == '__main__':
    sys.exit(main())
