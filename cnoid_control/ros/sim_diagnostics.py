"""What the simulated robot tells of itself on /diagnostics."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from diagnostic_msgs.msg import DiagnosticStatus

from cnoid_control.ros.diagnostics import OK, WARN, make_status
from cnoid_control.ros.sim_commands import CommandInput
from cnoid_control.ros.sim_loop import Phase, SimulationLoop


class SimulationDiagnostics:
    """Status of the simulation: how fast it goes, what it waits for, what it refused."""

    def __init__(self, loop: SimulationLoop, inputs: Callable[[], Sequence[CommandInput]]) -> None:
        """Look at this simulation."""
        self._loop = loop
        self._inputs = inputs
        self._before = (time.monotonic(), 0, 0)
        self._numbers: dict[str, float] = {}

    def statistics(self) -> dict[str, float]:
        """Numbers of the last look."""
        return self._numbers

    def collect(self) -> list[DiagnosticStatus]:
        """The present status."""
        loop, now = self._loop, time.monotonic()
        then, ticks, timeouts = self._before
        self._before = (now, loop.ticks, loop.pacing.timeouts)
        simulated = (loop.ticks - ticks) * loop.hardware.time_step
        factor = simulated / max(now - then, 1e-9)
        refused = sum(source.refused for source in self._inputs())
        self._numbers = {
            'real_time_factor': factor,
            'ticks': float(loop.ticks),
            'timeouts': float(loop.pacing.timeouts),
            'overruns': float(loop.pacing.overruns),
            'refused': float(refused),
        }
        values: dict[str, object] = {
            'active controllers': ', '.join(source.name for source in self._inputs()),
            'pacing': loop.pacing.mode,
            'real-time factor': factor,
            'ticks': loop.ticks,
            'commands that did not come in time': loop.pacing.timeouts,
            'overruns': loop.pacing.overruns,
            'commands refused': refused,
        }
        late = loop.pacing.timeouts - timeouts
        if loop.phase is Phase.RUNNING and late:
            return [make_status('simulation', WARN, f'{late} commands did not come', values)]
        return [make_status('simulation', OK, loop.phase.value, values)]
