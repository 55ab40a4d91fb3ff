"""Succession: a named controller takes over when the one that has the robot ends or fails."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO
from weakref import WeakKeyDictionary

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.runtime.build import make_controllers
from cnoid_control.runtime.config import RunConfig, successor_config
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.hot_swap import HotSwap
from cnoid_control.runtime.loop import ControlLoop


@dataclass(frozen=True)
class TakeOver:
    """A change from a controller to its successor.

    Attributes:
        time: time of the tick in which the one before ended [s].
        before, after: names of the controllers.
        reason: why.
    """

    time: float
    before: str
    after: str
    reason: str


class Succession:
    """Brings the successor up and lets it take over, blended.

    A controller that has ended is called until its successor is ready; then the two are blended,
    as in a hot swap. One that has failed is called no more: the safe state holds the robot until
    the successor is ready, and hands over to it. Where time stands still meanwhile, in a
    simulation in this process, the successor is ready in the next tick; on a robot it is brought
    up in a thread of its own. A stop, or anything that the watchdog finds, overrules it.

    Attributes:
        history: what has happened so far.
    """

    def __init__(
        self,
        loop: ControlLoop,
        swapper: HotSwap,
        config: Callable[[], RunConfig],
        took_over: Callable[[ControllerHost, RunConfig], None] = lambda host, config: None,
    ) -> None:
        """Attach to a loop.

        Args:
            loop: the loop; it asks here from now on.
            swapper: swaps its controllers.
            config: the configuration of the controllers that have the robot.
            took_over: told the successors, and their configuration, when they are about to begin,
                or have begun.
        """
        self.history: list[TakeOver] = []
        self._loop = loop
        self._swapper = swapper
        self._config = config
        self._took_over = took_over
        # Whose end was answered, and the successor that is ready.
        self._answered: ControllerHost | None = None
        self._failed: TakeOver | None = None
        self._ready: tuple[ControllerHost, RunConfig] | None = None
        self._attempt: object | None = None
        self._lock = threading.Lock()
        loop.succession = self

    @property
    def is_pending(self) -> bool:
        """Whether the robot is held until a successor is ready."""
        return self._failed is not None

    # --- the loop -----------------------------------------------------------------------------

    def ended(self) -> bool:
        """Whether somebody takes over from controllers that have no more to do."""
        loop, host = self._loop, self._loop.host
        if self._answered is host:
            return self._attempt is not None or loop.transition is not None
        self._answered = host
        config = self._successor()
        if config is None:
            return False
        change = self._change(config, 'it has ended')
        attempt = self._attempt = object()
        self._beside(lambda: self._swap(config, change, attempt))
        return self._attempt is not None or loop.transition is not None

    def failed(self, error: CnoidControlError) -> None:
        """Have the successor take over from controllers that have failed, once it is ready."""
        if self.is_pending:
            return
        config = self._successor()
        if config is None:
            return
        self._failed = self._change(config, str(error))
        attempt = self._attempt = object()
        self._beside(lambda: self._bring_up(config, attempt))

    def ask_again(self) -> None:
        """Have the successor of controllers that have ended brought up anew in their next tick.

        It was given up because the robot is held for a while, as by an enabling switch.
        """
        self._answered = None

    def cancel(self) -> None:
        """Give a successor up: the robot was stopped, reset or left, or the watchdog tripped."""
        with self._lock:
            self._attempt = self._failed = None
            ready, self._ready = self._ready, None
        if ready is not None:
            ready[0].end_beside()

    def overrule(self, reason: str) -> None:
        """Give a successor up, also one that was not asked for yet, because of a finding."""
        self.cancel()
        name = self._config().successor
        if name:
            self._say(f'{name} does not take over, the robot is held: {reason}')

    def advance(self) -> None:
        """Hand over to a successor that is ready, between two ticks."""
        if self._ready is None:
            return
        with self._lock:
            (host, config), self._ready = self._ready, None
            change, self._failed, self._attempt = self._failed, None, None
        assert change is not None
        old = self._loop.host
        try:
            self._loop.hand_over(host)
        except CnoidControlError as error:
            self._say(f'error: {change.after}: cannot take over: {error}')
            host.end_beside()
            return
        self._took_over(host, config)
        self._note(change)
        old.end_beside()

    # --- bringing up --------------------------------------------------------------------------

    def _successor(self) -> RunConfig | None:
        try:
            return successor_config(self._config())
        except CnoidControlError as error:
            self._say(f'error: {error}')
            return None

    def _change(self, config: RunConfig, reason: str) -> TakeOver:
        before = self._config().controller_name
        return TakeOver(self._loop.hardware.time, before, config.controller_name, reason)

    def _beside(self, function: Callable[[], None]) -> None:
        if self._loop.hardware.is_simulated:
            function()
        else:
            threading.Thread(target=function, name='successor', daemon=True).start()

    def _swap(self, config: RunConfig, change: TakeOver, attempt: object) -> None:
        def begin(new: ControllerHost) -> None:
            if self._attempt is not attempt:
                raise CnoidControlError('it is not wanted any more')
            # Before its first tick, in which it may end already.
            self._took_over(new, config)

        try:
            self._swapper.begin(make_controllers(config), precondition=begin)
        except CnoidControlError as error:
            self._say(f'error: {change.after}: cannot take over: {error}')
        else:
            self._note(change)
        finally:
            with self._lock:
                if self._attempt is attempt:
                    self._attempt = None

    def _bring_up(self, config: RunConfig, attempt: object) -> None:
        host: ControllerHost | None = None
        try:
            host = self._swapper.bring_up(make_controllers(config))
            # Command controllers may be others. Of one that is given up they are left alone.
            if self._attempt is attempt:
                self._loop.hardware.prepare(host.request())
        except CnoidControlError as error:
            self._say(f'error: {config.controller_name}: cannot take over: {error}')
            if host is not None:
                host.end_beside()
            with self._lock:
                if self._attempt is attempt:
                    self._attempt = self._failed = None
            return
        with self._lock:
            if self._attempt is attempt:
                self._ready = host, config
                return
        host.end_beside()

    # --- messages -----------------------------------------------------------------------------

    def _note(self, change: TakeOver) -> None:
        self.history.append(change)
        self._say(f'{change.before}: {change.reason}: {change.after} takes over')

    def _say(self, text: str) -> None:
        os: TextIO = self._loop.host.os
        print(text, file=os)


def follow_succession(loop: ControlLoop, config: RunConfig) -> Succession:
    """Have successors take over in a loop whose configuration nobody else keeps.

    Args:
        loop: the loop.
        config: the configuration of its controllers at the start.
    """
    configs = WeakKeyDictionary({loop.host: config})
    swapper = HotSwap(loop, holding=config.parameters.safe_state)
    return Succession(loop, swapper, lambda: configs[loop.host], configs.__setitem__)
