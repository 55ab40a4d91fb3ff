"""Hot swap: another controller takes over a robot that is running."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import LoopStalled, SwapFailed, SwapInProgress
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.safety.hold import Hold
from cnoid_control.runtime.safety.safe_state import SafeStateParameters
from cnoid_control.runtime.transition import Transition


class HotSwap:
    """Brings new controllers up beside the running ones and lets them take over.

    Loading, configure(), initialize() and start() run in the thread that asks, so that the loop
    does not wait for them; stop() and unconfigure() of the one that goes run in a thread of their
    own, after the last tick in which it was called. Whatever the new one does wrong, the old one
    has the robot in every tick.

    Attributes:
        duration: time in which commands move from the old controllers' to the new ones' [s].
        driving: told the hosts that may have the robot.
        given_up: told why, in any thread, when new ones do not have the robot in the end.
    """

    def __init__(
        self,
        loop: ControlLoop,
        duration: float = 0.3,
        holding: SafeStateParameters | None = None,
        driving: Callable[..., None] = lambda *hosts: None,
    ) -> None:
        """Attach to a loop.

        Args:
            loop: the loop, running or about to run.
            duration: time in which commands move from the old controllers' to the new ones' [s].
            holding: how joints are held whose command channel changes.
            driving: told the hosts that may have the robot, when a swap begins and when it ends.
        """
        self.duration = duration
        self.driving = driving
        self.given_up: Callable[[CnoidControlError], None] = lambda error: None
        self._loop = loop
        self._holding = holding or SafeStateParameters()
        self._lock = threading.Lock()

    def begin(
        self,
        controllers: Sequence[ManagedController],
        duration: float | None = None,
        permit: Callable[[], None] = lambda: None,
    ) -> Transition:
        """Bring controllers up and have them take over from the next tick on.

        Args:
            controllers: the new ones; nothing was called on them yet.
            duration: time of the change of commands [s]; the usual one where None.
            permit: called when they are ready; raises where they may not take over any more.

        Returns:
            The transition: `begun` is set after the first good tick, `ended` at its end; `error`
            tells what was wrong where the new ones were given up.

        Raises:
            SwapInProgress: another swap has not ended yet.
            SwapFailed: a phase before the first tick failed; nothing has changed.
        """
        loop = self._loop
        name = controllers[0].name if controllers else ''
        with self._lock:
            if loop.transition is not None:
                raise SwapInProgress(name)
            new = self._bring_up(controllers, name)
            given = self._holding
            hold = Hold(
                loop.hardware.body,
                loop.hardware.time_step,
                given.kp,
                given.kd,
                given.frequency,
            )
            transition = Transition(
                loop.host,
                new,
                loop.hardware,
                loop.limiter,
                hold,
                self.duration if duration is None else duration,
            )
            try:
                permit()
                transition.prepare()
            except CnoidControlError as error:
                new.stop()
                new.unconfigure()
                raise SwapFailed(name, error) from error
            self.driving(transition.old, transition.new)
            threading.Thread(target=self._clear_up, args=(transition,), daemon=True).start()
            loop.transition = transition
        return transition

    def swap(
        self,
        controllers: Sequence[ManagedController],
        duration: float | None = None,
        timeout: float = 5.0,
        permit: Callable[[], None] = lambda: None,
    ) -> Transition:
        """Begin a swap and wait for the new ones' first good tick; not from the loop's thread.

        Args:
            controllers: the new ones; nothing was called on them yet.
            duration: time of the change of commands [s]; the usual one where None.
            timeout: longest wait for the first tick [s].
            permit: called when they are ready; raises where they may not take over any more.

        Returns:
            The transition, as `begin` does.

        Raises:
            SwapFailed: they could not take over; the old ones go on.
        """
        transition = self.begin(controllers, duration, permit)
        name = controllers[0].name
        if not transition.begun.wait(timeout):
            transition.withdraw(LoopStalled(timeout))
            if not transition.begun.wait(timeout):
                raise SwapFailed(name, LoopStalled(2.0 * timeout))
        if transition.error is not None:
            raise SwapFailed(name, transition.error) from transition.error
        return transition

    def _bring_up(self, controllers: Sequence[ManagedController], name: str) -> ControllerHost:
        loop = self._loop
        host = ControllerHost(
            controllers, loop.hardware.body, loop.hardware.time_step, loop.host.os
        )
        try:
            host.configure()
            host.initialize(standby=True)
            host.start()
            if len(host.controllers) < len(controllers):
                raise host.errors[-1]
        except CnoidControlError as error:
            host.stop()
            host.unconfigure()
            raise SwapFailed(name, error) from error
        return host

    def _clear_up(self, transition: Transition) -> None:
        """Stop the host that lost, once it is called no more."""
        transition.ended.wait()
        winner, loser = transition.old, transition.new
        if transition.winner is transition.new:
            winner, loser = loser, winner
        try:
            if not transition.superseded:
                self.driving(winner)
            if transition.error is not None:
                self.given_up(transition.error)
            loser.stop()
            loser.unconfigure()
        finally:
            transition.cleared.set()
