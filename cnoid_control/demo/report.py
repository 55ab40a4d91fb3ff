"""Results of the demonstration: a table, a picture and a plot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cnoid_control.demo.process import DemoFailed
from cnoid_control.demo.robot_sample import set_state, tilt_of

if TYPE_CHECKING:
    from cnoid_control.body import Body
    from cnoid_control.demo.robot_sample import Sample

FORCE_SENSORS = ('LeftAnkleForceSensor', 'RightAnkleForceSensor')
GRAVITY = 9.80665
# What counts as standing.
MAX_POSTURE_ERROR, MAX_TILT, FORCE_TOLERANCE = 0.1, 0.09, 0.1


def expected_ankle_force(body: Body) -> float:
    """Return the weight that both ankle sensors carry together: all but the feet [N]."""
    feet = [device.link for device in body.devices if device.name in FORCE_SENSORS]
    return GRAVITY * (body.mass - sum(foot.m for foot in feet if foot is not None))


@dataclass(frozen=True)
class Findings:
    """Measurements of the run, with the expected values.

    Attributes:
        duration: simulated time [s].
        posture_error: largest difference of a joint to the posture that is held [rad].
        tilt: largest angle to the vertical [rad].
        force: upward force in both ankle sensors at the end [N].
        weight: the same, by the masses of the model [N].
        real_time_factor: simulated time per wall-clock time.
        latency: median and 99th percentile from a state to the commands that answer it [s].
    """

    duration: float
    posture_error: float
    tilt: float
    force: float
    weight: float
    real_time_factor: float
    latency: tuple[float, float]

    def judge(self) -> None:
        """Raise DemoFailed unless the robot stands as it should."""
        if self.posture_error > MAX_POSTURE_ERROR or self.tilt > MAX_TILT:
            raise DemoFailed('SR1 does not stand: its posture error or its tilt is too large')
        if abs(self.force - self.weight) > FORCE_TOLERANCE * self.weight:
            raise DemoFailed(f'the ankles carry {self.force:.1f} N and not {self.weight:.1f} N')


def measure(
    body: Body, samples: list[Sample], latencies: list[float], wall_time: float
) -> Findings:
    """Sum up a run.

    Args:
        body: the robot in the posture that it was to hold.
        samples: what was seen.
        latencies: times from states to commands [s].
        wall_time: duration by the wall clock [s].
    """
    median, late = np.percentile(latencies or [np.nan], [50, 99])
    return Findings(
        duration=samples[-1].time,
        posture_error=max(float(np.abs(sample.q - body.q).max()) for sample in samples),
        tilt=max(tilt_of(sample) for sample in samples),
        force=float(samples[-1].forces.sum()),
        weight=expected_ankle_force(body),
        real_time_factor=(samples[-1].time - samples[0].time) / wall_time,
        latency=(float(median), float(late)),
    )


def print_table(found: Findings, rate: float) -> None:
    """Print what was found; `rate` is that of the controller [Hz]."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f'SR1 standing for {found.duration:.1f} s')
    table.add_column('')
    table.add_column('seen', justify='right')
    table.add_column('expected', justify='right')
    reached = rate * found.real_time_factor
    median, late = (1e3 * value for value in found.latency)
    for row in (
        ('largest posture error', f'{found.posture_error:.4f} rad', f'< {MAX_POSTURE_ERROR} rad'),
        ('largest tilt', f'{np.degrees(found.tilt):.2f}°', f'< {np.degrees(MAX_TILT):.0f}°'),
        ('force in both ankles', f'{found.force:.1f} N', f'{found.weight:.1f} N'),
        ('loop rate', f'{reached:.0f} Hz', f'{rate:.0f} Hz for real time'),
        ('latency, median', f'{median:.2f} ms', ''),
        ('latency, 99 %', f'{late:.2f} ms', ''),
        ('real-time factor', f'{found.real_time_factor:.2f}', ''),
    ):
        table.add_row(*row)
    Console().print(table)


def save_pictures(out: Path, body: Body, samples: list[Sample]) -> None:
    """Write sr1.png, the robot at the end, and demo.png, the run over time.

    Args:
        out: folder.
        body: the robot in the posture that it was to hold.
        samples: what was seen.
    """
    from cnoid_control.hardware.mujoco.picture import save_picture

    save_plot(out / 'demo.png', samples, body.q.copy(), expected_ankle_force(body))
    seen = body.clone()
    set_state(seen, samples[-1])
    save_picture(out / 'sr1.png', [seen])
    print(f'picture: {out / "sr1.png"}   plot: {out / "demo.png"}   logs: {out / "log"}')


def save_plot(path: Path, samples: list[Sample], reference: np.ndarray, weight: float) -> None:
    """Plot posture error, tilt and ankle forces over time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    times = [sample.time for sample in samples]
    figure = Figure(figsize=(8, 7), layout='constrained')
    FigureCanvasAgg(figure)
    above, middle, below = figure.subplots(3, 1, sharex=True)
    above.plot(times, [np.abs(sample.q - reference).max() for sample in samples])
    above.set_ylabel('largest posture error [rad]')
    middle.plot(times, [np.degrees(tilt_of(sample)) for sample in samples])
    middle.set_ylabel('tilt [deg]')
    for i, name in enumerate(FORCE_SENSORS):
        below.plot(times, [sample.forces[i] for sample in samples], label=name)
    below.axhline(weight / 2, color='0.6', linestyle='--', label='half the weight above')
    below.set_ylabel('upward force [N]')
    below.set_xlabel('simulated time [s]')
    below.legend()
    for axes in (above, middle, below):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=100)
