"""What the guards of the loop cost: limits where nothing is limited, a guarded tick."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

from cnoid_control.bench.row import BenchRow, Work
from cnoid_control.body import StateFlag
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.runtime.safety.limits import CommandLimiter, LimitsParameters


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


@contextmanager
def guarded_tick() -> Iterator[tuple[Work, Work]]:
    """A tick of SR1 standing, and one of the same robot and controllers without anything else."""
    config = load_config('sr1_pd')
    loop, bare = (make_loop(config, os=io.StringIO()) for _ in range(2))
    for one in (loop, bare):
        one.open()
    hardware, host, limiter, trace = bare.hardware, bare.host, bare.limiter, bare.trace
    assert trace is not None

    def tick() -> None:
        hardware.read()
        host.control(0, hardware.time)
        trace.record(hardware.time)
        limiter.apply(hardware.time_step)
        hardware.write()

    loop.monitor.start(10.0, None)
    yield loop.step, tick
    loop.monitor.stop()
    for one in (loop, bare):
        one.close()


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
        'the same without these',
        guarded_tick,
        kind='time',
        comparison='<=',
        goal=1.15,
    ),
)
