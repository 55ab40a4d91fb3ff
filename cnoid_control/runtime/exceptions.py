"""What can go wrong while controllers run: one class per fact."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, describe, safe_str


class ControllerFailed(CnoidControlError):
    """A controller did not do its part.

    Attributes:
        controller: name of the controller.
        phase: method of the life cycle in which it happened.
        tick: number of the tick, for control(); None outside the loop.
    """

    def __init__(self, controller: str, phase: str, tick: int | None, message: str) -> None:
        """Name the controller, the phase, the tick and what happened."""
        self.controller = controller
        self.phase = phase
        self.tick = tick
        when = '' if tick is None else f' at tick {tick}'
        super().__init__(f'controller {controller!r}, {phase}(){when}: {message}')


class ControllerRefused(ControllerFailed):
    """A controller returned False where that means that it cannot go on."""

    def __init__(self, controller: str, phase: str) -> None:
        """Name the controller and the phase."""
        super().__init__(controller, phase, None, 'returned False')


class ControllerRaised(ControllerFailed):
    """A controller raised an exception."""

    def __init__(
        self, controller: str, phase: str, tick: int | None, error: BaseException
    ) -> None:
        """Name the controller, the phase, the tick and the exception."""
        super().__init__(controller, phase, tick, f'raised {describe(error)}')


class ResultNotBool(ControllerFailed):
    """A controller returned something that is neither True nor False."""

    def __init__(self, controller: str, phase: str, tick: int | None, result: object) -> None:
        """Name the controller, the phase, the tick and what was returned."""
        shown = safe_str(result, repr)
        super().__init__(
            controller, phase, tick, f'returned {shown}; it must return True or False'
        )


class NoControllerLeft(CnoidControlError):
    """Every controller was dropped before the first tick."""

    def __init__(self, errors: Iterable[CnoidControlError]) -> None:
        """Say why each one was dropped."""
        reasons = '; '.join(str(error) for error in errors)
        super().__init__(f'no controller is left to run: {reasons or "none was given"}')


class ImplausibleCommands(CnoidControlError):
    """Controllers that have commanded what is no number, or far too much."""

    def __init__(self, tick: int) -> None:
        """Name the tick at which the patience ended."""
        super().__init__(
            f'tick {tick}: implausible command (not finite, or far beyond its limit); '
            'controller stopped'
        )


class ImplausibleCommand(ControllerFailed):
    """A controller that is about to take over commands what is not finite, or far too much."""

    def __init__(self, controller: str, tick: int) -> None:
        """Name the controller and the tick."""
        super().__init__(
            controller,
            'control',
            tick,
            'implausible command (not finite, or far beyond its limit)',
        )


class LoopStalled(CnoidControlError):
    """The loop has taken no tick while something waited for one."""

    def __init__(self, timeout: float) -> None:
        """Say how long [s]."""
        super().__init__(f'the loop took no tick within {timeout:g} s')


class SwapFailed(CnoidControlError):
    """A controller could not take over; the one before it goes on."""

    def __init__(self, controller: str, reason: object) -> None:
        """Name the controller and what was wrong with it."""
        self.controller = controller
        super().__init__(f'{controller!r} could not take over: {reason}')


class SwapInProgress(SwapFailed):
    """A controller that was to take over while another one was doing so."""

    def __init__(self, controller: str) -> None:
        """Name the controller that came too early."""
        super().__init__(controller, 'another controller is just taking over')


class RunEnded(CnoidControlError):
    """The run has ended before something could happen in it."""

    def __init__(self) -> None:
        """Say just that."""
        super().__init__('the run has ended')


class InSafeState(CnoidControlError):
    """Controllers could not take over, for the robot is in the safe state."""

    def __init__(self, reason: str) -> None:
        """State why it is."""
        super().__init__(f'the robot is in the safe state: {reason}')


class ControlTimeout(CnoidControlError):
    """A controller did not return from one of its methods in time."""

    def __init__(self, duration: float, limit: float, method: str = 'control') -> None:
        """Tell the method, how long it may take and how long it has taken [s]."""
        super().__init__(
            f'{method}() exceeded its {1e3 * limit:g} ms time limit ({1e3 * duration:.3g} ms)'
        )


class ModesDiffer(CnoidControlError):
    """A fallback controller that wants a joint commanded in another way than it is."""

    def __init__(self, controller: str, joint: str) -> None:
        """Name the controller and the joint."""
        super().__init__(
            f'fallback {controller!r} commands {joint!r} in another mode than the controller'
        )
