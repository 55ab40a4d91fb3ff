"""What is asked of the node while it is busy, or while the loop is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip('control_msgs.msg', reason='interfaces are not built')

from robot_rig import RobotRig
from ros_controllers import Gated
from served_node import ServedNode

from cnoid_control.ros.exceptions import RosError
from cnoid_control.ros.node import control_node
from cnoid_control.ros.node.control_node import SUCCESS
from cnoid_control.runtime import loop_thread


@pytest.fixture
def starting(ros_context, tmp_path: Path) -> Iterator[ServedNode]:
    """Return a node that is not configured; its controllers may be held up."""
    Gated.open()
    rig = RobotRig(ros_context)
    made = ServedNode(rig, tmp_path, 'ros_controllers:Gated')
    try:
        yield made
    finally:
        Gated.open()
        made.close()
        rig.close()


@pytest.fixture
def served(starting: ServedNode) -> ServedNode:
    """Return an active node whose controllers may be held up."""
    starting.activate()
    return starting


@pytest.fixture
def stalled(served: ServedNode) -> Iterator[threading.Event]:
    """Return what lets the loop go again: it stands still in a read, in the safe state."""
    assert served.trigger('stop') == (True, 'stopped by ~/stop')
    hardware = served.session.hardware
    stands, goes = threading.Event(), threading.Event()
    read = hardware.read

    def wait() -> bool:
        stands.set()
        assert goes.wait(20.0)
        return read()

    hardware.read = wait
    assert stands.wait(20.0)
    served.session.runner.patience = 0.1
    yield goes
    goes.set()


def let_the_loop_go(served: ServedNode) -> None:
    """Let the controller come back, and wait until the loop has done what waited for it."""
    Gated.open()
    served.session.runner.patience = 20.0
    served.session.runner.call(lambda: None)


def test_a_reset_that_has_failed_does_not_take_effect_later(
    served: ServedNode, stalled: threading.Event
) -> None:
    """The safe state goes on, and the controllers that it had made are stopped."""
    before = served.session.loop.host
    success, reason = served.trigger('reset')
    assert not success
    assert 'control loop did not process the request' in reason
    stalled.set()
    let_the_loop_go(served)
    assert served.session.safe_state.is_engaged
    assert served.session.loop.host is before
    assert served.trigger('reset') == (True, 'running')


def test_services_get_through_while_a_controller_hangs(served: ServedNode) -> None:
    """An emergency stop and a reset do not wait for it; it never has the robot again."""
    before = served.session.loop.host
    Gated.close('control')
    served.rig.wait(lambda: served.session.safe_state.is_engaged)
    assert before.is_abandoned
    assert served.trigger('estop') == (True, 'emergency stop by ~/estop')
    Gated.open()
    assert served.trigger('reset') == (True, 'running')
    assert served.session.loop.host is not before


def test_a_hook_that_does_not_return_is_answered_with_the_reason(served: ServedNode) -> None:
    """Whoever has asked for it is told, and the robot is in the safe state."""
    ends = threading.Event()
    served.controller.update_parameters = lambda old, new: ends.wait(20.0)
    task = served.set('gated.kp', 250.0)
    served.rig.wait(task.done)
    assert not task.result().successful
    assert 'update_parameters() exceeded its 200 ms time limit' in task.result().reason
    assert served.session.safe_state.is_engaged
    ends.set()


def test_a_node_can_be_activated_again_after_a_hang(served: ServedNode) -> None:
    """With fresh controllers: those that have not returned are left alone."""
    before = served.session.loop.host
    Gated.close('control')
    served.rig.wait(lambda: served.session.safe_state.is_engaged)
    served.session.deactivate()
    Gated.open()
    served.session.activate()
    assert served.session.loop.host is not before
    served.rig.wait(lambda: served.session.loop.host.controllers[0].started)
    assert not served.session.safe_state.is_engaged


def test_a_pause_that_has_failed_does_not_take_effect_later(served: ServedNode) -> None:
    """Nor do options."""
    session = served.session
    Gated.close('control')
    assert Gated.is_waiting.wait(20.0)
    session.runner.patience = 0.01
    # Not in the safe state yet: the pause is let in.
    assert not served.trigger('pause')[0]
    task = served.set('gated.kp', 250.0)
    served.rig.wait(task.done)
    assert not task.result().successful
    let_the_loop_go(served)
    assert not session.safe_state.is_pause
    assert served.controller.given.kp == 300.0


def test_a_stop_overrules_a_reset_that_is_under_way(served: ServedNode) -> None:
    """It is served while the reset brings controllers up, and these do not get the robot."""
    assert served.trigger('stop') == (True, 'stopped by ~/stop')
    before = served.session.loop.host
    Gated.close('configure')
    reset = served.ask('reset')
    assert Gated.is_waiting.wait(20.0)
    assert served.trigger('estop') == (True, 'emergency stop by ~/estop')
    assert not reset.done()
    Gated.open()
    served.rig.wait(reset.done)
    assert not reset.result().success
    assert 'after it had begun: emergency stop by ~/estop' in reset.result().message
    assert served.session.safe_state.is_estop
    assert served.session.loop.host is before
    assert served.trigger('reset') == (True, 'running')


def test_a_stop_overrules_a_swap_that_is_under_way(served: ServedNode) -> None:
    """It is served while the new controllers are brought up, and these are let go again."""
    Gated.close('configure')
    swap = served.set('controller', 'ros_controllers:Later')
    assert Gated.is_waiting.wait(20.0)
    assert served.trigger('estop') == (True, 'emergency stop by ~/estop')
    assert not swap.done()
    Gated.open()
    served.rig.wait(swap.done)
    assert not swap.result().successful
    assert 'in the safe state: emergency stop by ~/estop' in swap.result().reason
    assert served.session.loop.transition is None


def test_a_stop_in_the_moment_of_a_restart_is_not_forgotten(served: ServedNode) -> None:
    """The new controllers have the robot then, in the safe state."""
    session = served.session
    assert served.trigger('stop') == (True, 'stopped by ~/stop')
    restart = session.loop.restart

    def stopped_while_restarting(host) -> None:
        session.operation._remember_stop('the button', True)
        session.loop.request_safe_state('the button', estop=True)
        restart(host)

    session.loop.restart = stopped_while_restarting
    success, reason = served.trigger('reset')
    assert not success
    assert 'the button' in reason
    assert session.safe_state.is_estop


def test_a_stop_that_is_not_answered_yet_overrules_a_reset(served: ServedNode) -> None:
    """Though it was asked for before the reset began: who asks for both must find it stopped."""
    operation, loop = served.session.operation, served.session.loop
    assert served.trigger('stop') == (True, 'stopped by ~/stop')
    asked, goes_on = threading.Event(), threading.Event()
    request = loop.request_safe_state

    def interrupted(reason: str, estop: bool = False) -> None:
        asked.set()
        assert goes_on.wait(20.0)
        request(reason, estop)

    loop.request_safe_state = interrupted
    button = threading.Thread(target=operation.stop, args=('the button', True))
    button.start()
    assert asked.wait(20.0)
    success, reason = served.trigger('reset')
    goes_on.set()
    button.join()
    assert not success
    assert 'the button' in reason
    assert served.session.safe_state.is_estop
    loop.request_safe_state = request
    assert served.trigger('reset') == (True, 'running')


def test_a_stop_during_configuration_keeps_the_node_from_becoming_active(
    starting: ServedNode,
) -> None:
    """The activation that follows is refused with the reason; the one after it is not."""
    Gated.close('configure')
    autostart = threading.Thread(target=starting.node.autostart)
    autostart.start()
    assert Gated.is_waiting.wait(20.0)
    success, message = starting.trigger('estop')
    assert success, message
    assert message == 'emergency stop by ~/estop: the node is not activated'
    Gated.open()
    autostart.join()
    assert not starting.session.is_active
    assert 'emergency stop by ~/estop before it was active' in starting.node.problem
    assert starting.node.trigger_activate() == SUCCESS, starting.node.problem
    assert starting.session.is_active


def test_a_stop_during_activation_holds_the_robot_from_the_first_tick_on(
    starting: ServedNode,
) -> None:
    """The controllers have never commanded anything."""
    assert starting.node.trigger_configure() == SUCCESS, starting.node.problem
    session = starting.session
    activate, stopped = session.hardware.activate, []

    def stop_meanwhile() -> None:
        stopped.append(starting.ask('stop'))
        starting.rig.wait(lambda: session.loop.watchdog._pending)
        activate()

    session.hardware.activate = stop_meanwhile
    assert starting.node.trigger_activate() == SUCCESS, starting.node.problem
    starting.rig.wait(stopped[0].done)
    assert stopped[0].result().success, stopped[0].result().message
    assert session.safe_state.reason == 'stopped by ~/stop'
    assert session.safe_state.is_engaged
    assert starting.controller.controls == 0


def test_a_stop_is_refused_where_nothing_runs(starting: ServedNode) -> None:
    """Neither before it is configured nor while it is inactive; it is not remembered."""
    assert starting.trigger('stop') == (False, 'the node is not configured')
    assert starting.node.trigger_configure() == SUCCESS, starting.node.problem
    assert starting.trigger('estop') == (False, 'the node is not active')
    assert starting.node.trigger_activate() == SUCCESS, starting.node.problem
    assert not starting.session.safe_state.is_engaged


def test_options_and_activation_do_not_meet(starting: ServedNode) -> None:
    """Options that are set while the node becomes active are taken between two ticks."""
    assert starting.node.trigger_configure() == SUCCESS, starting.node.problem
    session = starting.session
    refresh, tasks, threads = session.hardware.refresh, [], []

    def set_meanwhile() -> None:
        tasks.append(starting.set('gated.kp', 250.0))
        refresh()

    def note(old, new) -> None:
        threads.append(threading.current_thread().name)

    session.loop.host.controllers[0].controller.update_parameters = note
    session.hardware.refresh = set_meanwhile
    assert starting.node.trigger_activate() == SUCCESS, starting.node.problem
    starting.rig.wait(tasks[0].done)
    assert tasks[0].result().successful, tasks[0].result().reason
    assert threads == ['control loop']


def test_a_loop_that_does_not_return_from_the_robot_is_left_alone(
    served: ServedNode, stalled: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that its thread uses is destroyed under it."""
    monkeypatch.setattr(loop_thread.LoopThread.stop, '__defaults__', (0.05,))
    hardware = served.session.hardware
    closed = []
    monkeypatch.setattr(hardware, 'close', lambda: closed.append(True))
    with pytest.raises(RosError, match="the loop's thread does not return from the robot"):
        served.session.close()
    assert not closed
    stalled.set()
    served.rig.wait(lambda: not served.session.is_active)


def test_a_controller_that_never_comes_up_does_not_keep_the_node(
    starting: ServedNode, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    """It is left behind."""
    monkeypatch.setattr(control_node, 'FINISH_PATIENCE', 0.05)
    monkeypatch.setattr(control_node, 'HANG_PATIENCE', 0.05)
    # The rest of the test needs it.
    monkeypatch.setattr(starting.node.context, 'try_shutdown', lambda: None)
    Gated.close('configure')
    autostart = threading.Thread(target=starting.node.autostart)
    autostart.start()
    assert Gated.is_waiting.wait(20.0)
    starting.node.finish()
    assert 'a transition does not return' in capfd.readouterr().err
    Gated.open()
    autostart.join()


def test_whatever_a_service_raises_is_its_answer(served: ServedNode) -> None:
    """The node goes on."""

    def fail() -> None:
        raise KeyError('a mistake')

    served.session.operation.pause = fail
    assert served.trigger('pause') == (False, "KeyError: 'a mistake'")
    assert served.trigger('stop') == (True, 'stopped by ~/stop')


def test_options_do_not_end_the_loop(served: ServedNode) -> None:
    """A controller that leaves the program when it is given others is named."""
    served.controller.update_parameters = lambda old, new: sys.exit(3)
    task = served.set('gated.kp', 250.0)
    served.rig.wait(task.done)
    assert not task.result().successful
    assert "'gated', update_parameters(): raised SystemExit" in task.result().reason
    assert served.session.is_active
