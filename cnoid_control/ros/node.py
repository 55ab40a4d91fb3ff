"""The node `cnoid_control`: controllers on a robot behind ros2_control."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

from cnoid_control.exceptions import CnoidControlError, describe
from cnoid_control.ros.config_parameters import ConfigParameters
from cnoid_control.ros.control_session import ControlSession
from cnoid_control.ros.diagnostics import Diagnostics
from cnoid_control.ros.fast_path import GONE
from cnoid_control.ros.mailbox_bridge import MailboxBridge
from cnoid_control.ros.node_arguments import wanted_priority
from cnoid_control.ros.node_diagnostics import NodeDiagnostics
from cnoid_control.ros.operation import Operation
from cnoid_control.ros.scheduling import request_realtime
from cnoid_control.ros.stop_server import StopServer
from cnoid_control.ros.stop_signals import catch_stop_signals, ignore_stop_signals

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE

EXIT_OK, EXIT_FAILED, EXIT_CONTEXT_LOST = 0, 1, 3
# Between two looks at its callbacks the executor sleeps: it shares the interpreter with the loop.
EXECUTOR_PAUSE = 0.002
# Time that a transition under way is given when the node is to end [s].
FINISH_PATIENCE = 1.0


class ControlNode(LifecycleNode):
    """Lifecycle node: configure initializes the controllers, activate starts them and the loop.

    Attributes:
        session: what was configured; None otherwise.
        failed: set when the loop has ended against its will.
        problem: why the last transition was refused; empty when it was not.
    """

    def __init__(self, **node: Any) -> None:
        """Declare the parameters and offer the services; nothing is read of the robot yet."""
        super().__init__(
            'cnoid_control', automatically_declare_parameters_from_overrides=True, **node
        )
        self.session: ControlSession | None = None
        self.failed = threading.Event()
        self.problem = ''
        self._transition = threading.Lock()
        self._guard_transitions()
        self._bridge = MailboxBridge(self)
        self.options = ConfigParameters(self)
        watch = NodeDiagnostics(lambda: self.session)
        self._diagnostics = Diagnostics(self, watch.collect, watch.statistics)
        self._serve('pause', lambda operation: operation.pause())
        self._serve('resume', lambda operation: operation.resume())
        self._serve('reset', self._reset)
        self._stops = StopServer(
            self,
            {
                'stop': self._answer('stop', lambda one: one.stop('stopped by ~/stop')),
                'estop': self._answer(
                    'estop', lambda one: one.stop('emergency stop by ~/estop', estop=True)
                ),
            },
        )

    def _serve(self, name: str, action: Callable[[Operation], None]) -> None:
        self.create_service(Trigger, f'~/{name}', self._answer(name, action))

    def _answer(self, name: str, action: Callable[[Operation], None]) -> Callable[[Any, Any], Any]:
        def answer(request: Any, response: Any) -> Any:
            # Another thread may clean the node up meanwhile.
            session = self.session
            try:
                if session is None:
                    raise CnoidControlError('the node is not configured')
                action(session.operation)
                response.success = True
                response.message = session.safe_state.reason or 'running'
            except Exception as error:
                # Whatever it is, it is for who has asked: the node goes on.
                said = isinstance(error, CnoidControlError)
                response.message = str(error) if said else describe(error)
                self.get_logger().warning(f'~/{name}: {response.message}')
            return response

        return answer

    def _reset(self, operation: Operation) -> None:
        operation.reset()
        self._bridge.open(operation.mailboxes())

    def _guard_transitions(self) -> None:
        """Answer a transition that is not possible now with no, instead of with an exception."""
        service = self._service_change_state
        change = service.callback

        def guarded(request: Any, response: Any) -> Any:
            try:
                return change(request, response)
            except GONE as error:
                self.get_logger().warning(f'transition refused: {error}')
                response.success = False
                return response

        service.callback = guarded

    # --- transitions --------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Wait for the robot, configure and initialize the controllers."""

        def configure() -> None:
            config, own = self.options.parse()
            self.session = ControlSession(self, config, own, self._loop_ended)
            self.options.attach(self.session.operation, self._swapped)

        return self._attempt('configure', configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start the controllers and the loop."""

        def activate() -> None:
            assert self.session is not None
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
        try:
            transition()
        except CnoidControlError as error:
            self.problem = f'cannot {what}: {error}'
            result = FAILURE
        except Exception as error:
            self.problem = f'cannot {what}: {describe(error)}'
            result = TransitionCallbackReturn.ERROR
        else:
            self.problem = ''
            result = SUCCESS
        finally:
            self._transition.release()
        if self.problem:
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

    def autostart(self) -> bool:
        """Configure and activate; whether both went well."""
        try:
            configured = self.trigger_configure() == SUCCESS
            return configured and self.trigger_activate() == SUCCESS
        except GONE:
            # The node was told to end in the meantime.
            return False

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
            self._transition.acquire()
        self._close()

    def destroy_node(self) -> None:
        """Serve no more and remove everything."""
        self._stops.close()
        super().destroy_node()


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until it is told to end.

    Returns:
        0 after a signal, 1 when something failed that cannot be recovered, 3 when the context was
        lost.
    """
    words = list(sys.argv if args is None else args)
    scheduling = request_realtime(wanted_priority(words))
    stop = catch_stop_signals()
    # rclpy's own handlers would take the context away before the last command is sent.
    rclpy.init(args=words, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = ControlNode()
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
    with contextlib.suppress(*GONE):
        executor.spin_once(timeout_sec=0.1)
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
    with contextlib.suppress(*GONE):
        node.destroy_node()
    rclpy.try_shutdown(context=node.context)
    return status


if __name__ == '__main__':
    sys.exit(main())
