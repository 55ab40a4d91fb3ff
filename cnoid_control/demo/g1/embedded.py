"""The story in one process: physics, loop and networks, as fast as the machine can."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass

import numpy as np

from cnoid_control.demo.g1 import story
from cnoid_control.demo.g1.track import FALLEN, Row, Track, dance_row, limit_row, speed_row
from cnoid_control.demo.robot_sample import Sample
from cnoid_control.demo.watching import Progress
from cnoid_control.runtime.config import parse_config
from cnoid_control.simulation import Simulation

# Ticks from one sample to the next.
EVERY = 10
# Time in which commands move from one policy's to the next one's [s].
BLEND = 0.3
# Largest step of a commanded position in the swap, in steps of the walk before it.
LARGEST_JUMP = 1.5


@dataclass
class EmbeddedRun:
    """What came of it.

    Attributes:
        track: the robot's way.
        rows: lines of the table.
        dance: when the dance began and ended [s].
    """

    track: Track
    rows: list[Row]
    dance: tuple[float, float]


class EmbeddedStory:
    """Plays the story with a `Simulation`."""

    def __init__(self, dance_steps: int) -> None:
        """Build the robot and its policies; `dance_steps` is the length of the dance."""
        config = parse_config(story.configuration(dance_steps), 'g1_demo')
        self._simulation = Simulation(config, os=io.StringIO())
        self._dance_time = dance_steps * story.PERIOD
        total = story.DANCE_BEGINS + self._dance_time + story.STAND_AGAIN + story.WALK_AGAIN
        self._progress = Progress(total)
        self._samples: list[Sample] = []
        self._errors: list[float] = []

    def play(self) -> EmbeddedRun:
        """Play it from the beginning to the end."""
        begin = time.monotonic()
        with self._simulation as simulation:
            self._go_on(story.PUSH)
            simulation.push(story.PUSHED, story.FORCE, story.PUSH_TIME)
            self._go_on(story.SWAP)
            usual = self._largest_step(story.PUSH + 1.0, story.SWAP)
            simulation.swap('walk_sac', blend_time=BLEND)
            self._go_on(story.DANCE_BEGINS)
            swapped = self._largest_step(story.SWAP, story.SWAP + 2.0 * BLEND)
            simulation.swap('dance', blend_time=BLEND)
            self._go_on(story.DANCE_BEGINS + self._dance_time - BLEND, dances=True)
            ended = self._until('walk_ppo')
            self._go_on(ended + story.STAND_AGAIN + story.WALK_AGAIN)
            factor = simulation.time / (time.monotonic() - begin)
        self._progress.end()
        track = Track(self._samples)
        rows = self._rows(track, ended, (swapped, usual))
        rows.append(Row('real-time factor', f'{factor:.1f}', '', True))
        return EmbeddedRun(track, rows, (story.DANCE_BEGINS, ended))

    def _rows(self, track: Track, ended: float, steps: tuple[float, float]) -> list[Row]:
        swapped, usual = steps
        walk, push, swap, stop = story.WALK, story.PUSH, story.SWAP, story.STOP
        last = track.times[-1]
        return [
            limit_row('stands: moves by', track.drift(1.0, walk), 0.1, 'm', 2),
            speed_row('walks (PPO)', track.forward(walk + 1.0, push), story.SPEED),
            limit_row('pushed, 50 N: leans', track.tilt(push, push + 2.0), 15.0, '°'),
            speed_row('goes on', track.forward(push + 1.5, swap), story.SPEED),
            limit_row('swap to SAC: steps by', swapped, LARGEST_JUMP * usual, 'rad', 2),
            speed_row('walks (SAC)', track.forward(swap + 1.0, stop), story.SPEED),
            limit_row(
                'stops: moves by', track.drift(stop + 1.0, story.DANCE_BEGINS), 0.15, 'm', 2
            ),
            limit_row('dances: joints err by', float(np.mean(self._errors)), 0.2, 'rad', 3),
            dance_row(ended - story.DANCE_BEGINS, self._dance_time),
            speed_row('walks again (PPO)', track.forward(last - 3.0, last), story.SPEED),
            limit_row('largest tilt', track.tilt(0.0, last), FALLEN, '°'),
        ]

    def _go_on(self, until: float, dances: bool = False) -> None:
        """Take ticks up to a time [s], and keep what is to be seen."""
        simulation = self._simulation
        while simulation.time < until - 0.5 * simulation.time_step:
            simulation.run(EVERY * simulation.time_step)
            self._keep()
            self._progress.show(simulation.time)
            if dances:
                controller = simulation.controller
                reference = controller.situation.outputs['joint_pos']
                error = np.abs(simulation.robot.q[controller.joints] - reference)
                self._errors.append(float(error.mean()))

    def _until(self, controller: str, patience: float = 5.0) -> float:
        """Take ticks until a controller has taken over; the time [s]."""
        simulation = self._simulation
        last = simulation.time + patience
        while simulation.config.controller_name != controller and simulation.time < last:
            self._go_on(simulation.time + EVERY * simulation.time_step)
        return simulation.time

    def _keep(self) -> None:
        import pinocchio as pin

        robot = self._simulation.robot
        root = robot.root_link
        orientation = pin.Quaternion(root.R).coeffs()
        sample = Sample(self._simulation.time, robot.q.copy(), root.p.copy(), orientation)
        self._samples.append(sample)

    def _largest_step(self, begin: float, end: float) -> float:
        """Largest change of a commanded position from one tick to the next [rad]."""
        recorded = self._simulation.recorded
        times = recorded.time
        targets = recorded.q_target[(times >= begin) & (times <= end)]
        return float(np.abs(np.diff(targets, axis=0)).max())
