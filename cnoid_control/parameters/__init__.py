"""Options as dataclasses, of controllers and of everything else that a config file sets up."""

from cnoid_control.parameters.exceptions import ParameterError
from cnoid_control.parameters.schema import (
    ParameterInfo,
    parameter,
    parameter_info,
    parse_parameters,
)

__all__ = ['ParameterError', 'ParameterInfo', 'parameter', 'parameter_info', 'parse_parameters']
