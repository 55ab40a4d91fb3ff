"""SR1 in physics: standing and walking controllers take turns, and it does not fall."""

from __future__ import annotations

import io

import numpy as np
import pytest

from cnoid_control import Simulation
from cnoid_control.plugin.registry import find_controller
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.hot_swap import HotSwap
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.summary import RunMonitor

RATE = 500.0


def step(loop: ControlLoop, duration: float) -> float:
    """Walk ticks for so long [s]; the largest change of an effort command between two [N m]."""
    commands = []
    for _ in range(round(duration * RATE)):
        loop.step()
        commands.append(loop.hardware.body.u.copy())
    return float(np.abs(np.diff(commands, axis=0)).max())


def test_twenty_swaps_between_standing_and_walking() -> None:
    """Ten times to walking, by torque, position and velocity in turn, and back, mid-step."""
    overrides = {'controller': 'sr1_minimum', 'active_control_only': False, 'rate': RATE}
    loop = make_loop(load_config('sr1_walk', overrides), os=io.StringIO())
    monitor = RunMonitor(loop)
    swap = HotSwap(loop, duration=0.3)
    loop.open()
    step(loop, 0.5)
    for i in range(10):
        mode = ('torque', 'position', 'velocity')[i % 3]
        walk = ManagedController('walk', find_controller('sr1_walk')(), {'mode': mode})
        stand = ManagedController('stand', find_controller('sr1_minimum')())
        for managed, duration in ((walk, 3.5), (stand, 0.8)):
            before = loop.tick
            transition = swap.begin([managed])
            largest = step(loop, duration)
            assert transition.error is None
            assert transition.winner is transition.new
            assert loop.tick - before == round(duration * RATE), 'no tick is missed'
            # A walk that nobody touches changes its efforts by up to 71 N m in a tick.
            assert largest < 75.0
    loop.close()
    assert loop.limiter is not None
    assert loop.limiter.report() == {}
    assert not monitor.fell
    assert np.degrees(monitor.max_tilt) < 5.0


@pytest.mark.parametrize('name', ['trajectory', 'motion_queue'])
def test_sr1_stands_on_where_nobody_has_tuned_the_next_controller(name: str) -> None:
    """Controllers that hold joints by PID have gains that suit the robot, not one for all."""
    with Simulation('sr1_pd', changes={'rate': RATE}, record=False) as simulation:
        simulation.run(0.5)
        simulation.swap(name)
        summary = simulation.run(3.0)
        assert not summary['fell']
        assert simulation.config.controller_name == name
        assert simulation.robot.root_link.p[2] == pytest.approx(0.708, abs=0.005)
