"""What the author of a controller gets."""

from cnoid_control.body import StateFlag
from cnoid_control.parameters import parameter
from cnoid_control.plugin.controller_io import ControllerConfig, ControllerIO
from cnoid_control.plugin.simple_controller import SimpleController

__all__ = ['ControllerConfig', 'ControllerIO', 'SimpleController', 'StateFlag', 'parameter']
