"""Robot controllers written once: run in physics on a laptop, and unchanged on a real robot."""

from cnoid_control.body import Body, Link, StateFlag
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.plugin import ControllerConfig, ControllerIO, SimpleController, parameter

__version__ = '0.1.0'

__all__ = [
    'Body',
    'CnoidControlError',
    'ControllerConfig',
    'ControllerIO',
    'Link',
    'SimpleController',
    'StateFlag',
    'parameter',
]
