"""Control node: a lifecycle node around one session."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import rclpy
from rcl_interfaces.msg import SetParametersResult
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from cnoid_control.exceptions import CnoidControlError, describe
from cnoid_control.ros.node.diagnostics import Diagnostics, NodeDiagnostics
from cnoid_control.ros.node.mailboxes import MailboxBridge
from cnoid_control.ros.node.parameters import ConfigParameters
from cnoid_control.ros.node.session import ControlSession
from cnoid_control.ros.node.supervisor import Supervisor
from cnoid_control.ros.raw_dds import CONTEXT_ERRORS
from cnoid_control.ros.robot.parameters import Ros2ControlParameters
from cnoid_control.ros.robot.state_rate import robot_rate
from cnoid_control.ros.robot.supervision_node import SupervisionNode
from cnoid_control.ros.signals import catch_stop_signals, ignore_stop_signals
from cnoid_control.ros.start import init_ros
from cnoid_control.ros.transport import avoid_shared_memory
from cnoid_control.runtime.config import RunConfig, merge, parse_value, read_parameter_file
from cnoid_control.runtime.realtime import DEFAULT_PRIORITY, request_realtime


def given_parameters(words: Sequence[str]) -> dict[str, Any]:
    """Parameters in the arguments of a ROS program, nested; unreadable files are ignored."""
    values: dict[str, Any] = {}
    for word, following in zip(words, [*words[1:], ''], strict=True):
        if word == '--params-file':
            try:
                values = merge(values, read_parameter_file(Path(following)))
            except CnoidControlError:
                continue
        elif word in ('-p', '--param') and ':=' in following:
            name, _, value = following.partition(':=')
            values = merge(values, {name: parse_value(value)})
    return values


def wanted_priority(words: Sequence[str]) -> int:
    """Real-time priority that the arguments ask for; 0 in lock-step, where nothing is late."""
    values = given_parameters(words)
    hardware = values.get('hardware', {})
    section = hardware.get('ros2_control', {}) if isinstance(hardware, dict) else {}
    if isinstance(section, dict) and section.get('lock_step') is True:
        return 0
    return given_priority(values)


def given_priority(values: Mapping[str, Any], default: int = DEFAULT_PRIORITY) -> int:
    """Real-time priority among parameters; 0 for what is none, which the node refuses later."""
    priority = values.get('realtime_priority', default)
    return priority if isinstance(priority, int) and 0 <= priority <= 99 else 0


SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE

EXIT_OK, EXIT_FAILED, EXIT_CONTEXT_LOST = 0, 1, 3
# Between two looks at its callbacks the executor sleeps: it shares the interpreter with the loop.
EXECUTOR_PAUSE = 0.002
# It is woken for everything; where it is not, it looks so often whether it is to end [s].
EXECUTOR_WAIT = 1.0
# Time that a transition under way is given when the node is to end [s].
FINISH_PATIENCE = 1.0
# Time that it is given then, without a context [s].
HANG_PATIENCE = 5.0


class ControlNode(LifecycleNode):
    """Lifecycle node: configure initializes the controllers, activate starts them and the loop.

    Attributes:
        session: what was configured; None otherwise.
        failed: set when the loop has ended against its will.
        problem: why the last transition was refused; empty when it was not.
    """

    def __init__(self, words: Sequence[str] | None = None, **node: Any) -> None:
        """Declare the parameters and offer the services; nothing is read of the robot yet.

        Args:
            words: the words of the command line; those of the process where None.
            **node: as rclpy's LifecycleNode has them.
        """
        super().__init__(
            'cnoid_control', automatically_declare_parameters_from_overrides=True, **node
        )
        self.session: ControlSession | None = None
        self.failed = threading.Event()
        self.problem = ''
        self._transition = threading.Lock()
        self._is_autostarting = False
        # Guards who takes a stop: the session, or the activation that is still to come.
        self._stop_gate = threading.Lock()
        self._stopped_before = ''
        self._guard_transitions()
        self._bridge = MailboxBridge(self)
        self.options = ConfigParameters(self, words)
        watch = NodeDiagnostics(lambda: self.session)
        self._diagnostics = Diagnostics(self, watch.collect, watch.statistics)
        self._serve('pause', lambda operation: operation.pause())
        self._serve('resume', lambda operation: operation.resume())
        self._serve('reset', self._reset)
        # Controllers are brought up and let go in this node's executor, which can take long.
        self._supervision = SupervisionNode(self)
        self._serve_stop('stop', 'stopped by ~/stop', estop=False)
        self._serve_stop('estop', 'emergency stop by ~/estop', estop=True)

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """Set parameters as rclpy does; where nothing runs yet, the reason says when they act.

        It is what `ros2 param set` calls and shows; rclpy forgets a reason that a callback gives.
        """
        result = super().set_parameters_atomically(parameter_list)
        if result.successful and self.options.are_for_later:
            result.reason = 'it acts when the node is configured'
        return result

    def _serve_stop(self, name: str, reason: str, estop: bool) -> None:
        def stop(request: Any, response: Any) -> Any:
            if self._refuse_activation(reason):
                response.success = True
                response.message = f'{reason}: the node is not activated'
                return response
            return answer(request, response)

        answer = self._answer(name, lambda operation: operation.stop(reason, estop))
        self._supervision.serve(name, stop)

    def _refuse_activation(self, reason: str) -> bool:
        """Have an activation that is to come refused, where no session can take the stop yet."""
        with self._stop_gate:
            session = self.session
            if session is not None and session.operation.is_stoppable:
                return False
            if not (self._is_autostarting or self._transition.locked()):
                return False
            self._stopped_before = reason
            return True

    def _serve(self, name: str, action: Callable[[Supervisor], str | None]) -> None:
        self.create_service(Trigger, f'~/{name}', self._answer(name, action))

    def _answer(
        self, name: str, action: Callable[[Supervisor], str | None]
    ) -> Callable[[Any, Any], Any]:
        def answer(request: Any, response: Any) -> Any:
            # Another thread may clean the node up meanwhile.
            session = self.session
            try:
                if session is None:
                    raise CnoidControlError('the node is not configured')
                said = action(session.operation)
                response.success = True
                response.message = said or session.safe_state.reason or 'running'
                self.get_logger().info(f'~/{name}: {response.message}')
            except Exception as error:
                # Whatever it is, it is for who has asked: the node goes on.
                is_told = isinstance(error, CnoidControlError)
                response.message = str(error) if is_told else describe(error)
                self.get_logger().warning(f'~/{name}: {response.message}')
            return response

        return answer

    def _reset(self, operation: Supervisor) -> str:
        said = operation.reset()
        self._bridge.open(operation.mailboxes())
        return said

    def _guard_transitions(self) -> None:
        """Answer a transition that is not possible now with no, instead of with an exception."""
        service = self._service_change_state
        change = service.callback

        def guarded(request: Any, response: Any) -> Any:
            try:
                return change(request, response)
            except CONTEXT_ERRORS as error:
                self.get_logger().warning(f'transition refused: {error}')
                response.success = False
                return response

        service.callback = guarded

    # --- transitions --------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Wait for the robot, configure and initialize the controllers."""

        def configure() -> None:
            config, own = self.options.parse()
            if self._follow_rate(config):
                config, own = self.options.parse()
            self.session = ControlSession(self, self._supervision, config, own, self._loop_ended)
            self.options.attach(self.session.operation, self._swapped)

        return self._attempt('configure', configure)

    def _follow_rate(self, config: RunConfig) -> bool:
        """Take over the rate at which the robot's states come, where that is wanted."""
        given: Ros2ControlParameters = config.hardware['ros2_control']
        if given.rate_check != 'follow':
            return False
        measured = robot_rate(self, given, config.parameters.rate * given.decimation)
        if math.isnan(measured):
            self.get_logger().warning(
                f'{given.joint_states}: no rate to follow, for no new states come before the '
                f'first command; the rate stays {config.parameters.rate:g} Hz'
            )
            return False
        rate = float(f'{measured / given.decimation:.3g}')
        self.get_logger().info(
            f'rate: {rate:g} Hz, as the joint states come; the configuration has '
            f'{config.parameters.rate:g} Hz'
        )
        self.options.set_rate(rate)
        return True

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start the controllers and the loop."""

        def activate() -> None:
            assert self.session is not None
            with self._stop_gate:
                reason, self._stopped_before = self._stopped_before, ''
                if reason:
                    raise CnoidControlError(f'{reason} before it was active')
                self.session.runner.is_starting = True
            self.session.activate()
            self._bridge.open(self.session.operation.mailboxes())
            super(ControlNode, self).on_activate(state)

        return self._attempt('activate', activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End the loop, stop the controllers, leave the robot safe."""

        def deactivate() -> None:
            assert self.session is not None
            self._bridge.close()
            self.session.deactivate()
            super(ControlNode, self).on_deactivate(state)

        return self._attempt('deactivate', deactivate)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Undo configure and unsubscribe."""
        return self._attempt('clean up', self._close)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Leave the robot safe and let everything go."""
        return self._attempt('shut down', self._close)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let everything go; the node can be configured again."""
        return self._attempt('recover', self._close)

    def _close(self) -> None:
        session, self.session = self.session, None
        self._bridge.close()
        self.options.detach()
        if session is not None:
            session.close()

    def _attempt(self, what: str, transition: Callable[[], None]) -> TransitionCallbackReturn:
        if not self._transition.acquire(blocking=False):
            self.get_logger().error(f'cannot {what}: another transition is under way')
            return FAILURE
        is_over = False
        try:
            transition()
        except CnoidControlError as error:
            self.problem = f'cannot {what}: {error}'
            result = FAILURE
        except Exception as error:
            self.problem = f'cannot {what}: {describe(error)}'
            result = TransitionCallbackReturn.ERROR
            is_over = isinstance(error, CONTEXT_ERRORS) and not self.context.ok()
        else:
            self.problem = ''
            result = SUCCESS
        finally:
            self._transition.release()
        if is_over:
            # Nothing is wrong: a signal came meanwhile.
            self.get_logger().info(f'{what}: given up, since the node is to end')
        elif self.problem:
            self.get_logger().error(self.problem)
        else:
            self.get_logger().info(f'{what}: done')
        return result

    # --- while it runs ------------------------------------------------------------------------

    def _swapped(self) -> None:
        if self.session is not None:
            self._bridge.open(self.session.operation.mailboxes())

    def _loop_ended(self) -> None:
        runner = self.session.runner if self.session is not None else None
        if runner is not None and runner.error is not None and self.context.ok():
            lines = ''.join(traceback.format_exception(runner.error))
            self.get_logger().fatal(f'the loop has failed: {lines}')
        self.failed.set()
        with contextlib.suppress(*CONTEXT_ERRORS):
            if self.executor is not None:
                self.executor.wake()

    def autostart(self) -> bool:
        """Configure and activate; whether both went well."""
        self._is_autostarting = True
        try:
            for transition, trigger in (
                ('configure', self.trigger_configure),
                ('activate', self.trigger_activate),
            ):
                if trigger() != SUCCESS:
                    if self.context.ok():
                        self._say_what_is_next(transition)
                    return False
            return True
        except CONTEXT_ERRORS:
            # The node was told to end in the meantime.
            return False
        finally:
            self._is_autostarting = False

    def _say_what_is_next(self, failed: str) -> None:
        """Tell what to call once it is mended why the node has not started itself."""
        name = self.get_fully_qualified_name()
        then = f', then ros2 lifecycle set {name} activate' if failed == 'configure' else ''
        self.get_logger().error(
            f'not started: when that is mended, call: ros2 lifecycle set {name} {failed}{then}'
        )

    def halt(self) -> None:
        """Have the loop leave the robot safe and end; at once, from any thread."""
        session = self.session
        if session is not None:
            session.halt()

    def finish(self) -> None:
        """Leave the robot safe, whatever state the node is in."""
        if not self._transition.acquire(timeout=FINISH_PATIENCE):
            # It waits for the robot: without a context it gives up.
            self.context.try_shutdown()
            if not self._transition.acquire(timeout=HANG_PATIENCE):
                # Controllers are called in it: they may never return, and must not keep the
                # process.
                print('cnoid_control: a transition does not return: left behind', file=sys.stderr)
                return
        self._close()

    def destroy_node(self) -> None:
        """Serve no more and remove everything."""
        self._supervision.close()
        super().destroy_node()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is told to end.

    Returns:
        0 after a signal, 1 when something failed that cannot be recovered, 3 when the context was
        lost.
    """
    words = list(sys.argv if args is None else args)
    avoid_shared_memory()
    scheduling = request_realtime(wanted_priority(words))
    stop = catch_stop_signals()
    try:
        init_ros(words)
        node = ControlNode(words)
    except CnoidControlError as error:
        print(f'cnoid_control: {error}', file=sys.stderr)
        rclpy.try_shutdown()
        return EXIT_FAILED
    node.get_logger().info(scheduling)
    status = run_node(node, stop)
    ignore_stop_signals()
    return status


def _serve_once(executor: SingleThreadedExecutor) -> None:
    # Another thread may just have destroyed what was waited for.
    with contextlib.suppress(*CONTEXT_ERRORS):
        executor.spin_once(timeout_sec=EXECUTOR_WAIT)
    if not executor.context.ok():
        raise ExternalShutdownException
    time.sleep(EXECUTOR_PAUSE)


def run_node(node: ControlNode, stop: threading.Event) -> int:
    """Serve a node until `stop` is set, its loop fails or its context is gone; the exit status."""
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    if node.options.autostart:
        threading.Thread(target=node.autostart, name='autostart', daemon=True).start()

    def halt() -> None:
        stop.wait()
        # Not left to this thread, which may be busy.
        node.halt()
        executor.wake()

    threading.Thread(target=halt, name='halt', daemon=True).start()
    status = EXIT_OK
    try:
        while not stop.is_set() and not node.failed.is_set():
            _serve_once(executor)
        if node.failed.is_set():
            status = EXIT_FAILED if node.context.ok() else EXIT_CONTEXT_LOST
    except ExternalShutdownException:
        status = EXIT_CONTEXT_LOST
    except Exception as error:
        node.get_logger().fatal(describe(error))
        status = EXIT_FAILED
    node.finish()
    with contextlib.suppress(*CONTEXT_ERRORS):
        node.destroy_node()
    rclpy.try_shutdown(context=node.context)
    return status


if __name__ == '__main__':
    sys.exit(main())
