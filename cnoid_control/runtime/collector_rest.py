"""The garbage collector's rest while a loop must keep time."""

from __future__ import annotations

import gc
import sys

# A busy Python thread may hold the interpreter for this long [s]; the default is 5 ms.
SWITCH_INTERVAL = 5e-5


class CollectorRest:
    """Keeps the garbage collector out of the way while the loop runs.

    What is alive at the beginning is put aside for good, and nothing is collected until the end.
    """

    def __init__(self) -> None:
        """Change nothing yet."""
        self._resting = False
        self._interval = sys.getswitchinterval()

    def begin(self) -> None:
        """Collect once, then let the collector rest; threads hand over faster."""
        if self._resting:
            return
        self._resting = True
        gc.collect()
        gc.freeze()
        gc.disable()
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)

    def end(self) -> None:
        """Let the collector work again."""
        if not self._resting:
            return
        self._resting = False
        sys.setswitchinterval(self._interval)
        gc.enable()
        gc.unfreeze()
        gc.collect()
