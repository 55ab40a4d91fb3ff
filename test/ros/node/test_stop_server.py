"""Services of a node that are served while nobody serves the node."""

import threading

import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from std_srvs.srv import Trigger

from cnoid_control.ros.node.stop_server import StopServer


def answer(request, response):
    """Answer with yes."""
    response.success = True
    return response


def threads() -> int:
    """Return the number of threads that serve stops."""
    return sum(thread.name == 'stops' for thread in threading.enumerate())


@pytest.fixture
def busy(ros_domain):
    """Return a node that nobody serves, with a name that was given on the command line."""
    context = Context()
    rclpy.init(context=context, domain_id=ros_domain)
    words = ['--ros-args', '-r', '~/halt:=/halt_all', '-r', '__ns:=/left']
    yield Node('arm', context=context, cli_args=words, use_global_arguments=False)
    rclpy.try_shutdown(context=context)


def test_stops_are_served_by_the_names_of_the_node(busy, ros_node, spin_until):
    """Also where these were remapped; without the node's executor, and until the end."""
    server = StopServer(busy, {'stop': answer, 'halt': answer})
    for name in ('/left/arm/stop', '/halt_all'):
        client = ros_node.create_client(Trigger, name)
        assert spin_until(client.service_is_ready), name
        future = client.call_async(Trigger.Request())
        assert spin_until(future.done), name
        assert future.result().success
    server.close()
    assert threads() == 0
    server.close()


def test_the_end_of_the_context_is_its_end(busy, spin_until):
    """It does not go on for ever, nor does it complain."""
    server = StopServer(busy, {'stop': answer})
    assert threads() == 1
    rclpy.shutdown(context=busy.context)
    assert spin_until(lambda: threads() == 0)
    server.close()
