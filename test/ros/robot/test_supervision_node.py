"""Supervision node: stops, calls and activity while nobody spins the node that it belongs to."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from std_srvs.srv import Trigger

from cnoid_control.ros.exceptions import ServiceUnavailable
from cnoid_control.ros.robot import supervision_node
from cnoid_control.ros.robot.supervision_node import ACTIVITY_QOS, SupervisionNode

# A test that would wait as long as this is not passed.
FOR_EVER = 3600.0


def confirm(request, response):
    """Answer with yes."""
    response.success = True
    return response


def in_thread(function: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """Run a function in a thread; the list gets its result or the error that it raised."""
    results: list[object] = []

    def run() -> None:
        try:
            results.append(function())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, results


@pytest.fixture
def owner(ros_domain: int) -> Iterator[Node]:
    """Return a node that nobody spins, with names that were given on the command line."""
    context = Context()
    rclpy.init(context=context, domain_id=ros_domain)
    words = ['--ros-args', '-r', '~/halt:=/halt_all', '-r', 'speak:=/say', '-r', '__ns:=/left']
    yield Node('arm', context=context, cli_args=words, use_global_arguments=False)
    rclpy.try_shutdown(context=context)


@pytest.fixture
def supervision(owner: Node) -> Iterator[SupervisionNode]:
    """Return the supervision node of that node."""
    made = SupervisionNode(owner)
    yield made
    made.close()


@pytest.fixture
def mute(ros_context: Context) -> Iterator[Node]:
    """Return a node that serves `/mute` and, as nobody spins it, never answers."""
    node = Node('mute', context=ros_context)
    node.create_service(Trigger, '/mute', confirm)
    yield node
    node.destroy_node()


@pytest.fixture
def call_mute(supervision: SupervisionNode, mute: Node) -> tuple[threading.Thread, list[object]]:
    """Return a thread that calls a service that never answers, and its result."""
    assert supervision.is_there(Trigger, '/mute', FOR_EVER)
    return in_thread(lambda: supervision.call(Trigger, '/mute', Trigger.Request(), FOR_EVER))


@pytest.fixture
def ask(ros_node: Node, spin_until) -> Callable[[str], Trigger.Response]:
    """Return a function that calls a service of std_srvs/Trigger from another node."""

    def ask(name: str) -> Trigger.Response:
        client = ros_node.create_client(Trigger, name)
        assert spin_until(client.service_is_ready), name
        future = client.call_async(Trigger.Request())
        assert spin_until(future.done), name
        return future.result()

    return ask


def is_alive(supervision: SupervisionNode) -> bool:
    """Tell whether its thread is there."""
    return supervision._thread.is_alive()


# --- stops ------------------------------------------------------------------------------------


def test_stops_have_the_names_of_the_node_also_where_they_are_remapped(supervision, ask):
    """They are served without the node's own executor."""
    for name in ('stop', 'halt'):
        supervision.serve(name, confirm)
    assert ask('/left/arm/stop').success
    assert ask('/halt_all').success


def test_stops_are_served_while_a_call_waits_for_its_answer(supervision, call_mute, ask):
    """A controller_manager that hangs does not keep the robot from being stopped."""
    thread, results = call_mute
    supervision.serve('stop', confirm)
    for _ in range(3):
        assert ask('/left/arm/stop').success
    assert thread.is_alive()
    assert not results


def test_stops_are_served_after_a_callback_has_failed(supervision, ask):
    """The thread survives whatever its callbacks raise."""
    supervision.serve('wrong', lambda request, response: 1 / 0)
    supervision.serve('stop', confirm)
    supervision._node.create_guard_condition(lambda: 1 / 0).trigger()
    assert ask('/left/arm/stop').success
    assert is_alive(supervision)


def test_two_nodes_in_one_process_have_one_each(supervision, ros_node, ask):
    """The end of one does not concern the other."""
    other = SupervisionNode(ros_node)
    supervision.serve('stop', confirm)
    other.serve('stop', confirm)
    assert ask('/tester/stop').success
    other.close()
    assert ask('/left/arm/stop').success
    assert is_alive(supervision)
    assert not is_alive(other)


# --- calls ------------------------------------------------------------------------------------


def test_an_answer_comes_by_the_remapped_name(supervision, ros_node, spin_until):
    """The service is the one that the node's command line names."""

    def answer(request, response):
        response.message = 'here'
        return response

    ros_node.create_service(Trigger, '/say', answer)
    _, results = in_thread(lambda: supervision.call(Trigger, 'speak', Trigger.Request(), FOR_EVER))
    assert spin_until(lambda: results)
    assert results[0].message == 'here'


def test_calls_do_not_wait_for_each_other(supervision, call_mute, ros_node, spin_until):
    """Other services answer while one does not."""
    ros_node.create_service(Trigger, '/say', confirm)
    done = []

    def call() -> None:
        for _ in range(100):
            supervision.call(Trigger, 'speak', Trigger.Request(), FOR_EVER)
            done.append(True)

    in_thread(call)
    assert spin_until(lambda: len(done) == 100)
    assert call_mute[0].is_alive()


def test_many_calls_leave_no_work_behind(supervision, ros_node, spin_until, monkeypatch):
    """The hundredth call does not take more turns of the executor than the first ones."""
    ros_node.create_service(Trigger, '/say', confirm)
    turns = [0]
    wait = supervision._executor.wait_for_ready_callbacks

    def count(*args, **more):
        turns[0] += 1
        return wait(*args, **more)

    monkeypatch.setattr(supervision._executor, 'wait_for_ready_callbacks', count)
    taken = []

    def call() -> None:
        for _ in range(100):
            turns[0] = 0
            supervision.call(Trigger, 'speak', Trigger.Request(), FOR_EVER)
            taken.append(turns[0])

    in_thread(call)
    assert spin_until(lambda: len(taken) == 100)
    # A busy machine takes some more turns, but not more and more.
    assert sorted(taken[-50:])[25] <= 8
    assert not supervision._clients['speak']._pending_requests


def test_a_service_that_disappears_ends_the_call(call_mute, mute):
    """Who is called and vanishes without an answer is not waited for."""
    thread, results = call_mute
    thread.join(0.3)
    assert not results
    mute.destroy_node()
    thread.join(60.0)
    assert str(results[0]) == "service '/mute': it disappeared without an answer"


def test_a_service_that_never_answers_is_named_with_the_time(supervision, mute):
    """The request is forgotten too."""
    assert supervision.is_there(Trigger, '/mute', FOR_EVER)
    with pytest.raises(ServiceUnavailable, match=r"'/mute': there was no answer within 0\.1 s"):
        supervision.call(Trigger, '/mute', Trigger.Request(), 0.1)
    assert not supervision._clients['/mute']._pending_requests


def test_a_service_that_is_not_there_is_named_with_the_time(supervision):
    """The message says how long it was waited for."""
    with pytest.raises(ServiceUnavailable, match=r"'speak': nobody serves it within 0\.1 s"):
        supervision.call(Trigger, 'speak', Trigger.Request(), 0.1)


def test_a_call_in_its_own_thread_is_refused(supervision, ask):
    """It would wait for an answer that only this thread can take."""
    errors = []

    def call(request, response):
        try:
            supervision.call(Trigger, 'speak', Trigger.Request(), FOR_EVER)
        except RuntimeError as error:
            errors.append(str(error))
        return response

    supervision.serve('stop', call)
    ask('/left/arm/stop')
    assert errors == ["'speak' is called in the thread that takes the answer"]


# --- activity ---------------------------------------------------------------------------------


@pytest.fixture
def activity(ros_node: Node) -> Callable[..., None]:
    """Return a function that publishes the states of controllers by name."""
    msg = pytest.importorskip('controller_manager_msgs.msg', reason='interfaces are not built')
    from lifecycle_msgs.msg import State

    publisher = ros_node.create_publisher(
        msg.ControllerManagerActivity, '/left/manager/activity', ACTIVITY_QOS
    )

    def publish(**states: str) -> None:
        named = [
            msg.NamedLifecycleState(name=name, state=State(label=label))
            for name, label in states.items()
        ]
        publisher.publish(msg.ControllerManagerActivity(controllers=named))

    return publish


def test_activity_before_and_after_the_subscription_arrives(supervision, call_mute, activity):
    """While a call waits for its answer, too."""
    activity(legs='active')
    told: queue.Queue[dict[str, str]] = queue.Queue()
    supervision.watch_activity('manager', told.put)
    assert told.get(timeout=20.0) == {'legs': 'active'}
    activity(legs='inactive', arms='active')
    assert told.get(timeout=20.0) == {'legs': 'inactive', 'arms': 'active'}


def test_activity_is_not_told_after_its_end(supervision, activity):
    """Not even where a callback is in progress: the end waits for that."""
    entered, leave = threading.Event(), threading.Event()
    told = []

    def changed(states: dict[str, str]) -> None:
        entered.set()
        leave.wait(20.0)
        told.append(states)

    other: queue.Queue[dict[str, str]] = queue.Queue()
    end = supervision.watch_activity('manager', changed)
    activity(legs='active')
    assert entered.wait(20.0)
    thread, _ = in_thread(end)
    thread.join(0.1)
    assert thread.is_alive()
    leave.set()
    thread.join(20.0)
    assert told == [{'legs': 'active'}]
    supervision.watch_activity('manager', other.put)
    assert other.get(timeout=20.0)
    activity(legs='inactive')
    assert other.get(timeout=20.0) == {'legs': 'inactive'}
    assert told == [{'legs': 'active'}]


# --- the end ----------------------------------------------------------------------------------


def test_close_ends_a_call_that_waits(supervision, call_mute):
    """Neither waits for the other."""
    thread, results = call_mute
    supervision.close()
    thread.join(20.0)
    assert str(results[0]) == "service '/mute': the node has ended"
    assert not is_alive(supervision)
    supervision.close()
    with pytest.raises(ServiceUnavailable, match='the node has ended'):
        supervision.call(Trigger, 'speak', Trigger.Request(), FOR_EVER)


def test_the_end_of_the_context_ends_thread_and_calls(supervision, owner, call_mute, spin_until):
    """Nothing goes on for ever, and nothing raises anything else than the usual error."""
    rclpy.shutdown(context=owner.context)
    thread, results = call_mute
    thread.join(20.0)
    assert isinstance(results[0], ServiceUnavailable)
    assert spin_until(lambda: not is_alive(supervision))
    assert not supervision.is_there(Trigger, 'speak', FOR_EVER)


def test_close_leaves_a_callback_behind(supervision, ros_node, spin_until, monkeypatch):
    """The process can end."""
    free = threading.Event()
    entered = threading.Event()

    def hang(request, response):
        entered.set()
        free.wait(FOR_EVER)
        return response

    supervision.serve('stop', hang)
    client = ros_node.create_client(Trigger, '/left/arm/stop')
    assert spin_until(client.service_is_ready)
    client.call_async(Trigger.Request())
    assert spin_until(entered.is_set)
    monkeypatch.setattr(supervision_node, 'END_TIMEOUT', 0.1)
    supervision.close()
    assert is_alive(supervision)
    free.set()
    assert spin_until(lambda: not is_alive(supervision))
