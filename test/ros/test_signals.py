"""Signals that ask a process to end are seen whatever its main thread does."""

import signal
import subprocess
import sys

import pytest

# The main thread sleeps in a call that no signal interrupts, as a wait for messages is.
DEAF = """
import os, threading
from cnoid_control.ros.signals import catch_stop_signals

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
node = rclpy.create_node('muted')
executor = SingleThreadedExecutor()
executor.add_node(node)
stop = catch_stop_signals()

def end():
    stop.wait()
    os._exit(7)

threading.Thread(target=end, daemon=True).start()
print('ready', flush=True)
while True:
    executor.spin_once(timeout_sec=3600.0)
"""


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_main_thread_that_waits_for_messages_is_not_needed(number):
    """The event is set in another thread while the main thread is still waiting."""
    process = subprocess.Popen([sys.executable, '-c', DEAF], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == 'ready\n'
        process.send_signal(number)
        assert process.wait(timeout=60) == 7
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


TWICE = """
import signal, time
from cnoid_control.ros.signals import catch_stop_signals

stop = catch_stop_signals()
for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
    signal.raise_signal(number)
    time.sleep(0.05)
print(stop.is_set())
"""


def test_a_second_signal_is_as_quiet_as_the_first():
    """A terminal and `ros2 launch` both send one."""
    done = subprocess.run([sys.executable, '-c', TWICE], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ('True\n', '', 0)
