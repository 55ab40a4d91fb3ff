"""Robot controllers written once: run in physics on a laptop, and unchanged on a real robot."""

from typing import TYPE_CHECKING

from cnoid_control.environment.registration import register
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.lazy import lazy_names

__version__ = '0.1.0'

__all__ = [
    'Body',
    'CnoidControlError',
    'ControllerConfig',
    'ControllerIO',
    'JointPath',
    'Link',
    'SimpleController',
    'Simulation',
    'StateFlag',
    'evaluate',
    'load_robot',
    'parameter',
    'run',
    'tune',
]

if TYPE_CHECKING:
    from cnoid_control.body import Body, JointPath, Link, StateFlag
    from cnoid_control.evaluation.evaluator import evaluate
    from cnoid_control.plugin import ControllerConfig, ControllerIO, SimpleController, parameter
    from cnoid_control.simulation import Simulation, load_robot, run
    from cnoid_control.tuning.tuner import tune
else:
    # The command line answers before numpy, pinocchio and the rest have been imported.
    __getattr__ = lazy_names(
        __name__,
        {
            **dict.fromkeys(('Body', 'JointPath', 'Link', 'StateFlag'), 'body'),
            **dict.fromkeys(('ControllerConfig', 'ControllerIO', 'SimpleController'), 'plugin'),
            'parameter': 'parameters',
            **dict.fromkeys(('Simulation', 'load_robot', 'run'), 'simulation'),
            'evaluate': 'evaluation.evaluator',
            'tune': 'tuning.tuner',
        },
    )

register()
