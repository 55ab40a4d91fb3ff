"""Estimates against the simulated truth, while SR1 walks and stands."""

from __future__ import annotations

import copy
import io
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from cnoid_control.bench.row import MetricRow
from cnoid_control.controllers.composition import MultiController
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import load_config, parse_config
from cnoid_control.runtime.loop import ControlLoop

RATE_CUTOFF = 50.0


class WalkErrors(NamedTuple):
    """Errors of the estimates over a walk.

    Attributes:
        drift: error of the final position, share of the distance.
        tilt: root mean square of the tilt error [deg].
        speed: root mean square of the base velocity error [m/s].
        rate: root mean square of the joint velocity error [rad/s].
    """

    drift: float
    tilt: float
    speed: float
    rate: float


def open_stages(
    config: str, stages: dict[str, Any], model: str = ''
) -> tuple[ControlLoop, MultiController]:
    """Loop of a config in which stages run side by side, ready for its first tick."""
    loaded = load_config(config, {'robot.model': model} if model else {})
    values = copy.deepcopy(loaded.values)
    values['controller'] = 'multi'
    values['multi'] = {'stages': stages}
    loop = make_loop(parse_config(values, config, loaded.folder), os=io.StringIO())
    loop.open()
    controller: Any = loop.host.controllers[0].controller
    return loop, controller.composition


@lru_cache(maxsize=4)
def walk_errors(contact: str = 'auto', model: str = '') -> WalkErrors:
    """Errors over SR1's walk of half a metre.

    Args:
        contact: what says which feet stand, an option of the estimator.
        model: another model file of SR1; its own where empty.
    """
    encoder = {
        'controller': 'encoder_estimator',
        'options': {'cutoff': RATE_CUTOFF},
        'outputs': {'dq': 'dq_estimate'},
    }
    stages = {
        'base': {'controller': 'base_estimator', 'options': {'contact': contact}},
        'encoder': encoder,
        'walk': {'controller': 'sr1_walk', 'after': ['base', 'encoder']},
    }
    loop, composition = open_stages('sr1_walk', stages, model)
    root = loop.hardware.body.root_link
    start = root.p.copy()
    tilts, speeds, rates = [], [], []
    going_on = True
    while going_on:
        going_on = loop.step()
        register = composition.register
        tilts.append(np.arccos(min(1.0, float(root.R[2] @ register['root_R'][2]))))
        speeds.append(np.square(register['root_v'] - root.v).sum())
        rates.append(np.square(register['dq_estimate'] - register['dq']).mean())
    distance = float(np.linalg.norm(root.p - start))
    drift = float(np.linalg.norm(composition.register['root_p'] - root.p)) / distance
    loop.close()
    tilt = np.degrees(np.sqrt(np.mean(np.square(tilts))))
    return WalkErrors(drift, float(tilt), np.sqrt(np.mean(speeds)), np.sqrt(np.mean(rates)))


def weight_error() -> float:
    """Error of the force from outside on SR1 while it stands, share of its weight."""
    stages = {
        'truth': {'controller': 'true_state'},
        'outside': {'controller': 'momentum_observer', 'after': ['truth']},
        'stand': {'controller': 'sr1_minimum', 'after': ['outside']},
    }
    loop, composition = open_stages('sr1_pd', stages)
    for _ in range(1500):
        loop.step()
    weight = np.array([0.0, 0.0, loop.hardware.body.mass * 9.80665])
    force = composition.register['external_wrench'][:3]
    loop.close()
    return float(np.linalg.norm(force - weight) / weight[2])


WALK = 'the simulated truth, SR1 walking half a metre'
ROWS = (
    MetricRow(
        'base_drift',
        'base estimate, final position error of the distance',
        WALK,
        lambda: 100.0 * walk_errors().drift,
        '%',
        goal=5.0,
    ),
    MetricRow(
        'base_tilt',
        'base estimate, tilt error RMS',
        WALK,
        lambda: walk_errors().tilt,
        'deg',
        goal=1.0,
    ),
    MetricRow(
        'base_speed',
        'base estimate, velocity error RMS',
        WALK,
        lambda: walk_errors().speed,
        'm/s',
        goal=0.02,
    ),
    MetricRow(
        'joint_rate',
        f'joint velocity from encoders, {RATE_CUTOFF:g} Hz, error RMS',
        WALK,
        lambda: walk_errors().rate,
        'rad/s',
        goal=0.1,
    ),
    MetricRow(
        'outside_force',
        'force from outside by the momentum observer, error',
        "SR1's weight, standing",
        lambda: 100.0 * weight_error(),
        '%',
        goal=1.0,
    ),
)
