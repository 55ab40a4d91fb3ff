"""Searches for the best values of a configuration, on Optuna."""

from typing import TYPE_CHECKING

from cnoid_control.lazy import lazy_names

if TYPE_CHECKING:
    from cnoid_control.tuning.tuner import tune
    from cnoid_control.tuning.tuning import Tuning

__all__ = ['Tuning', 'tune']

__getattr__ = lazy_names(__name__, {'Tuning': 'tuning', 'tune': 'tuner'})
