"""The small interface of controllers that are put together from parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cnoid_control.plugin import ControllerIO

Message = dict[str, Any]


class BaseController:
    """A block that turns a message of named inputs into a message of named outputs.

    Inputs by convention, vectors in joint-id order: `t` [s], `dt` [s], `q`, `dq` (measured),
    `qcmd`, `dqcmd` (commanded), and one vector a sensor under the sensor's name. Outputs by
    convention:

    - `qcmd`: PID with velocity 0; with `dqcmd` too: PID; with `torquecmd` too: PID with that
      torque added; `kp`, `ki` and `kd` change the gains,
    - `dqcmd` and `tcmd`: that velocity for the time tcmd [s],
    - `torquecmd`: that torque,
    - nothing, or None: the last command stays in force.

    NaN in a command says nothing of that joint, so that several blocks can command joints of
    their own; where the keys differ from joint to joint, each joint goes by the ones that it has.
    """

    def output(self, **inputs: Any) -> Message | None:
        """Outputs for these inputs; must not change the block's state."""
        return {}

    def advance(self, **inputs: Any) -> None:
        """Go on by one tick: the one place where the state changes."""

    def signal(self, type: str, **inputs: Any) -> None:
        """Take note of an event: 'enter' and 'exit' of a state, 'reset', or one's own."""

    def output_and_advance(self, **inputs: Any) -> Message | None:
        """Output for this tick, then advance."""
        result = self.output(**inputs)
        self.advance(**inputs)
        return result

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to do."""
        return False

    def children(self) -> Mapping[Any, BaseController]:
        """Blocks that it is made of, by name."""
        return {}

    def attach(self, io: ControllerIO) -> None:
        """Enable what the block needs of the robot; called once, before the first tick."""
        for child in self.children().values():
            child.attach(io)

    def describe(self) -> str:
        """What it is, in a word or two."""
        return type(self).__name__


def named(controllers: Mapping[Any, BaseController] | list[Any]) -> dict[Any, BaseController]:
    """Controllers by name; those of a list by their number."""
    if isinstance(controllers, Mapping):
        return dict(controllers)
    return dict(enumerate(controllers))
