"""State estimators as blocks of a composition."""

from cnoid_control.controllers.estimators.base_estimator import BaseEstimator
from cnoid_control.controllers.estimators.estimator import EncoderEstimator, TrueStateEstimator
from cnoid_control.controllers.estimators.momentum_observer import MomentumObserver

__all__ = ['BaseEstimator', 'EncoderEstimator', 'MomentumObserver', 'TrueStateEstimator']
