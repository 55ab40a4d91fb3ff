"""Start-up without looks for garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_start() -> Iterator[None]:
    """While it is entered nothing looks for garbage.

    Imports and models make objects by the hundred thousand, and next to all of them stay: to go
    through them again and again is a fifth of what they cost.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
