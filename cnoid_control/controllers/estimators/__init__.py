"""State estimators as blocks of a composition."""

from cnoid_control.controllers.estimators.base_estimator import BaseEstimator
from cnoid_control.controllers.estimators.encoder_estimator import EncoderEstimator
from cnoid_control.controllers.estimators.momentum_observer import MomentumObserver
from cnoid_control.controllers.estimators.true_state_estimator import TrueStateEstimator

__all__ = ['BaseEstimator', 'EncoderEstimator', 'MomentumObserver', 'TrueStateEstimator']
