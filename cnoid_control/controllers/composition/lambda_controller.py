"""Any function as a controller."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from cnoid_control.controllers.composition.base_controller import BaseController, Message

logger = logging.getLogger(__name__)


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
