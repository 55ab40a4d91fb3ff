"""The class that a controller author derives from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from cnoid_control.plugin.controller_io import ControllerConfig, ControllerIO


class SimpleController:
    """A robot controller with Choreonoid's life cycle.

    Override what you need; every method has a default. The host calls them in this order:
    configure, initialize, start, then control once per tick, then stop, then unconfigure; pause
    and resume may come in between.

    Attributes:
        Parameters: dataclass of the controller's options (see `cnoid_control.parameters`);
            None for a controller without any. The host checks the options that were given against
            it and passes an instance as `config.parameters` and `io.parameters`.
    """

    Parameters: ClassVar[type | None] = None

    def configure(self, config: ControllerConfig) -> bool:
        """Prepare what does not depend on a run; False means that it cannot be used."""
        return True

    def initialize(self, io: ControllerIO) -> bool:
        """Enable inputs and outputs and take the initial state; False drops the controller."""
        return True

    def start(self) -> bool:
        """Last step before the first tick; False drops the controller (stop is not called)."""
        return True

    def control(self) -> bool:
        """Compute one tick from `io.body`, into `io.body`; False means nothing more to do."""
        return False

    def stop(self) -> None:
        """The run has ended."""

    def pause(self) -> None:
        """The loop has halted and may go on later."""

    def resume(self) -> bool:
        """The loop goes on; False is reported."""
        return True

    def unconfigure(self) -> None:
        """Undo configure."""

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow options that change while running; called between two ticks.

        To override this is to say that the controller follows the options of its `Parameters`
        that are not declared read-only: because control() reads `io.parameters` in every tick,
        or because the override applies them. Without an override the host refuses every change.
        The host replaces `io.parameters` by `new` when the override has returned.

        Args:
            old: the options in force, an instance of `Parameters`.
            new: what they are to be, checked.

        Raises:
            Exception: to refuse the change; nothing may have changed then.
        """

    def gains_of(self, joint: str) -> dict[str, float]:
        """Gains by which the controller drives a joint, by kind (kp, kd), for messages.

        Args:
            joint: name of the joint.
        """
        return {}

    def report(self) -> dict[str, Any]:
        """What the controller has to say of itself, by name: numbers and short texts.

        Shown in the log, in the summary and in the diagnostics; called outside the loop's tick.
        """
        return {}
