"""The embedded loop against MuJoCo alone, and recording against none."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from cnoid_control.bench.row import BenchRow, Work
from cnoid_control.controllers.sr1.minimum import DGAIN, PGAIN
from cnoid_control.plugin import ControllerIO, SimpleController, StateFlag
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import RunConfig, load_config
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.recorder import Recorder


class LinkByLink(SimpleController):
    """SR1's PD hold written as in Choreonoid's sample: joint by joint, through links."""

    def initialize(self, io: ControllerIO) -> bool:
        """Command torques, read angles, and remember the posture."""
        self.body, self.dt = io.body, io.time_step
        self.q_ref = []
        for joint in self.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
            self.q_ref.append(joint.q)
        self.q_old = list(self.q_ref)
        self.gains = list(zip(PGAIN.tolist(), DGAIN.tolist(), strict=True))
        return True

    def control(self) -> bool:
        """One tick of PD control."""
        for i, joint in enumerate(self.body.joints):
            q = joint.q
            p, d = self.gains[i]
            joint.u = (self.q_ref[i] - q) * p - (q - self.q_old[i]) / self.dt * d
            self.q_old[i] = q
        return True


def open_loop(config: RunConfig, log: Path | None = None) -> ControlLoop:
    """Loop of a config, ready for its first tick; the limits and the trace are on, as in a run."""
    loop = make_loop(config, os=io.StringIO())
    if log is not None:
        loop.recorder = Recorder(log, loop.hardware.body, config.to_text())
    loop.open()
    return loop


def hand_written_loop() -> Work:
    """One tick of SR1's PD hold with nothing but MuJoCo and numpy, one-step delay included."""
    import mujoco

    loop = open_loop(load_config('sr1_pd'))
    model, data = loop.hardware.model, loop.hardware.data  # type: ignore[attr-defined]
    joints = loop.hardware.body.joint_names
    address = np.array([model.joint(name).qposadr[0] for name in joints])
    actuators = {model.actuator(i).trnid[0]: i for i in range(model.nu)}
    order = np.array([actuators[model.joint(name).id] for name in joints])
    qpos, ctrl, dt = data.qpos, data.ctrl, model.opt.timestep
    q_ref = qpos[address].copy()
    q_old = q_ref.copy()
    pending = np.zeros(model.nu)

    def tick() -> None:
        q = qpos[address]
        u = (q_ref - q) * PGAIN - (q - q_old) / dt * DGAIN
        q_old[:] = q
        ctrl[:] = pending
        pending[order] = u
        mujoco.mj_step(model, data)

    return tick


@contextmanager
def numpy_style() -> Iterator[tuple[Work, Work]]:
    """The loop with the vectorised PD, and the hand-written one."""
    loop = open_loop(load_config('sr1_pd'))
    yield loop.step, hand_written_loop()
    loop.close()


@contextmanager
def link_style() -> Iterator[tuple[Work, Work]]:
    """The loop with the PD joint by joint, and the hand-written one."""
    controller = f'{LinkByLink.__module__}:{LinkByLink.__name__}'
    loop = open_loop(load_config('sr1_pd', {'controller': controller}))
    yield loop.step, hand_written_loop()
    loop.close()


@contextmanager
def recording() -> Iterator[tuple[Work, Work]]:
    """The loop with and without a log."""
    config = load_config('sr1_pd')
    with tempfile.TemporaryDirectory() as folder:
        recorded = open_loop(config, Path(folder) / 'bench.mcap')
        plain = open_loop(config)
        yield recorded.step, plain.step
        recorded.close()
        plain.close()


MUJOCO = 'hand-written MuJoCo loop, SR1, the same PD in numpy'
# From the same ticks with one part left out after the other.
NUMPY_WHY = (
    'of some 2.3 µs the limits take 0.6 (0.4 their one comparison in numpy), the trace 0.3, the '
    'check for divergence 0.2, counting clamps 0.1; the rest is 500 steps of Python in ten calls'
)
LINKS_WHY = (
    'joint by joint the PD takes 2.6 µs more than vectorised: half of it for 58 reads and writes '
    'through properties, half for arithmetic of Python; the rest is as in loop_numpy'
)
ROWS = (
    BenchRow(
        'loop_numpy',
        'embedded loop, SR1, PD in numpy',
        MUJOCO,
        numpy_style,
        goal=0.92,
        calls=2000,
        why=NUMPY_WHY,
    ),
    BenchRow(
        'loop_links',
        'embedded loop, SR1, PD joint by joint',
        MUJOCO,
        link_style,
        goal=0.8,
        calls=2000,
        why=LINKS_WHY,
    ),
    BenchRow(
        'recording',
        'embedded loop, SR1, recording',
        'the same without',
        recording,
        kind='time',
        comparison='<=',
        goal=1.08,
        calls=2000,
    ),
)
