"""Configurations as gymnasium environments."""

from typing import TYPE_CHECKING

from cnoid_control.lazy import lazy_names

__all__ = ['Environment']

if TYPE_CHECKING:
    from cnoid_control.environment.environment import Environment
else:
    __getattr__ = lazy_names(__name__, {'Environment': 'environment'})
