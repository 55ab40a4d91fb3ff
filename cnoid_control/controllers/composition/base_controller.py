"""Blocks: controllers as functions of named inputs and outputs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cnoid_control.controllers.composition.exceptions import CompositionError

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
    - `torquecmd`: that torque; with `qref`, the position that it is for, which is no command but
      what logs and summaries compare the joint with,
    - `pose/LINK`, `twist/LINK`, `wrench/LINK` and `device/NAME`: see `LinkCommands`,
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

    @property
    def active_state(self) -> str:
        """Name of the state that it is in, which logs show; empty where it has none."""
        return ''

    def children(self) -> Mapping[Any, BaseController]:
        """Blocks that it is made of, by name."""
        return {}

    def attach(self, io: ControllerIO) -> None:
        """Enable what the block needs of the robot; called once, before the first tick."""
        for child in self.children().values():
            child.attach(io)

    def update_options(self, options: Mapping[str, Any]) -> None:
        """Follow other options while running; a block that cannot do so refuses.

        Args:
            options: all options of the block.

        Raises:
            CompositionError: it cannot.
        """
        raise CompositionError(
            f'the options of {self.describe()} cannot change while the composition runs'
        )

    def describe(self) -> str:
        """What it is, in a word or two."""
        return type(self).__name__


def named(controllers: Mapping[Any, BaseController] | list[Any]) -> dict[Any, BaseController]:
    """Controllers by name; those of a list by their number."""
    if isinstance(controllers, Mapping):
        return dict(controllers)
    return dict(enumerate(controllers))


logger = logging.getLogger(__name__)


class ComposeController(BaseController):
    """Takes the elements named by index from each item, into the same places of one vector."""

    def __init__(
        self, items: Mapping[str, Sequence[int]], outitem: str, flatten: bool = True
    ) -> None:
        """Say what comes from where.

        Args:
            items: indices by item.
            outitem: item of the result.
            flatten: whether the result is a vector with 0 in the holes; otherwise a dict of the
                elements by index.
        """
        self.items = {item: list(indices) for item, indices in items.items()}
        self.outitem = outitem
        self.flatten = flatten

    def output(self, **inputs: Any) -> Message:
        """The composed vector."""
        elements: dict[int, float] = {}
        for item, indices in self.items.items():
            if item not in inputs:
                logger.warning(
                    'item %r is to be composed into %r and is missing', item, self.outitem
                )
                continue
            for index in indices:
                elements[index] = inputs[item][index]
        if not self.flatten:
            return {self.outitem: elements}
        size = 1 + max((index for part in self.items.values() for index in part), default=-1)
        vector = np.zeros(size)
        for index, value in elements.items():
            vector[index] = value
        return {self.outitem: vector}


class LambdaController(BaseController):
    """Puts out f(arg1, ..., argk) of named inputs."""

    def __init__(
        self,
        f: Callable[..., Any],
        argnames: Sequence[str] = (),
        outnames: str | Sequence[str] | None = None,
    ) -> None:
        """Wrap a function.

        Args:
            f: the function; it must not keep state.
            argnames: items that are its arguments, in order; None for one that is missing.
            outnames: item of its result, items of the elements of its result, or None where it
                returns a message itself.
        """
        self.f = f
        self.argnames = tuple(argnames)
        self.outnames = outnames

    def output(self, **inputs: Any) -> Message:
        """Call the function."""
        for name in self.argnames:
            if name not in inputs:
                logger.warning('argument %r of %s is missing', name, self.f)
        result = self.f(*(inputs.get(name) for name in self.argnames))
        if self.outnames is None:
            return result
        if isinstance(self.outnames, str):
            return {self.outnames: result}
        return dict(zip(self.outnames, result, strict=True))


class LinearController(BaseController):
    """Puts out the sum of K x over some inputs x, plus an offset.

    Attributes:
        type: item of the result, such as 'torquecmd'.
        gains: gain matrix, or scalar, of each item.
        offset: added to the sum.
    """

    def __init__(
        self, type: str, gains: Mapping[str, Any] | None = None, offset: Any = 0.0
    ) -> None:
        """Take the item to put out, the gains by item and the offset."""
        self.type = type
        self.gains = {item: np.asarray(gain, float) for item, gain in (gains or {}).items()}
        self.offset = np.asarray(offset, dtype=float)

    def output(self, **inputs: Any) -> Message:
        """The sum; an item that is missing is left out with a warning."""
        total = self.offset
        for item, gain in self.gains.items():
            if item not in inputs:
                logger.warning('item %r of a linear controller is missing', item)
                continue
            value = np.asarray(inputs[item], dtype=float)
            total = total + (gain @ value if gain.ndim == 2 else gain * value)
        return {self.type: total}
