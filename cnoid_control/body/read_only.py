"""Arrays that refuse to be written to."""

from __future__ import annotations

import numpy as np


def read_only(array: np.ndarray) -> np.ndarray:
    """View that raises when it is written to.

    For what is computed, or shared by all clones of a body: a value written there would be lost.
    """
    view = array.view()
    view.flags.writeable = False
    return view
