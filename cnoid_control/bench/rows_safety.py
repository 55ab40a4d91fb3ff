"""What the guards of the loop cost: limits where nothing is limited, a guarded tick."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

from cnoid_control.bench.row import BenchRow, Work
from cnoid_control.body import StateFlag
from cnoid_control.runtime.assembly import make_loop, make_robot
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.guarded_loop import GuardedLoop
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.safety.limits import CommandLimiter, LimitsParameters
from cnoid_control.runtime.safety.safe_state import SafeState
from cnoid_control.runtime.safety.watchdog import Watchdog


@contextmanager
def limits() -> Iterator[tuple[Work, Work]]:
    """The limiter when nothing is to be limited, and when one joint is."""
    config = load_config('sr1_pd')
    works = []
    for effort in (1.0, 600.0):
        body = make_robot(config.parameters.robot, config.folder)
        for joint in body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
        body.u[:] = 1.0
        limiter = CommandLimiter(body, LimitsParameters(), config.time_step)

        def work(body=body, limiter=limiter, effort=effort) -> None:  # type: ignore[no-untyped-def]
            body.u[0] = effort
            limiter.apply(config.time_step)

        works.append(work)
    yield works[0], works[1]


def guard(plain: ControlLoop) -> GuardedLoop:
    """The same loop with all its guards."""
    assert plain.limiter is not None
    hardware, given = plain.hardware, load_config('sr1_pd').parameters
    loop = GuardedLoop(
        hardware,
        plain.host,
        Watchdog(given.watchdog),
        SafeState(hardware.body, given.safe_state, hardware.time_step),
        plain.limiter,
        trace=plain.trace,
    )
    loop.guard.start()
    return loop


@contextmanager
def guarded_tick() -> Iterator[tuple[Work, Work]]:
    """A tick of SR1 standing with all guards, and one without."""
    config = load_config('sr1_pd')
    guarded = guard(make_loop(config, os=io.StringIO()))
    plain = make_loop(config, os=io.StringIO())
    for loop in (guarded, plain):
        loop.open()
    guarded.start_monitor()
    yield guarded.step, plain.step
    guarded.stop_monitor()
    for loop in (guarded, plain):
        loop.close()


ROWS = (
    BenchRow(
        'limits',
        'limits of 29 efforts when nothing is to be limited',
        'the rules in full, when one joint is',
        limits,
        goal=6.0,
    ),
    BenchRow(
        'guarded_tick',
        'tick of SR1 standing with watchdog, safe state and hang monitor',
        'the same without',
        guarded_tick,
        kind='time',
        comparison='<=',
        goal=1.15,
    ),
)
