"""Services called from threads that have no executor."""

import threading

import pytest
from rclpy.node import Node
from std_srvs.srv import Trigger

from cnoid_control.ros.exceptions import ServiceUnavailable
from cnoid_control.ros.robot.controller_manager import ServiceCaller

# A test that would wait as long as this is not passed.
FOR_EVER = 3600.0


@pytest.fixture
def caller(ros_context):
    """Return a caller."""
    caller = ServiceCaller('tester', '/', ros_context)
    yield caller
    caller.close()


def test_a_service_that_answers(caller, ros_node, spin_until):
    """The answer comes while the node that serves is served by another thread."""

    def answer(request, response):
        response.message = 'here'
        return response

    ros_node.create_service(Trigger, 'speak', answer)
    answers = []
    thread = threading.Thread(
        target=lambda: answers.append(caller.call(Trigger, 'speak', Trigger.Request(), FOR_EVER))
    )
    thread.start()
    assert spin_until(lambda: answers)
    thread.join()
    assert answers[0].message == 'here'


def test_a_service_that_goes_away_is_not_waited_for(caller, ros_context):
    """Who is called and vanishes without an answer ends the call."""
    server = Node('server', context=ros_context)
    server.create_service(Trigger, 'speak', lambda request, response: response)
    # Nobody spins it: there is no answer.
    assert caller.is_there(Trigger, 'speak', FOR_EVER)
    problems = []

    def call():
        try:
            caller.call(Trigger, 'speak', Trigger.Request(), FOR_EVER)
        except ServiceUnavailable as error:
            problems.append(str(error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(0.3)
    assert not problems
    server.destroy_node()
    thread.join(60.0)
    assert problems == ["service 'speak': it disappeared without an answer"]


def test_what_is_not_there_is_named_with_the_time(caller):
    """Nobody serves it: the message names the service and how long was waited."""
    with pytest.raises(ServiceUnavailable, match=r"'speak': nobody serves it within 0\.1 s"):
        caller.call(Trigger, 'speak', Trigger.Request(), 0.1)


def test_many_calls_leave_nothing_behind(caller, ros_node, spin_until, monkeypatch):
    """The hundredth call does not take more turns of the executor than the first ones."""
    ros_node.create_service(Trigger, 'speak', lambda request, response: response)
    turns = [0]
    wait = caller._executor.wait_for_ready_callbacks

    def count(*args, **more):
        turns[0] += 1
        return wait(*args, **more)

    monkeypatch.setattr(caller._executor, 'wait_for_ready_callbacks', count)
    taken = []

    def call():
        for _ in range(100):
            turns[0] = 0
            caller.call(Trigger, 'speak', Trigger.Request(), FOR_EVER)
            taken.append(turns[0])

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    assert spin_until(lambda: len(taken) == 100)
    # A busy machine takes some more turns, but not more and more.
    assert sorted(taken[-50:])[25] <= 5
