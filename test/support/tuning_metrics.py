"""Values of runs whose best is known, for the tests of searches."""

from __future__ import annotations

import math
import os
import signal
import time
from pathlib import Path


def bowl(simulation):
    """Least at kp = 300 and kd = 12; `slope` grows with kp, and is least at the other end."""
    gains = simulation.config.options['pd']
    kp, kd = gains['kp'], gains['kd']
    height = math.log10(kp / 300.0) ** 2 + math.log10(kd / 12.0) ** 2
    return {'bowl': height, 'slope': math.log10(kp)}


def slow_bowl(simulation):
    """The same, to be interrupted."""
    time.sleep(0.1)
    return bowl(simulation)


def deadly_bowl(simulation):
    """The same; it kills its worker once."""
    path = Path(os.environ['CNOID_CONTROL_TEST_FOLDER'], 'killed')
    if simulation.config.options['pd']['kp'] > 300.0 and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(simulation)
