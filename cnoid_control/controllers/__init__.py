"""The controllers that come with the package."""

from cnoid_control.lazy import lazy_names

_MODULES = {'OperationalSpaceController': 'operational_space', 'PDController': 'pd'}
__all__ = ['OperationalSpaceController', 'PDController']

__getattr__ = lazy_names(__name__, _MODULES)
