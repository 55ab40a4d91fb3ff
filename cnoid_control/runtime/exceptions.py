"""What can go wrong while controllers run; classes of what is caught by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cnoid_control.exceptions import CnoidControlError, describe, safe_str
from cnoid_control.parameters import ParameterError
from cnoid_control.plugin.own_frames import calls_text, own_frames, place_text


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


def controller_refused(controller: str, phase: str) -> ControllerFailed:
    """Error of a controller that returned False where that means that it cannot go on."""
    return ControllerFailed(controller, phase, None, 'returned False')


class ControllerRaised(ControllerFailed):
    """A controller raised an exception.

    Attributes:
        traceback: the calls that led there, from the controller's own file on, line by line;
            empty for an error that the controller raised on purpose, whose text says all.
    """

    def __init__(
        self, controller: str, phase: str, tick: int | None, error: BaseException
    ) -> None:
        """Name the controller, the phase, the tick and the exception."""
        frames = [] if isinstance(error, CnoidControlError) else own_frames(error)
        self.traceback = calls_text(error, frames)
        said = describe(error)
        if isinstance(error, ParameterError) and not error.key.startswith(f'{controller}.'):
            # The controller does not know under which name its options stand.
            said = f'{type(error).__name__}: {controller}.{error}'
        super().__init__(controller, phase, tick, f'raised {said}{place_text(frames)}')


def result_not_bool(
    controller: str, phase: str, tick: int | None, result: object
) -> ControllerFailed:
    """Error of a controller that returned something that is neither True nor False."""
    shown = safe_str(result, repr)
    return ControllerFailed(
        controller, phase, tick, f'returned {shown}; it must return True or False'
    )


class NoControllerLeft(CnoidControlError):
    """Every controller was dropped before the first tick.

    Attributes:
        traceback: the calls that led to what was raised, if anything was.
    """

    def __init__(self, errors: Sequence[CnoidControlError]) -> None:
        """Say why each one was dropped."""
        calls = (getattr(error, 'traceback', '') for error in errors)
        self.traceback = '\n'.join(filter(None, calls))
        reasons = '; '.join(str(error) for error in errors)
        super().__init__(f'no controller is left to run: {reasons or "none was given"}')


def implausible_command(
    controllers: Iterable[str], tick: int, command: object, count: int = 1
) -> ControllerFailed:
    """Error of controllers with a command that was not finite, or far beyond its limit.

    Args:
        controllers: names of those that command the joint.
        tick: the first tick with such a command.
        command: joint, value and limits of the last one; None where that is not known.
        count: number of such ticks in a row.
    """
    which = '' if command is None else f': {command}'
    row = f', {count} ticks in a row' if count > 1 else ''
    return ControllerFailed(
        "', '".join(controllers),
        'control',
        tick,
        f'implausible command (not finite, or far beyond its limit){row}{which}',
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


def run_ended() -> CnoidControlError:
    """Error of what could not happen, for the run has ended."""
    return CnoidControlError('the run has ended')


class InSafeState(CnoidControlError):
    """Controllers could not take over, for the robot is in the safe state."""

    def __init__(self, reason: str) -> None:
        """State why it is."""
        super().__init__(f'the robot is in the safe state: {reason}')


def control_timeout(duration: float, limit: float, method: str = 'control') -> CnoidControlError:
    """Error of a controller that did not return from one of its methods in time.

    Args:
        duration: how long it has taken [s].
        limit: how long it may take [s].
        method: the method.
    """
    return CnoidControlError(
        f'{method}() exceeded its {1e3 * limit:g} ms time limit ({1e3 * duration:.3g} ms)'
    )


class ModesDiffer(CnoidControlError):
    """A fallback controller that wants a joint commanded in another way than it is."""

    def __init__(self, controller: str, joint: str) -> None:
        """Name the controller and the joint."""
        super().__init__(
            f'fallback {controller!r} commands {joint!r} in another mode than the controller'
        )
